// A scored row as a pair that can be opened: its texts, the metric with all options, and the reference that the score
// is of; and the line above an opened pair, which says which row it is and whether the picture has the same numbers.

import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { systemLabel } from "./table.js";

const TEXT_KEYS = ["id", "system", "metric", "signature", "main"];
const SAME_SCORE = 0.0001; // a score depends on the batch of its texts by less

/**
 * The pair that a metric scored, or with another `reference`; null if the metric matches no tokens, or there are no two
 * texts or no score.
 */
export function scoredPair(table, rowIndex, metricIndex, reference = null) {
  const row = table.rows[rowIndex];
  const metric = table.metrics[metricIndex];
  if (metric.aligns === false) return null;
  if (typeof row.candidate !== "string" || !row.references?.length || !row.scores[metricIndex]) return null;
  const best = row.best_reference?.[metricIndex] ?? null;
  const shown = reference ?? best ?? 0;
  return {
    row: rowIndex,
    column: metricIndex,
    id: String(row.id),
    system: row.system ?? "",
    candidate: row.candidate,
    reference: row.references[shown],
    place: shown,
    count: row.references.length,
    best,
    metric: metric.metric,
    signature: metric.signature,
    main: metric.main,
    scores: row.scores[metricIndex],
    alignment: shown === (best ?? 0) ? table.alignment(rowIndex, metricIndex) : null,
  };
}

/** Index of the reference that the list shows with a row: the one that the metric's score is of, else the first. */
export function shownReference(row, metricIndex) {
  return row.best_reference?.[metricIndex] ?? 0;
}

/** "reference", or of several "reference 2 of 3". */
export function referenceLabel(row, index) {
  return row.references.length > 1 ? `reference ${index + 1} of ${row.references.length}` : "reference";
}

/** A sentence with the reason why a row has no picture under a metric; empty if it has one. */
export function whyNoPicture({ table, opens }, rowIndex, metricIndex) {
  const { metric, aligns } = table.metrics[metricIndex];
  if (aligns === false) return `${metric} does not match tokens, so there is no picture of its matches.`;
  const pair = scoredPair(table, rowIndex, metricIndex);
  if (!pair) return `There is no picture: ${noPairReason(table.rows[rowIndex], metricIndex)}.`;
  if (opens(pair)) return "";
  return `This file does not hold the alignment of row ${pair.id}, ${systemLabel(pair.system)}.`;
}

function noPairReason(row, metricIndex) {
  if (typeof row.candidate !== "string") return "this document holds scores without texts";
  return row.scores[metricIndex] ? "the row has no reference" : "the row has no score";
}

/** The row as a link describes it; null if the link has no valid row. */
export function linkedRow(linked) {
  if (!linked || typeof linked !== "object" || TEXT_KEYS.some((name) => typeof linked[name] !== "string")) return null;
  const { place, count, best = null, scores } = linked;
  if (![place, count].every(Number.isInteger) || !(best === null || Number.isInteger(best))) return null;
  if (!scores || typeof scores !== "object" || !Object.values(scores).every(Number.isFinite)) return null;
  return { ...Object.fromEntries(TEXT_KEYS.map((name) => [name, linked[name]])), place, count, best, scores };
}

/**
 * Fill the line above a pair: id, system, metric and score of the row, reference, button back, and a notice if scores
 * differ.
 */
export function showScoredRow(node, row, doc, back) {
  node.hidden = !row;
  if (!row) return node.replaceChildren();
  const listed = row.scores[row.main];
  const doubt = doc ? doubtSentence(row, doc) : "";
  const parts = [
    el("strong", {}, "Row ", el("bdi", { text: row.id })),
    row.system ? el("span", {}, "system ", el("bdi", { text: row.system })) : null,
    el("span", {}, el("code", { text: row.metric }), ` ${row.main} ${fourDigits(listed)}`),
    row.count > 1 ? el("span", { text: referenceWords(row) }) : null,
  ];
  return node.replaceChildren(
    ...parts.filter(Boolean),
    back ? el("button", { type: "button", class: "c-small", text: "Back to the rows", onclick: back }) : "",
    doubt ? el("p", { class: "pair-notice", role: "note", text: doubt }) : "",
  );
}

function referenceWords({ place, count, best }) {
  const which = `reference ${place + 1} of ${count}`;
  if (best === null) return `${which}; the score is of all of them`;
  return best === place ? `${which}, the best` : `${which}; the score is of reference ${best + 1}, the best`;
}

/** A sentence if the alignment's scores are not those of the row. */
function doubtSentence(row, doc) {
  const apart = Object.keys(row.scores).filter(
    (field) => !(Math.abs(row.scores[field] - doc.scores[field]) < SAME_SCORE),
  );
  if (!apart.length) return "";
  const of = (scores) =>
    apart.map((field) => `${field} ${field in scores ? fourDigits(scores[field]) : "none"}`).join(", ");
  if (row.count > 1 && doc.signature === row.signature)
    return `The row has ${of(row.scores)}, for it has ${row.count} references; this one alone gives ${of(doc.scores)}.`;
  return `The row has ${of(row.scores)} by ${row.signature}; this picture has ${of(doc.scores)} by ${doc.signature}.`;
}
