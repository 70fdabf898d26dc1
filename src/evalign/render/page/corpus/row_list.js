// The rows themselves: worst first, or by any other score, by the difference of two systems, by people's rating or by
// where metric and people disagree; narrowed by system, text, flags and the brushed range; one page at a time.

import { el, announce } from "../shared/dom.js";
import { countOf, countText, numberText, scoreDigits } from "./numbers.js";
import { systemLabel } from "./table.js";
import { labelledSelect, pager } from "./controls.js";
import { insideRange } from "./score_range.js";
import { flagChips } from "./summary.js";
import { rowDetails, systemName } from "./row_details.js";

const ROWS_PAGE = 20;
const ROWS_SEARCH_DELAY = 200; // milliseconds after the last letter

/** The section; `context` is {table, state, set, metric(), openPair}. */
export function rowsSection(context) {
  const { table } = context;
  const sort = labelledSelect("Sort by", (value) => context.set({ sort: value, page: 0 }));
  const system = labelledSelect("System", (value) =>
    context.set({ system: value === "*" ? null : value.slice(1), page: 0 }),
  );
  const show = labelledSelect("Show", (value) => context.set({ show: value, page: 0 }));
  const search = searchField(context);
  const filters = el("p", { class: "c-filters" });
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
    list,
    pages.node,
  );
  return {
    node,
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
      const scale = itemScale(items);
      list.start = start + 1;
      list.replaceChildren(
        ...items.slice(start, start + ROWS_PAGE).map((item, place) => rowItem(context, item, start + place, scale)),
      );
      if (!items.length) list.append(el("li", { class: "c-none soft", text: "No row fits these filters." }));
      filters.replaceChildren(...filterWords(context, items.length));
      const last = Math.min(start + ROWS_PAGE, items.length);
      pages.update(page, count, `${countText(start + 1)}\u2013${countText(last)} of ${countText(items.length)}`);
      pages.node.hidden = count === 1;
    },
  };
}

/** What is listed: [{rows: [index] or [a, b], value}], sorted; rows without the sorted value come last. */
function listedRows(context) {
  const { table, state } = context;
  const range = table.values(state.metric, state.field);
  const top = range.reduce((most, value) => (value > most ? value : most), -Infinity);
  const wanted = state.search.trim().toLowerCase();
  const fits = (index) => {
    const row = table.rows[index];
    return (
      (state.system === null || (row.system ?? "") === state.system) &&
      (state.show !== "flagged" || row.flags.some((flags) => flags.length)) &&
      (state.show !== "failed" || row.errors.some(Boolean)) &&
      (!state.range || insideRange(range[index], state.range, top)) &&
      (!wanted || rowText(row).includes(wanted))
    );
  };
  const { kind, descending, column } = sortPlan(context);
  let items;
  if (kind === "pairs") {
    items = table
      .pairs(state.a, state.b)
      .pairs.filter((pair) => pair.some(fits))
      .map((rows) => ({ rows, value: range[rows[1]] - range[rows[0]] }));
  } else {
    items = table.rows
      .map((_row, index) => index)
      .filter(fits)
      .map((index) => ({ rows: [index], value: column ? column[index] : index, score: range[index] }));
  }
  const key =
    state.sort === "apart" || state.sort === "disagree" ? (item) => Math.abs(item.value) : (item) => item.value;
  const sign = descending ? -1 : 1;
  return items.sort((one, other) => {
    const [mine, theirs] = [key(one), key(other)];
    if (Number.isNaN(mine) || Number.isNaN(theirs)) return Number.isNaN(mine) - Number.isNaN(theirs);
    return sign * (mine - theirs) || one.rows[0] - other.rows[0];
  });
}

