// A pair that was opened from the rows of a corpus: which row it is, how it was scored, and whether the picture has the
// same numbers. In: the `scoredPair` of a corpus, or what a link holds of one, and the alignment shown. Out: an element.

import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";

const SCORED_TEXTS = ["id", "system", "metric", "signature", "main"];
const SCORED_SAME = 0.0001; // the batch that a text was encoded in moves a score by less

/** What a link holds of the row; null if that is no row. */
export function scoredRow(linked) {
  if (!linked || typeof linked !== "object" || SCORED_TEXTS.some((name) => typeof linked[name] !== "string"))
    return null;
  const { place, count, best = null, scores } = linked;
  if (![place, count].every(Number.isInteger) || !(best === null || Number.isInteger(best))) return null;
  if (!scores || typeof scores !== "object" || !Object.values(scores).every(Number.isFinite)) return null;
  return { ...Object.fromEntries(SCORED_TEXTS.map((name) => [name, linked[name]])), place, count, best, scores };
}

/** Fills the line above a pair: id, system, metric and score of the row, the reference, a way back; a doubt if there is one. */
export function showScoredRow(node, row, doc, back) {
  node.hidden = !row;
  if (!row) return node.replaceChildren();
  const listed = row.scores[row.main];
  const doubt = doc ? scoredDoubt(row, doc) : "";
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
function scoredDoubt(row, doc) {
  const apart = Object.keys(row.scores).filter(
    (field) => !(Math.abs(row.scores[field] - doc.scores[field]) < SCORED_SAME),
  );
  if (!apart.length) return "";
  const of = (scores) =>
    apart.map((field) => `${field} ${field in scores ? fourDigits(scores[field]) : "none"}`).join(", ");
  if (row.count > 1 && doc.signature === row.signature)
    return `The row has ${of(row.scores)}, for it has ${row.count} references; this one alone gives ${of(doc.scores)}.`;
  return `The row has ${of(row.scores)} by ${row.signature}; this picture has ${of(doc.scores)} by ${doc.signature}.`;
}
