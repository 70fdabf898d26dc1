// The section that lists the rows, one page at a time, with filters by system, text, flags and range of scores. Rows
// are sorted by a score, by the difference of two systems, by human ratings, or by disagreement of metric and ratings.

import { labelledSelect, pager } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { countOf, countText, numberText, scoreDigits } from "../shared/format.js";
import { insideRange } from "./distribution.js";
import { itemScale, listedMetric, rowItem } from "./row_item.js";
import { systemLabel } from "./table.js";

const ROWS_PER_PAGE = 20;
const SEARCH_DELAY_MILLISECONDS = 200; // after the last letter

/** The section of the rows; `context` is {table, state, set, metric(), opens(pair), openPair(pair)}. */
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
      const count = Math.max(1, Math.ceil(items.length / ROWS_PER_PAGE));
      const page = Math.min(state.page, count - 1);
      const start = page * ROWS_PER_PAGE;
      const scale = itemScale(state, items);
      list.start = start + 1;
      list.replaceChildren(
        ...items.slice(start, start + ROWS_PER_PAGE).map((item, index) => rowItem(context, item, start + index, scale)),
      );
      if (!items.length) list.append(el("li", { class: "c-none soft", text: "No row fits these filters." }));
      filters.replaceChildren(...filterWords(context, items.length, items[0]?.kind));
      about.textContent = aboutPictures(context);
      const last = Math.min(start + ROWS_PER_PAGE, items.length);
      pages.update(page, count, `${countText(start + 1)}\u2013${countText(last)} of ${countText(items.length)}`);
      pages.node.hidden = count === 1;
    },
  };
}

