// What the views of one pair share: sliders and checkboxes with their labels, and the notice of what happened to the
// texts on the way. In: names, ranges, what to do on a change. Out: elements.

import { el } from "./dom.js";

const CONTROL_FLAGS = {
  empty: () => "a text has no tokens of its own",
  truncated: (count) => `${count} ${count === 1 ? "token was" : "tokens were"} not read, the model takes no more`,
  windowed: (count) => `long texts were read in ${count} windows`,
  "unknown-token": (count) => `${count} ${count === 1 ? "token is" : "tokens are"} not in the model's vocabulary`,
  "impossible-token": (count) => `${count} ${count === 1 ? "token has" : "tokens have"} the lowest value there is`,
};

/** What happened to the texts on the way: flags with what they mean. */
export function flagNotice() {
  const node = el("p", { class: "pair-notice" });
  const show = (flags) => {
    const said = Object.entries(flags).map(([name, count]) => `${name}: ${CONTROL_FLAGS[name]?.(count) ?? count}`);
    node.hidden = !said.length;
    node.textContent = said.join("; ");
  };
  return { node, show };
}

/** A labelled slider that says its value: `shown(value)` beside it, `change(value)` when it moves. */
export function controlSlider(name, range, shown, change) {
  const said = el("b", { "aria-hidden": "true" }); // no <output>: the label would name it instead of the slider
  const say = (value) => {
    said.textContent = shown(value);
    input.setAttribute("aria-valuetext", shown(value));
  };
  const moved = () => {
    say(Number(input.value));
    change(Number(input.value));
  };
  const input = el("input", { type: "range", ...range, oninput: moved });
  const node = el("label", { class: "pair-slider" }, el("span", {}, `${name} `, said), input);
  const show = (value) => {
    input.value = value;
    say(value);
  };
  return { node, show };
}

/** A labelled checkbox. */
export function controlCheck(name, change) {
  const input = el("input", { type: "checkbox", onchange: () => change(input.checked) });
  return { input, node: el("label", { class: "check" }, input, name) };
}
