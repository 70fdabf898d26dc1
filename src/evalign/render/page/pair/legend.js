// What lines and marks mean: the sentence above the picture, the legend below it, and the same as entries of a saved
// picture. In: the kind of lines that is shown, and the document with its levels. Out: sentences, entries, elements.

import { el } from "../shared/dom.js";

export const LEVEL_NAMES = { q3: "very close", q2: "close", q1: "loose", q0: "weak" };

/** One sentence that says what is seen: `mode` is prf, flow or changes; long texts show lines of one word at a time. */
export function pairSentence(mode, { matching }, compared, long) {
  const best = matching.name === "greedy" ? "its best match" : "at most one partner";
  const who = long ? "Point at a word: lines join it" : "Lines join each word";
  return {
    prf: `${who} with ${best}: solid blue from the candidate (precision), dashed orange from the reference (recall); the thicker, the worse.`,
    flow: "Lines carry the candidate's weight to the reference at the least cost: the wider, the more; a cross marks a weak match.",
    changes: `Solid green lines are matches that ${matching.name} has and ${compared} has not, dotted red ones are lost, grey ones are the same.`,
  }[mode];
}

/** The levels as entries, best first: {kind, text}. */
function levelEntries(bounds) {
  const number = (bound) => bound.toFixed(2);
  const kinds = Object.keys(LEVEL_NAMES);
  const range = (place) =>
    place === 0
      ? `${number(bounds[0])} and more`
      : place === bounds.length
        ? `below ${number(bounds.at(-1))}`
        : `${number(bounds[place])} to ${number(bounds[place - 1])}`;
  return kinds.map((kind, place) => ({ kind, text: `${LEVEL_NAMES[kind]}: ${range(place)}` }));
}

/** The kinds of lines as entries: {kind, text}; `topk` is the number of most similar tokens with a line. */
function lineEntries(mode, topk) {
  const entries = {
    prf: [
      { kind: "precision", text: "precision: candidate word to its partner" },
      { kind: "recall", text: "recall: reference word to its partner" },
      { kind: "crossed", text: "thick, with a cross: weak match" },
    ],
    flow: [
      { kind: "flow", text: "carries weight; the wider, the more" },
      { kind: "flow crossed", text: "with a cross: weak match" },
    ],
    changes: [
      { kind: "new", text: "new" },
      { kind: "lost", text: "lost" },
      { kind: "kept", text: "the same" },
    ],
  }[mode];
  const near = topk > 1 && mode !== "changes";
  return near ? [...entries, { kind: "near", text: `among the ${topk} most similar, not matched` }] : entries;
}

/** All entries: {lines, words, about}; `about` says where the levels come from. */
export function legendEntries(mode, { baseline, similarity_bounds: bounds }, topk = 1) {
  const words = [
    ...levelEntries(bounds),
    { kind: "never", text: "never chosen by the other text" },
    { kind: "unknown", text: "unknown to the model" },
  ];
  const about = `Levels are thirds of the way from ${baseline.value.toFixed(2)} to 1; ${baseline.value.toFixed(2)} is ${baseline.from}.`;
  return { lines: lineEntries(mode, topk), words, about };
}

/** The legend below the picture. */
export function pairLegend(mode, doc, topk) {
  const { lines, words, about } = legendEntries(mode, doc, topk);
  const line = ({ kind, text }) =>
    el("li", {}, el("span", { class: `pair-swatch ${kind}`, "aria-hidden": "true" }), text);
  const word = ({ kind, text }) =>
    el("li", {}, el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "word" }), text);
  return el(
    "section",
    { class: "pair-legend", "aria-label": "Legend" },
    el("ul", {}, ...words.map(word)),
    el("ul", {}, ...lines.map(line)),
    el("p", { class: "soft", text: about }),
  );
}
