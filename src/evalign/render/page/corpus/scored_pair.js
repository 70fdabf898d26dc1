// What a row's score was computed from: the texts, the metric with all its options, and the one of several references
// that gave the score. In: the table, places of row and metric. Out: a plain object, which the views of a pair take.

import { systemLabel } from "./table.js";

/** The pair that a metric scored, or with another `reference`; null where it matches no tokens, where there are no two
    texts or no score. */
export function scoredPair(table, index, place, reference = null) {
  const row = table.rows[index];
  const metric = table.metrics[place];
  if (metric.aligns === false) return null;
  if (typeof row.candidate !== "string" || !row.references?.length || !row.scores[place]) return null;
  const best = row.best_reference?.[place] ?? null;
  const shown = reference ?? best ?? 0;
  return {
    row: index,
    column: place,
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
    scores: row.scores[place],
    alignment: shown === (best ?? 0) ? table.alignment(index, place) : null,
  };
}

/** The place of the reference that the list shows with a row: the one that a metric's score is of, else the first. */
export function shownReference(row, place) {
  return row.best_reference?.[place] ?? 0;
}

/** "reference", or of several "reference 2 of 3". */
export function referenceLabel(row, place) {
  return row.references.length > 1 ? `reference ${place + 1} of ${row.references.length}` : "reference";
}

/** Why a row of a metric opens no picture, in a sentence; empty where it does. */
export function whyNoPicture({ table, opens }, index, place) {
  const { metric, aligns } = table.metrics[place];
  if (aligns === false) return `${metric} does not match tokens, so there is no picture of its matches.`;
  const pair = scoredPair(table, index, place);
  if (!pair) return `There is no picture: ${noPairReason(table.rows[index], place)}.`;
  if (opens(pair)) return "";
  return `This file does not hold the alignment of row ${pair.id}, ${systemLabel(pair.system)}.`;
}

function noPairReason(row, place) {
  if (typeof row.candidate !== "string") return "this document holds scores without texts";
  return row.scores[place] ? "the row has no reference" : "the row has no score";
}
