// Controls that several views share: sliders, checkboxes, radio buttons, selects, tables, pagers, the marks of a token,
// and the notice of a document's flags.

import { el } from "./dom.js";

let controlCount = 0; // makes ids unique if two views are in one page

const FLAG_MEANINGS = {
  empty: () => "a text has no tokens",
  truncated: (count) =>
    `${count} ${count === 1 ? "token was" : "tokens were"} not read: the text is longer than the model reads`,
  windowed: (count) => `long texts were read in ${count} windows`,
  "unknown-token": (count) => `${count} ${count === 1 ? "token is" : "tokens are"} not in the model's vocabulary`,
  polarity: (count) => `${count} ${count === 1 ? "opposite" : "opposites"} (a negation, an antonym, yes or no)`,
  "impossible-token": (count) => `${count} ${count === 1 ? "token has" : "tokens have"} the lowest value there is`,
};

/** A notice of the flags of a document (truncated, windowed, ...) with what they mean, and the opposites by word. */
export function flagNotice() {
  const node = el("p", { class: "pair-notice" });
  const show = (flags, opposites = []) => {
    const meaning = (name, count) => FLAG_MEANINGS[name]?.(count) ?? count;
    const found = opposites.map(({ text }) => text).join(", ");
    const notes = Object.entries(flags).map(
      ([name, count]) => `${name}: ${(name === "polarity" && found) || meaning(name, count)}`,
    );
    node.hidden = !notes.length;
    node.textContent = notes.join("; ");
  };
  return { node, show };
}

/** A labelled slider: `shown(value)` is the text of its value, `change(value)` is called when it moves. */
export function labelledSlider(name, range, shown, change) {
  const valueText = el("b", { "aria-hidden": "true" }); // no <output>: inside a label it would be labelled instead of the slider
  const showValue = (value) => {
    valueText.textContent = shown(value);
    input.setAttribute("aria-valuetext", shown(value));
  };
  const moved = () => {
    showValue(Number(input.value));
    change(Number(input.value));
  };
  const input = el("input", { type: "range", ...range, oninput: moved });
  const node = el("label", { class: "pair-slider" }, el("span", {}, `${name} `, valueText), input);
  const show = (value) => {
    input.value = value;
    showValue(value);
  };
  return { node, show };
}

/** A labelled checkbox. */
export function labelledCheckbox(name, change) {
  const input = el("input", { type: "checkbox", onchange: () => change(input.checked) });
  return { input, node: el("label", { class: "check" }, input, name) };
}

/**
 * A closed <details> whose content, `make()`, is made when it is opened: a long table would delay the first picture.
 */
export function foldedTable(title, make) {
  const body = el("div", {});
  const node = el("details", { class: "pair-table", ontoggle: () => fill() }, el("summary", { text: title }), body);
  const fill = () => body.replaceChildren(...(node.open ? make() : []));
  return { node, refresh: () => node.open && fill() };
}

/**
 * A table that scrolls inside a focusable region. `text` has the indices of columns with words, not numbers;
 * `label` names the region, `id` and `style` are the region's id and the table's class.
 */
export function scrollTable(caption, columns, rows, { text = [0], label = caption, id = null, style = null } = {}) {
  const head = columns.map((name, index) =>
    el("th", { scope: "col", class: text.includes(index) ? "name" : null }, name),
  );
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label, id },
    el(
      "table",
      { class: style },
      el("caption", { text: caption }),
      el("thead", {}, el("tr", {}, ...head)),
      el("tbody", {}, ...rows),
    ),
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

/** Radio buttons side by side; returns {node, choose(value)}. */
export function choiceGroup(label, name, choices, onChoose) {
  controlCount += 1;
  const inputs = choices.map(([value]) =>
    el("input", { type: "radio", name: `${name}-${controlCount}`, value, onchange: () => onChoose(value) }),
  );
  const node = el(
    "fieldset",
    { class: "c-switch" },
    el("legend", { class: "out-of-sight", text: label }),
    ...choices.map(([, text], index) => el("label", {}, inputs[index], el("span", { text }))),
  );
  return {
    node,
    choose: (value) =>
      inputs.forEach((input) => {
        input.checked = input.value === value;
      }),
  };
}

/** A select with its label: {node, select, fill(choices, chosen)}; choices are [value, text] or [group, [...]]. */
export function labelledSelect(label, onChoose) {
  controlCount += 1;
  const id = `c-select-${controlCount}`;
  const select = el("select", { id, onchange: () => onChoose(select.value) });
  const option = ([value, text]) => el("option", { value, text });
  return {
    node: el("div", { class: "field" }, el("label", { for: id, text: label }), select),
    select,
    fill(choices, chosen) {
      select.replaceChildren(
        ...choices.map((choice) =>
          Array.isArray(choice[1]) ? el("optgroup", { label: choice[0] }, ...choice[1].map(option)) : option(choice),
        ),
      );
      select.value = chosen;
    },
  };
}

/** Buttons for the previous and next page with the position between them; returns {node, update(page, pages, text)}. */
export function pager(label, onPage) {
  const where = el("span", { class: "c-where" });
  let page = 0;
  const button = (text, step) => el("button", { type: "button", text, onclick: () => onPage(page + step) });
  const [before, after] = [button("Previous", -1), button("Next", 1)];
  return {
    node: el("nav", { class: "c-pager no-print", "aria-label": label }, before, where, after),
    update(at, pages, text) {
      page = at;
      where.textContent = text;
      before.disabled = at <= 0;
      after.disabled = at >= pages - 1;
    },
  };
}
