// The buttons that save a corpus document: rows as CSV or JSONL, which Python reads back, the whole document as JSON,
// or one HTML file.

import { announce, download, el } from "../shared/dom.js";
import { csvText } from "../shared/format.js";

/** The buttons; `exportHtml(doc)` returns the self-contained HTML file, if there is a server to make it. */
export function exportButtons(doc, exportHtml) {
  const save = (name, type, make) => async () => {
    try {
      download(name, new Blob([await make(doc)], { type }));
      announce(`${name} was saved.`);
    } catch (error) {
      announce(error.message);
    }
  };
  const button = (text, label, action) => el("button", { type: "button", text, "aria-label": label, onclick: action });
  return el(
    "div",
    { class: "c-buttons no-print", role: "group", "aria-label": "Save the results" },
    button("CSV", "Save rows and scores as CSV", save("evalign-rows.csv", "text/csv", rowsAsCsv)),
    button("JSONL", "Save rows and scores as JSONL", save("evalign-rows.jsonl", "application/x-ndjson", rowsAsJsonl)),
    button(
      "JSON",
      "Save the whole document as JSON",
      save("evalign-corpus.json", "application/json", (whole) => JSON.stringify(whole)),
    ),
    exportHtml
      ? button(
          "HTML",
          "Save as one HTML file that works without a server",
          save("evalign-corpus.html", "text/html", exportHtml),
        )
      : null,
  );
}

/**
 * One line per row, RFC 4180: id, system, every field of every metric, flags, errors, human, texts, and the signatures.
 */
function rowsAsCsv(doc) {
  const references = doc.rows.reduce((most, row) => Math.max(most, row.references?.length ?? 0), 0);
  const columns = doc.metrics.flatMap((metric, index) =>
    metric.fields.map((field) => [
      metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric,
      (row) => row.scores[index]?.[field],
    ]),
  );
  const header = [
    "id",
    "system",
    ...columns.map(([name]) => name),
    "flags",
    "errors",
    "human",
    "candidate",
    ...Array.from({ length: references }, (_none, index) => `reference${index + 1}`),
    "source",
    "signatures",
  ];
  const signatures = doc.metrics.map((metric) => metric.signature).join(" ");
  const lines = doc.rows.map((row) => [
    row.id,
    row.system,
    ...columns.map(([, value]) => value(row)),
    [...new Set(row.flags.flat())].join(" "),
    row.errors.filter(Boolean).join(" "),
    row.human !== null && typeof row.human === "object" ? JSON.stringify(row.human) : row.human,
    row.candidate,
    ...Array.from({ length: references }, (_none, index) => row.references?.[index]),
    row.source,
    signatures,
  ]);
  return csvText([header, ...lines]);
}

/** One JSON object per row: scores by metric, and the signatures. */
function rowsAsJsonl(doc) {
  return doc.rows
    .map((row) => {
      const { scores, flags, errors, statistics: _statistics, ...rest } = row;
      const by = (values) =>
        Object.fromEntries(
          doc.metrics
            .map((metric, index) => [metric.metric, values[index]])
            .filter(([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && !value.length)),
        );
      return `${JSON.stringify({
        ...rest,
        scores: by(scores),
        flags: by(flags),
        errors: by(errors),
        signatures: Object.fromEntries(doc.metrics.map((metric) => [metric.metric, metric.signature])),
      })}\n`;
    })
    .join("");
}
