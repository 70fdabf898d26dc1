// The controls of the pair view: the matching, which lines are drawn, how many, words or pieces; and the
// legend of lines and marks. In: the state and what to do on a change. Out: elements with a `show(state)` of their own.

import { controlCheck, controlSlider } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { NEAREST } from "./match_facts.js";

/** The score that stands for a matching. */
export function mainScore(scores) {
  const field = "f1" in scores ? "f1" : Object.keys(scores)[0];
  return { field, value: scores[field] };
}

/** Radio buttons of all matchings of the matrix, each with its main score; and a sentence for those left out. */
export function matchingSwitch(doc, change) {
  const group = `pair-matching-${Math.random().toString(36).slice(2)}`;
  const inputs = doc.matchings.map((matching) =>
    el("input", {
      type: "radio",
      name: group,
      value: matching.name,
      onchange: () => change({ matching: matching.name }),
    }),
  );
  const choices = doc.matchings.map((matching, place) => {
    const { field, value } = mainScore(matching.scores);
    return el(
      "label",
      { class: "pair-choice" },
      inputs[place],
      el("span", { text: matching.name }),
      el("b", { text: fourDigits(value), title: field }),
    );
  });
  const skipped = (doc.skipped ?? []).map(({ name, reason }) => `${name} was not computed: ${reason}`).join(" ");
  const node = el(
    "fieldset",
    { class: "pair-matchings" },
    el("legend", { text: "Matching of the same similarities" }),
    ...choices,
    skipped ? el("p", { class: "soft", text: skipped }) : null,
  );
  return { node, show: (state) => inputs.forEach((input) => (input.checked = input.value === state.matching)) };
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

/** The legend of lines and marks; `mode` is prf, flow or changes, `topk` the number of most similar tokens with a line. */
export function pairLegend(mode, { baseline, similarity_bounds: bounds }, topk) {
  const line = (kind, text) => el("li", {}, el("span", { class: `pair-swatch ${kind}`, "aria-hidden": "true" }), text);
  const mark = (kind, text) =>
    el("li", {}, el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "ab" }), text);
  const lines = {
    prf: [
      line("precision", "precision: candidate token to its partner"),
      line("recall", "recall: reference token to its partner"),
    ],
    flow: [line("flow", "carries mass; the wider, the more")],
    changes: [line("new", "new"), line("lost", "lost"), line("kept", "kept")],
  }[mode];
  if (topk > 1 && mode !== "changes") lines.push(line("near", `among the ${topk} most similar, not matched`));
  const weak = baseline ? `weak match (below ${fourDigits(baseline.value)})` : "weak match";
  return el(
    "div",
    { class: "pair-legend" },
    el("ul", {}, ...lines, el("li", { class: "soft", text: "the fainter, the less similar" })),
    el(
      "ul",
      {},
      ...bounds.map((bound, place) => mark(`q${bounds.length - place}`, place ? `${bound}` : `${bound} and more`)),
      mark("q0", "less"),
      mark("weak", weak),
      mark("never", "never chosen"),
      mark("unknown", "unknown to the model"),
    ),
    baseline && baseline.from ? el("p", { class: "soft", text: `Baseline: ${baseline.from}` }) : null,
  );
}

/** The legend of the lines in one sentence, for a saved picture. */
export function legendSentence(mode, compared) {
  return {
    prf: "solid: precision; dashed: recall; the fainter, the less similar",
    flow: "the wider a line, the more mass it carries; the fainter, the less similar",
    changes: `solid: new; dotted: lost; grey: kept (against ${compared})`,
  }[mode];
}
