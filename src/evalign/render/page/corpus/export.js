// Files of a corpus: rows as CSV or JSONL, the whole document as JSON, or one HTML file.
// In: the corpus document. Out: text from which Python reads the same rows.

import { csvLines } from "../shared/csv_writer.js";
import { announce, download, el } from "../shared/dom.js";

/** The buttons; `exportHtml(doc)` gives the self-contained page where the server has one. */
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
    button("CSV", "Save rows and scores as CSV", save("evalign-rows.csv", "text/csv", corpusCsv)),
    button("JSONL", "Save rows and scores as JSONL", save("evalign-rows.jsonl", "application/x-ndjson", corpusJsonl)),
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

/** One line per row, RFC 4180: id, system, every field of every metric, flags, errors, human, texts, and the signatures. */
function corpusCsv(doc) {
  const references = doc.rows.reduce((most, row) => Math.max(most, row.references?.length ?? 0), 0);
  const columns = doc.metrics.flatMap((metric, place) =>
    metric.fields.map((field) => [
      metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric,
      (row) => row.scores[place]?.[field],
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
    ...Array.from({ length: references }, (_none, place) => `reference${place + 1}`),
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
    ...Array.from({ length: references }, (_none, place) => row.references?.[place]),
    row.source,
    signatures,
  ]);
  return csvLines([header, ...lines]);
}

/** One JSON object per row; scores by metric, and the signatures that say how they were made. */
function corpusJsonl(doc) {
  return doc.rows
    .map((row) => {
      const { scores, flags, errors, statistics: _statistics, ...rest } = row;
      const by = (values) =>
        Object.fromEntries(
          doc.metrics
            .map((metric, place) => [metric.metric, values[place]])
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
