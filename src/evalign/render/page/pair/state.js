// The state of the pair view as a small plain object, for addresses and files. It may come from any link: what
// does not fit the document is replaced by the default. Only what differs from the default is written.

import { NEAREST, PAIR_SIDES, otherSide } from "./match_facts.js";

const STATE_HEATMAP = 60; // texts up to so many tokens show their heatmap at once

/** The state of a document without any choice of the reader. */
function pairDefaults(doc) {
  const most = Math.max(...PAIR_SIDES.map((side) => doc[side].pieces.length));
  return {
    matching: doc.matchings[0].name,
    compare: "",
    subwords: false,
    threshold: -1,
    topk: 1,
    precision: true,
    recall: true,
    heatmap: most <= STATE_HEATMAP,
    pinned: null,
  };
}

/** A complete state from a requested one. */
export function pairState(doc, requested) {
  const state = pairDefaults(doc);
  if (!requested || typeof requested !== "object") return state;
  const names = doc.matchings.map((matching) => matching.name);
  if (names.includes(requested.matching)) state.matching = requested.matching;
  if (names.includes(requested.compare)) state.compare = requested.compare;
  for (const key of ["subwords", "precision", "recall", "heatmap"])
    if (typeof requested[key] === "boolean") state[key] = requested[key];
  if (Number.isFinite(requested.threshold)) state.threshold = Math.max(-1, Math.min(1, requested.threshold));
  if (Number.isInteger(requested.topk)) state.topk = Math.max(1, Math.min(NEAREST, requested.topk));
  state.pinned = statePinned(doc, requested.pinned);
  return state;
}

/** What differs from the defaults. */
export function pairStateDifference(doc, state) {
  const defaults = pairDefaults(doc);
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => value !== defaults[key]));
}

/** A pinned token as a focus on the units of the present level, null if nothing is pinned. */
export function pairPinned(grid, pinned) {
  if (!pinned) return null;
  const other = pinned.other === undefined ? null : grid.place[otherSide(pinned.side)][pinned.other];
  return { side: pinned.side, index: grid.place[pinned.side][pinned.token], other };
}

function statePinned(doc, requested) {
  if (!requested || !PAIR_SIDES.includes(requested.side)) return null;
  const fits = (side, token) => Number.isInteger(token) && token >= 0 && token < doc[side].pieces.length;
  if (!fits(requested.side, requested.token)) return null;
  const pinned = { side: requested.side, token: requested.token };
  return fits(otherSide(requested.side), requested.other) ? { ...pinned, other: requested.other } : pinned;
}