/** A sentence about what a click on a row opens: the picture of the listed metric, or why there is none. */
function aboutPictures({ table, state, standalone }) {
  const { metric, aligns } = table.metrics[listedMetric(table, state)];
  const alignmentsNote = table.doc.alignments?.about ?? "This file does not hold the alignments of its rows.";
  const noMatches = `${metric} does not match tokens: a row opens its texts and scores, not a picture.`;
  if (standalone) return aligns === false ? `${noMatches} ${alignmentsNote}` : alignmentsNote;
  if (aligns === false) return noMatches;
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
    const ends = ["from", "to"].map((word, index) =>
      state.range[index] === null ? "" : ` ${word} ${numberText(state.range[index], digits)}`,
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
      timer = setTimeout(() => context.set({ search: input.value, page: 0 }), SEARCH_DELAY_MILLISECONDS);
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

/**
 * The sorted entries of the list: [{kind, rows, value}], where kind is "rows" with one row each, "pairs" with those of
 * two systems, or "inputs" with those of all; entries without the sorted value come last.
 */
export function listedRows(context) {
  const { table, state } = context;
  const range = table.values(state.metric, state.field);
  const top = range.reduce((most, value) => (value > most ? value : most), -Infinity);
  const searched = state.search.trim().toLowerCase();
  const fits = (index) => {
    const row = table.rows[index];
    return (
      (state.system === null || (row.system ?? "") === state.system) &&
      (state.show !== "flagged" || row.flags.some((flags) => flags.length)) &&
      (state.show !== "failed" || row.errors.some(Boolean)) &&
      (!state.range || insideRange(range[index], state.range, top)) &&
      (!searched || rowText(row).includes(searched))
    );
  };
  const { kind, descending, column } = sortPlan(context);
  let items;
  if (kind === "pairs") {
    items = table
      .pairs(state.a, state.b)
      .pairs.filter((pair) => pair.some(fits))
      .map((rows) => ({ kind, rows, value: range[rows[1]] - range[rows[0]] }));
  } else if (kind === "inputs") {
    items = table
      .groups(table.systems)
      .groups.filter((rows) => rows.some(fits))
      .map((rows) => ({ kind, rows, ...inputSpread(rows.map((row) => range[row])) }))
      .map((item) => ({ ...item, value: state.sort === "side-hard" ? item.mean : item.spread }));
    if (state.sort === "side-file") return items;
  } else {
    items = table.rows
      .map((_row, index) => index)
      .filter(fits)
      .map((index) => ({ kind, rows: [index], value: column ? column[index] : index, score: range[index] }));
  }
  const key =
    state.sort === "apart" || state.sort === "disagree" ? (item) => Math.abs(item.value) : (item) => item.value;
  const sign = descending ? -1 : 1;
  return items.sort((first, second) => {
    const [firstKey, secondKey] = [key(first), key(second)];
    if (Number.isNaN(firstKey) || Number.isNaN(secondKey))
      return Number(Number.isNaN(firstKey)) - Number(Number.isNaN(secondKey));
    return sign * (firstKey - secondKey) || first.rows[0] - second.rows[0];
  });
}

/** Mean of the scores of one input, and the distance between best and worst. */
function inputSpread(scores) {
  const finite = scores.filter((score) => !Number.isNaN(score));
  const mean = finite.length ? finite.reduce((sum, score) => sum + score, 0) / finite.length : NaN;
  return { mean, spread: finite.length > 1 ? Math.max(...finite) - Math.min(...finite) : NaN };
}

/**
 * The order that `state.sort` names: worst, best, file, apart, losses, gains, side-apart, side-hard, side-file,
 * human-low, human-high, disagree, over, under, m:metric:field.
 */
function sortPlan({ table, state }) {
  const higher = table.metrics[state.metric].higher_is_better;
  const [name, index, field] = state.sort.split(":");
  if (name === "file") return { kind: "rows", descending: false, column: null };
  if (name.startsWith("side-") && table.systems.length > 1) {
    return { kind: "inputs", descending: name === "side-hard" ? !higher : true };
  }
  if (name === "apart") return { kind: "pairs", descending: true };
  if (name === "losses" || name === "gains") return { kind: "pairs", descending: (name === "gains") === higher };
  if (name === "human-low" || name === "human-high") {
    return { kind: "rows", descending: name === "human-high", column: table.human() };
  }
  if (name === "disagree" || name === "over" || name === "under") {
    return { kind: "rows", descending: name !== "under", column: table.disagreement(state.metric, state.field) };
  }
  if (name === "m" && table.metrics[index]?.fields.includes(field)) {
    return {
      kind: "rows",
      descending: !table.metrics[index].higher_is_better,
      column: table.values(Number(index), field),
    };
  }
  return { kind: "rows", descending: (name === "best") === higher, column: table.values(state.metric, state.field) };
}

/** The entries of the select that chooses the order: [value, text] or [group, entries]. */
function sortChoices({ table, state }) {
  const metric = table.metrics[state.metric];
  /** @type {any[]} */
  const choices = [
    ["worst", `worst ${metric.metric} ${state.field} first`],
    ["best", `best ${metric.metric} ${state.field} first`],
    ["file", "order of the file"],
  ];
  if (table.systems.length > 1 && state.a !== state.b) {
    const [a, b] = [systemLabel(state.a), systemLabel(state.b)];
    choices.push([
      `${b} against ${a}`,
      [
        ["apart", "furthest apart"],
        ["losses", `where ${b} loses most`],
        ["gains", `where ${b} gains most`],
      ],
    ]);
  }
  if (table.systems.length > 1) {
    choices.push([
      `All ${table.systems.length} systems side by side`,
      [
        ["side-apart", "inputs where they are furthest apart"],
        ["side-hard", "inputs that are worst on average"],
        ["side-file", "inputs in the order of the file"],
      ],
    ]);
  }
  if (table.human()) {
    choices.push([
      "People",
      [
        ["human-low", "human, lowest first"],
        ["human-high", "human, highest first"],
        ["disagree", "metric and people disagree most"],
        ["over", "the metric likes it more than people"],
        ["under", "people like it more than the metric"],
      ],
    ]);
  }
  const others = table.metrics.flatMap((metric, index) =>
    metric.fields.map((field) => [`m:${index}:${field}`, metric, field]),
  );
  if (others.length > 1) {
    choices.push([
      "Worst first by",
      others.map(([value, metric, field]) => [
        value,
        metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric,
      ]),
    ]);
  }
  return choices;
}

function rowText(row) {
  return [row.id, row.candidate ?? "", ...(row.references ?? []), row.source ?? ""].join("\n").toLowerCase();
}
