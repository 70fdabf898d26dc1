// The settings of the pair view: a small plain object for addresses and files, and the controls that change it. It may
// come from any link: what does not fit the document is replaced by the default, and only differences are written.

import { labelledCheckbox, labelledSlider } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { MAX_NEAREST, otherSide, SIDES } from "./matches.js";

const MAX_OPEN_HEATMAP_TOKENS = 60; // longer texts begin with a closed heatmap
const USUAL_MATCHINGS = { greedy: "greedy", exact: "assignment", transport: "transport" }; // the others are folded

/** The state of a document before the reader changes anything. */
function defaultState(doc) {
  const most = Math.max(...SIDES.map((side) => doc[side].pieces.length));
  return {
    matching: doc.matchings[0].name,
    compare: "",
    subwords: false,
    threshold: -1,
    topk: 1,
    precision: true,
    recall: true,
    heatmap: most <= MAX_OPEN_HEATMAP_TOKENS,
    pinned: null,
  };
}

/** A complete state from a requested one. */
export function completeState(doc, requested) {
  const state = defaultState(doc);
  if (!requested || typeof requested !== "object") return state;
  const names = doc.matchings.map((matching) => matching.name);
  if (names.includes(requested.matching)) state.matching = requested.matching;
  if (names.includes(requested.compare)) state.compare = requested.compare;
  for (const key of ["subwords", "precision", "recall", "heatmap"])
    if (typeof requested[key] === "boolean") state[key] = requested[key];
  if (Number.isFinite(requested.threshold)) state.threshold = Math.max(-1, Math.min(1, requested.threshold));
  if (Number.isInteger(requested.topk)) state.topk = Math.max(1, Math.min(MAX_NEAREST, requested.topk));
  state.pinned = validPinned(doc, requested.pinned);
  return state;
}

/** The part of a state that differs from the defaults. */
export function stateDifference(doc, state) {
  const defaults = defaultState(doc);
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => value !== defaults[key]));
}

/** A pinned token as a focus on units (words or pieces); null if nothing is pinned. */
export function pinnedFocus(grid, pinned) {
  if (!pinned) return null;
  const other = pinned.other === undefined ? null : grid.unitOf[otherSide(pinned.side)][pinned.other];
  return { side: pinned.side, index: grid.unitOf[pinned.side][pinned.token], other };
}

function validPinned(doc, requested) {
  if (!requested || !SIDES.includes(requested.side)) return null;
  const fits = (side, token) => Number.isInteger(token) && token >= 0 && token < doc[side].pieces.length;
  if (!fits(requested.side, requested.token)) return null;
  const pinned = { side: requested.side, token: requested.token };
  return fits(otherSide(requested.side), requested.other) ? { ...pinned, other: requested.other } : pinned;
}

/** The main score of a matching. */
export function mainScore(scores) {
  const field = "f1" in scores ? "f1" : Object.keys(scores)[0];
  return { field, value: scores[field] };
}

/** Radio buttons of the matchings, each with its main score; the less common fold under "more". */
export function matchingSwitch(doc, change) {
  const group = `pair-matching-${Math.random().toString(36).slice(2)}`;
  const choices = doc.matchings.map((matching) => matchingChoice(matching, group, change));
  const usual = (choice) => choice.input.value in USUAL_MATCHINGS || choice.input.value === doc.matching;
  const others = choices.filter((choice) => !usual(choice));
  const skipped = (doc.skipped ?? []).map(({ name, reason }) => `${name} was not computed: ${reason}`).join(" ");
  const more = el(
    "details",
    { class: "pair-more-matchings" },
    el("summary", { text: "more" }),
    el("div", { class: "pair-choices" }, ...others.map((choice) => choice.node)),
    skipped ? el("p", { class: "soft", text: skipped }) : null,
  );
  const node = el(
    "fieldset",
    { class: "pair-matchings" },
    el("legend", { text: "Matching" }),
    el("div", { class: "pair-choices" }, ...choices.filter(usual).map((choice) => choice.node)),
    others.length || skipped ? more : null,
  );
  const show = (state) => {
    for (const { input } of choices) input.checked = input.value === state.matching;
    if (others.some(({ input }) => input.checked)) more.open = true;
  };
  return { node, show };
}

function matchingChoice(matching, name, change) {
  const { field, value } = mainScore(matching.scores);
  const input = el("input", {
    type: "radio",
    name,
    value: matching.name,
    onchange: () => change({ matching: matching.name }),
  });
  const label = el("span", { text: USUAL_MATCHINGS[matching.name] ?? matching.name });
  const node = el(
    "label",
    { class: "pair-choice" },
    input,
    label,
    " ",
    el("b", { text: fourDigits(value), title: field }),
  );
  return { input, node };
}

/** Sliders and switches. */
export function lineControls(lowest, change) {
  const threshold = labelledSlider(
    "Hide lines below",
    { min: lowest, max: 1, step: 0.01 },
    (value) => (value <= lowest ? "none hidden" : value.toFixed(2)),
    (value) => change({ threshold: value <= lowest ? -1 : value }),
  );
  const topk = labelledSlider("Lines per word (top k)", { min: 1, max: MAX_NEAREST, step: 1 }, String, (value) =>
    change({ topk: value }),
  );
  const subwords = labelledCheckbox("Subword pieces", (checked) => change({ subwords: checked }));
  const precision = labelledCheckbox("Precision lines", (checked) => change({ precision: checked }));
  const recall = labelledCheckbox("Recall lines", (checked) => change({ recall: checked }));
  const nodes = [
    threshold.node,
    topk.node,
    el("div", { class: "pair-checks" }, subwords.node, precision.node, recall.node),
  ];
  const show = (state, flows) => {
    threshold.show(Math.max(lowest, state.threshold));
    topk.show(state.topk);
    subwords.input.checked = state.subwords;
    precision.input.checked = state.precision;
    recall.input.checked = state.recall;
    for (const control of [precision, recall]) control.node.hidden = flows;
  };
  return { nodes, show };
}