/** Sort keys: worst, best, file, apart, losses, gains, human-low, human-high, disagree, over, under, m:metric:field. */
function sortPlan({ table, state }) {
  const higher = table.metrics[state.metric].higher_is_better;
  const [name, place, field] = state.sort.split(":");
  if (name === "file") return { kind: "rows", descending: false, column: null };
  if (name === "apart") return { kind: "pairs", descending: true };
  if (name === "losses" || name === "gains") return { kind: "pairs", descending: (name === "gains") === higher };
  if (name === "human-low" || name === "human-high") {
    return { kind: "rows", descending: name === "human-high", column: table.human() };
  }
  if (name === "disagree" || name === "over" || name === "under") {
    return { kind: "rows", descending: name !== "under", column: table.disagreement(state.metric, state.field) };
  }
  if (name === "m" && table.metrics[place]?.fields.includes(field)) {
    return {
      kind: "rows",
      descending: !table.metrics[place].higher_is_better,
      column: table.values(Number(place), field),
    };
  }
  return { kind: "rows", descending: (name === "best") === higher, column: table.values(state.metric, state.field) };
}

function sortChoices({ table, state }) {
  const metric = table.metrics[state.metric];
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
  const others = table.metrics.flatMap((one, place) => one.fields.map((field) => [`m:${place}:${field}`, one, field]));
  if (others.length > 1) {
    choices.push([
      "Worst first by",
      others.map(([value, one, field]) => [value, one.fields.length > 1 ? `${one.metric} ${field}` : one.metric]),
    ]);
  }
  return choices;
}

function rowItem(context, item, place, scale) {
  const { table, state } = context;
  const rows = item.rows.map((index) => table.rows[index]);
  const [row] = rows;
  const pair = rows.length > 1;
  const details = el("div", { hidden: true });
  const texts = typeof row.candidate === "string";
  const opens = !pair && context.openPair && texts && row.references?.length;
  const toggle = () => {
    if (!details.firstChild)
      details.append(
        rowDetails(
          table,
          item.rows,
          context.openPair,
          pair ? `number ${place + 1} of the list` : systemLabel(row.system ?? ""),
        ),
      );
    details.hidden = !details.hidden;
    node.classList.toggle("c-opened", !details.hidden);
    for (const button of node.querySelectorAll("[aria-expanded]"))
      button.setAttribute("aria-expanded", !details.hidden);
  };
  const act = opens ? () => context.openPair(row) : toggle;
  const name = pair ? `Row ${row.id}, both systems` : `Row ${row.id}, ${systemLabel(row.system ?? "")}`;
  const open = el(
    "button",
    {
      type: "button",
      class: "c-open",
      "aria-expanded": opens ? null : "false",
      onclick: act,
      title: opens ? "Show the alignment" : "Show texts and scores",
    },
    el("bdi", { text: String(row.id) }),
    el("span", { class: "out-of-sight", text: ` ${name.replace(/^Row .*?, /, "")}` }),
  );
  const head = el(
    "div",
    { class: "c-row-head" },
    open,
    pair ? null : systemName(table, row),
    ...rowNotes(context, item),
    opens
      ? el("button", {
          type: "button",
          class: "c-small",
          "aria-expanded": "false",
          text: "Details",
          "aria-label": `Details of ${name}`,
          onclick: toggle,
        })
      : null,
  );
  const lines = texts
    ? rows.map((one) =>
        el(
          "p",
          { class: "c-line" },
          pair ? systemName(table, one) : "",
          pair ? " " : "",
          one.candidate.trim() === ""
            ? el("span", { class: "soft", text: "(empty text)" })
            : el("bdi", { class: "c-line-text", dir: "auto", text: one.candidate }),
        ),
      )
    : [];
  if (row.references?.length) {
    lines.push(
      el(
        "p",
        { class: "c-line soft" },
        el("span", { class: "c-tag", text: "reference" }),
        " ",
        el("bdi", { class: "c-line-text", dir: "auto", text: row.references[0] }),
      ),
    );
  }
  const node = el(
    "li",
    {
      class: "c-row",
      onclick: (event) => {
        const busy = event.target.closest("button, a, .c-details, summary") || String(getSelection()) !== "";
        if (!busy) act();
      },
    },
    scoreColumnOf(context, item, scale),
    el("div", { class: "c-row-body" }, head, ...lines, details),
  );
  return node;
}

