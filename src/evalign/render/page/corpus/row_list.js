// The section that lists the rows, one page at a time: controls for the order and for filters by system, text, flags and
// range of scores. Which rows are listed in which order is decided in row_order.js.

import { labelledSelect, pager } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { countOf, countText, numberText, scoreDigits } from "../shared/number_text.js";
import { itemScale, rowItem } from "./row_item.js";
import { listedMetric, listedRows, sortChoices } from "./row_order.js";
import { systemLabel } from "./table.js";

const ROWS_PAGE = 20;
const ROWS_SEARCH_DELAY = 200; // milliseconds after the last letter

/** The section; `context` is {table, state, set, metric(), opens(pair), openPair(pair)}. */
export function rowsSection(context) {
  const { table } = context;
  const sort = labelledSelect("Sort by", (value) => context.set({ sort: value, page: 0 }));
  const system = labelledSelect("System", (value) =>
    context.set({ system: value === "*" ? null : value.slice(1), page: 0 }),
  );
  const show = labelledSelect("Show", (value) => context.set({ show: value, page: 0 }));
  const search = searchField(context);
  const filters = el("p", { class: "c-filters" });
  const about = el("p", { class: "soft c-about-rows" });
  const list = el("ol", { class: "c-rows", onkeydown: (event) => walkRows(event, list) });
  const pages = pager("Pages of rows", (page) => {
    context.set({ page });
    list.querySelector(".c-open")?.focus();
    announce(`Page ${page + 1}`);
  });
  const node = el(
    "section",
    { class: "c-section", "aria-labelledby": "c-rows" },
    el("h2", { id: "c-rows", text: "Rows" }),
    el("div", { class: "row" }, sort.node, table.systems.length > 1 ? system.node : null, show.node, search.node),
    filters,
    about,
    list,
    pages.node,
  );
  let opened = null; // the button of the row that was opened last
  list.addEventListener("click", (event) => {
    opened = event.target.closest("button") ?? event.target.closest(".c-row")?.querySelector(".c-open") ?? opened;
  });
  return {
    node,
    focus: () => (opened?.isConnected ? opened : list.querySelector(".c-open"))?.focus(),
    needs: ["metric", "field", "sort", "system", "show", "search", "range", "page", "a", "b"],
    update() {
      const { state } = context;
      sort.fill(sortChoices(context), state.sort);
      system.fill(
        [["*", "all systems"], ...table.systems.map((name) => [`=${name}`, systemLabel(name)])],
        state.system === null ? "*" : `=${state.system}`,
      );
      show.fill(
        [
          ["all", "all rows"],
          ["flagged", "flagged rows"],
          ["failed", "failed rows"],
        ],
        state.show,
      );
      search.update();
      const items = listedRows(context);
      const count = Math.max(1, Math.ceil(items.length / ROWS_PAGE));
      const page = Math.min(state.page, count - 1);
      const start = page * ROWS_PAGE;
      const scale = itemScale(state, items);
      list.start = start + 1;
      list.replaceChildren(
        ...items.slice(start, start + ROWS_PAGE).map((item, place) => rowItem(context, item, start + place, scale)),
      );
      if (!items.length) list.append(el("li", { class: "c-none soft", text: "No row fits these filters." }));
      filters.replaceChildren(...filterWords(context, items.length, items[0]?.kind));
      about.textContent = aboutPictures(context);
      const last = Math.min(start + ROWS_PAGE, items.length);
      pages.update(page, count, `${countText(start + 1)}\u2013${countText(last)} of ${countText(items.length)}`);
      pages.node.hidden = count === 1;
    },
  };
}

/** What a click on a row shows: the picture of the listed metric, or why there is none. */
function aboutPictures({ table, state, standalone }) {
  const { metric, aligns } = table.metrics[listedMetric(table, state)];
  const held = table.doc.alignments?.about ?? "This file does not hold the alignments of its rows.";
  const none = `${metric} does not match tokens: a row opens its texts and scores, not a picture.`;
  if (standalone) return aligns === false ? `${none} ${held}` : held;
  if (aligns === false) return none;
  return `A row opens as ${metric} scored it: with its model and options, and the reference that the score is of.`;
}

function filterWords(context, count, kind) {
  const { state } = context;
  const words = [
    el("strong", {
      text: countOf(count, { pairs: "pair", inputs: "input" }[kind] ?? "row"),
    }),
  ];
  const digits = scoreDigits(context.metric());
  const chip = (text, patch) =>
    el(
      "button",
      {
        type: "button",
        class: "c-chip c-clear",
        "aria-label": `Remove the filter: ${text}`,
        onclick: () => {
          context.set({ ...patch, page: 0 });
          announce(`Filter removed: ${text}`);
        },
      },
      text,
      el("span", { "aria-hidden": "true", text: " \u00d7" }),
    );
  if (state.range) {
    const ends = ["from", "to"].map((word, place) =>
      state.range[place] === null ? "" : ` ${word} ${numberText(state.range[place], digits)}`,
    );
    words.push(chip(`${context.metric().metric} ${state.field}${ends.join("")}`, { range: null }));
  }
  if (state.search) words.push(chip(`with \u201c${state.search}\u201d`, { search: "" }));
  if (state.system !== null) words.push(chip(`of ${systemLabel(state.system)}`, { system: null }));
  if (state.show !== "all") words.push(chip(`${state.show} only`, { show: "all" }));
  return words;
}

function searchField(context) {
  let timer = 0;
  const input = el("input", {
    type: "search",
    id: "c-search",
    dir: "auto",
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => context.set({ search: input.value, page: 0 }), ROWS_SEARCH_DELAY);
    },
  });
  return {
    node: el("div", { class: "field c-grow" }, el("label", { for: "c-search", text: "Text or id contains" }), input),
    update() {
      if (document.activeElement !== input) input.value = context.state.search;
    },
  };
}

function walkRows(event, list) {
  if (!event.target.classList.contains("c-open") || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const buttons = [...list.querySelectorAll(".c-open")];
  const next = buttons[buttons.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  next.focus();
  event.preventDefault();
}
