// The controls of the pair view: the matching, which lines are drawn, how many, words or pieces. In: the state and what
// to do on a change. Out: elements with a `show(state)` of their own.

import { controlCheck, controlSlider } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { NEAREST } from "./match_facts.js";

const MATCHING_USUAL = { greedy: "greedy", exact: "assignment", transport: "transport" }; // what most readers need

/** The score that stands for a matching. */
export function mainScore(scores) {
  const field = "f1" in scores ? "f1" : Object.keys(scores)[0];
  return { field, value: scores[field] };
}

/** Radio buttons of the matchings, each with its main score; the less common fold under "more". */
export function matchingSwitch(doc, change) {
  const group = `pair-matching-${Math.random().toString(36).slice(2)}`;
  const choices = doc.matchings.map((matching) => matchingChoice(matching, group, change));
  const usual = (choice) => choice.input.value in MATCHING_USUAL || choice.input.value === doc.matching;
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
  const label = el("span", { text: MATCHING_USUAL[matching.name] ?? matching.name });
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
export function pairControls(lowest, change) {
  const threshold = controlSlider(
    "Hide lines below",
    { min: lowest, max: 1, step: 0.01 },
    (value) => (value <= lowest ? "none hidden" : value.toFixed(2)),
    (value) => change({ threshold: value <= lowest ? -1 : value }),
  );
  const topk = controlSlider("Lines per word (top k)", { min: 1, max: NEAREST, step: 1 }, String, (value) =>
    change({ topk: value }),
  );
  const subwords = controlCheck("Subword pieces", (checked) => change({ subwords: checked }));
  const precision = controlCheck("Precision lines", (checked) => change({ precision: checked }));
  const recall = controlCheck("Recall lines", (checked) => change({ recall: checked }));
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
