// What the views of one pair share: sliders and checkboxes with their labels, tables that are made when they are opened,
// the marks of a token, and the notice of what happened to the texts on the way. Out: elements.

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

/** A closed <details> whose content, `make()`, is made when it is opened: a long table would delay the first picture. */
export function foldedTable(title, make) {
  const body = el("div", {});
  const node = el("details", { class: "pair-table", ontoggle: () => fill() }, el("summary", { text: title }), body);
  const fill = () => body.replaceChildren(...(node.open ? make() : []));
  return { node, refresh: () => node.open && fill() };
}

/** A table that scrolls by itself; `head` are its <th> elements, `rows` its <tr> elements. */
export function scrollTable(caption, head, rows) {
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("caption", { text: caption }), el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)),
  );
}

/** The marks of a token, [kind, name, why] each, as lines of its card. */
export function markLines(marks) {
  return marks.map(([kind, name, why]) =>
    el(
      "p",
      { class: "pair-facts-mark" },
      el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "ab" }),
      el("b", { text: name }),
      `: ${why}`,
    ),
  );
}
