// The state of the pair view as a small plain object, for addresses and files. It may come from anywhere: what does
// not fit the document is the default. Only what differs from the default is written.

import { NEAREST, PAIR_SIDES, otherSide } from "./match_facts.js";

const STATE_HEATMAP = 60; // texts up to so many tokens show their heatmap at once

/** What a document shows when nobody says otherwise. */
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

/** A whole state from a given one. */
export function pairState(doc, given) {
  const state = pairDefaults(doc);
  if (!given || typeof given !== "object") return state;
  const names = doc.matchings.map((matching) => matching.name);
  if (names.includes(given.matching)) state.matching = given.matching;
  if (names.includes(given.compare)) state.compare = given.compare;
  for (const key of ["subwords", "precision", "recall", "heatmap"])
    if (typeof given[key] === "boolean") state[key] = given[key];
  if (Number.isFinite(given.threshold)) state.threshold = Math.max(-1, Math.min(1, given.threshold));
  if (Number.isInteger(given.topk)) state.topk = Math.max(1, Math.min(NEAREST, given.topk));
  state.pinned = statePinned(doc, given.pinned);
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

function statePinned(doc, given) {
  if (!given || !PAIR_SIDES.includes(given.side)) return null;
  const fits = (side, token) => Number.isInteger(token) && token >= 0 && token < doc[side].pieces.length;
  if (!fits(given.side, given.token)) return null;
  const pinned = { side: given.side, token: given.token };
  return fits(otherSide(given.side), given.other) ? { ...pinned, other: given.other } : pinned;
}
