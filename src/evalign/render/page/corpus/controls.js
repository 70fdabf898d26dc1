// Controls that several sections of the corpus share: a group of radio buttons that looks like one switch, a labelled
// select, a table in a scroll region with a name, the line of buttons that pages through a list.

import { el } from "../shared/dom.js";

let controlCount = 0; // ids of labels must differ between two views in one page

/** A switch of few choices; returns {node, choose(value)}. */
export function choiceGroup(label, name, choices, onChoose) {
  controlCount += 1;
  const inputs = choices.map(([value]) =>
    el("input", { type: "radio", name: `${name}-${controlCount}`, value, onchange: () => onChoose(value) }),
  );
  const node = el(
    "fieldset",
    { class: "c-switch" },
    el("legend", { class: "out-of-sight", text: label }),
    ...choices.map(([, text], place) => el("label", {}, inputs[place], el("span", { text }))),
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

/** A table that scrolls inside itself: a region with a name that can be focused. */
export function tableRegion(caption, names, body, id) {
  return el(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": caption, id },
    el(
      "table",
      {},
      el("caption", { text: caption }),
      el(
        "thead",
        {},
        el("tr", {}, ...names.map((name, place) => el("th", { scope: "col", class: place ? null : "name" }, name))),
      ),
      el("tbody", {}, ...body),
    ),
  );
}

/** Previous, next and where one is; returns {node, update(page, pages, text)}. */
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
