// One row, or the rows of systems that answer the same input: all texts side by side and all scores, in place.
// What a document does not hold (texts, when the server sent scores alone) is said, not left blank.

import { scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { numberText, scoreDigits } from "../shared/number_text.js";
import { systemMark } from "./charts.js";
import { scoredPair, whyNoPicture } from "./scored_pair.js";
import { flagChips } from "./summary.js";
import { systemLabel } from "./table.js";

/** Texts and scores of rows (indices: one, or those of one input); `listed` is the metric that the list shows, `where`
    tells regions of equal rows apart. `context` is {table, opens(pair), openPair(pair)}. */
export function rowDetails(context, rows, listed, where) {
  const { table } = context;
  const shown = rows.map((row) => table.rows[row]);
  const first = shown[0];
  const texts = el("div", { class: "c-texts" });
  shown.forEach((row, place) =>
    texts.append(
      textBox(
        rows.length > 1 ? ["Candidate of ", systemName(table, row)] : ["Candidate"],
        row.candidate,
        ...alignmentButtons(context, rows[place]),
      ),
    ),
  );
  const best = [...new Set(shown.map((row) => row.best_reference?.[listed] ?? null))];
  (first.references ?? []).forEach((reference, place, all) =>
    texts.append(
      textBox(
        [all.length > 1 ? `Reference ${place + 1}` : "Reference"],
        reference,
        all.length > 1 && best.includes(place)
          ? el("span", { class: "c-chip", text: `best under ${table.metrics[listed].metric}` })
          : null,
        all.length > 1 && rows.length === 1 && !best.includes(place)
          ? alignmentButton(context, rows[0], listed, "Alignment", place)
          : null,
      ),
    ),
  );
  if (typeof first.source === "string") texts.append(textBox(["Source"], first.source));
  if (!texts.querySelector("p")) {
    texts.replaceChildren(el("p", { class: "soft", text: "This document holds scores without texts." }));
  }
  const why = whyNoPicture(context, rows[0], listed);
  const said = why ? el("p", { class: "soft", text: why }) : null;
  return el("div", { class: "c-details" }, said, texts, detailScores(table, rows, where));
}

/** A button for each metric under which the row can be shown. */
function alignmentButtons(context, index) {
  return context.table.metrics.map((metric, place) =>
    alignmentButton(context, index, place, `Alignment under ${metric.metric}`),
  );
}

/** A button that shows the row's tokens as a metric matched them; null where that cannot be shown. */
export function alignmentButton(context, index, place, text, reference = null) {
  const { table } = context;
  const pair = scoredPair(table, index, place, reference);
  if (!pair || !context.opens(pair)) return null;
  const against = reference === null ? "" : `, reference ${reference + 1}`;
  const label = `of row ${pair.id}, ${systemLabel(pair.system)}${against}`;
  return el("button", {
    type: "button",
    class: "c-small",
    text,
    "aria-label": `${text} ${label}`,
    onclick: () => context.openPair(pair),
  });
}

/** A system's mark and name. */
export function systemName(table, row) {
  return el(
    "span",
    { class: "c-system" },
    systemMark(table.systems.indexOf(row.system ?? "")),
    el("bdi", { text: systemLabel(row.system ?? "") }),
  );
}

function textBox(title, text, ...beside) {
  if (typeof text !== "string") return "";
  return el(
    "div",
    { class: "c-text" },
    el("div", { class: "c-text-head" }, el("strong", {}, ...title), ...beside),
    text.trim() === "" ? el("p", { class: "soft", text: "(empty text)" }) : el("p", { dir: "auto", text }),
  );
}

function detailScores(table, rows, where) {
  const names = [
    "metric",
    ...rows.map((row) => (rows.length > 1 ? systemLabel(table.rows[row].system ?? "") : "score")),
  ];
  if (rows.length === 2) names.push("difference");
  const body = table.metrics.flatMap((metric, place) => {
    const digits = scoreDigits(metric);
    if (rows.every((row) => !table.rows[row].scores[place])) {
      const errors = [...new Set(rows.map((row) => table.rows[row].errors[place]).filter(Boolean))];
      return [
        el(
          "tr",
          {},
          el("th", { scope: "row", text: metric.metric }),
          el("td", { class: "name error", colspan: names.length - 1, text: errors.join(" ") || "not scored" }),
        ),
      ];
    }
    return metric.fields.map((field) => {
      const values = rows.map((row) => table.rows[row].scores[place]?.[field] ?? null);
      const cells = values.map((value, which) =>
        el(
          "td",
          {},
          value === null
            ? el("span", { class: "error", text: table.rows[rows[which]].errors[place] ?? "not scored" })
            : numberText(value, digits),
          " ",
          ...(field === metric.main ? flagChips(table.rows[rows[which]].flags[place]) : []),
        ),
      );
      if (rows.length === 2) {
        const known = values[0] !== null && values[1] !== null;
        cells.push(el("td", { text: known ? numberText(values[1] - values[0], digits, true) : "\u2013" }));
      }
      const name = metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric;
      return el("tr", {}, el("th", { scope: "row", text: name }), ...cells);
    });
  });
  const human = table.human();
  if (human && rows.some((row) => !Number.isNaN(human[row]))) {
    const cells = rows.map((row) => el("td", { text: numberText(human[row], 2) }));
    if (rows.length === 2) cells.push(el("td", { text: numberText(human[rows[1]] - human[rows[0]], 2, true) }));
    body.push(el("tr", {}, el("th", { scope: "row", text: "human" }), ...cells));
  }
  return scrollTable(`Scores of row ${table.rows[rows[0]].id}, ${where}`, names, body);
}