/** The number that the list is sorted by, with a bar that begins at zero or at the lowest. */
function scoreColumnOf({ table, state }, item, scale) {
  const pair = item.rows.length > 1;
  const value = pair ? item.value : shownScore(table, state, item);
  const metric = sortedMetric(table, state);
  if (Number.isNaN(value))
    return el("div", { class: "c-row-score" }, el("span", { class: "c-failed", text: "no score" }));
  const bar = el("span", { class: "c-meter", "aria-hidden": "true" }, el("span", {}));
  const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 1;
  if (pair) {
    const good = value > 0 === metric.higher_is_better;
    bar.className = `c-meter c-signed ${Math.abs(value) < 1e-5 ? "" : good ? "c-gain" : "c-loss"}`;
    bar.firstChild.style.width = `${(Math.abs(value) / scale.far) * 50}%`;
    bar.firstChild.style.marginInlineStart = value < 0 ? `${50 - (Math.abs(value) / scale.far) * 50}%` : "50%";
  } else bar.firstChild.style.width = `${Math.max(2, share * 100)}%`;
  return el(
    "div",
    { class: "c-row-score" },
    el("span", { class: "c-number", text: numberText(value, scoreDigits(metric), pair) }),
    bar,
  );
}

function sortedMetric(table, state) {
  const [name, place] = state.sort.split(":");
  return table.metrics[name === "m" ? place : state.metric] ?? table.metrics[state.metric];
}

function shownScore(table, state, item) {
  return state.sort.startsWith("m:") ? item.value : item.score;
}

function itemScale(items) {
  const values = items
    .map((item) => (item.rows.length > 1 ? item.value : item.score))
    .filter((value) => !Number.isNaN(value));
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return { low: Math.min(low, 0), high, far: Math.max(Math.abs(low), Math.abs(high)) || 1 };
}

function rowNotes({ table, state }, item) {
  const notes = [];
  const index = item.rows[0];
  const digits = scoreDigits(table.metrics[state.metric]);
  if (item.rows.length > 1) {
    const values = table.values(state.metric, state.field);
    notes.push(
      el("span", { class: "soft", text: item.rows.map((row) => numberText(values[row], digits)).join(" \u2192 ") }),
    );
  } else {
    const human = table.human()?.[index] ?? NaN;
    if (!Number.isNaN(human)) notes.push(el("span", { class: "soft", text: `human ${numberText(human, 2)}` }));
    if (["disagree", "over", "under"].includes(state.sort) && !Number.isNaN(item.value)) {
      notes.push(
        el("span", {
          class: "soft",
          text:
            `the metric puts it ${numberText(Math.abs(item.value), 0)} places of 100 ` +
            `${item.value < 0 ? "below" : "above"} people`,
        }),
      );
    }
  }
  const row = table.rows[index];
  if (row.errors.some(Boolean)) notes.push(el("span", { class: "c-chip c-chip-error", text: "failed" }));
  return [...notes, ...flagChips([...new Set(item.rows.flatMap((one) => table.rows[one].flags.flat()))])];
}

function filterWords(context, count) {
  const { state } = context;
  const words = [
    el("strong", {
      text: countOf(
        count,
        state.sort === "apart" || state.sort === "losses" || state.sort === "gains" ? "pair" : "row",
      ),
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

function rowText(row) {
  return [row.id, row.candidate ?? "", ...(row.references ?? []), row.source ?? ""].join("\n").toLowerCase();
}

function walkRows(event, list) {
  if (!event.target.classList.contains("c-open") || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const buttons = [...list.querySelectorAll(".c-open")];
  const next = buttons[buttons.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  next.focus();
  event.preventDefault();
}
