// The corpus view: scores of all systems, how they are spread, system against system, the rows, and what went wrong.
// In: a corpus document and options {state, onState, opens(pair), openPair(pair), compare(body),
// exportHtml(doc, pairs)}; one state object holds what is chosen, every section draws itself from it.

import { pager } from "../shared/controls.js";
import { checkFormat } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { countOf } from "../shared/number_text.js";
import { compareSection } from "./comparison.js";
import { distributionSection } from "./distribution.js";
import { exportButtons } from "./export.js";
import { rowsSection } from "./row_list.js";
import { listedRows } from "./row_order.js";
import { scoredPair } from "./scored_pair.js";
import { summarySection } from "./summary.js";
import { corpusTable, systemLabel } from "./table.js";

const CORPUS_PROBLEMS = 50; // of them on a page

/** Draws a corpus document; returns {update(doc), state(), apply(state), focusRow(), destroy()}, where `focusRow` goes to the row that was opened last. */
export function corpusView(root, doc, options = {}) {
  let shown = corpusDrawn(root, doc, options, options.state ?? {});
  return {
    update(next) {
      const state = shown.state();
      shown.destroy();
      shown = corpusDrawn(root, next, options, state);
    },
    state: () => shown.state(),
    apply: (state) => shown.apply(state),
    focusRow: () => shown.focusRow(),
    destroy() {
      shown.destroy();
      root.replaceChildren();
    },
  };
}

function corpusDrawn(root, doc, options, requested) {
  if (checkFormat(doc) !== "evalign.corpus") throw new Error("Expected a corpus document, not an alignment.");
  const table = corpusTable(doc);
  if (!doc.metrics.length || !doc.rows.length) {
    root.replaceChildren(
      el(
        "div",
        { class: "corpus" },
        el("p", { class: "soft", text: "There are no scored rows in this document." }),
        ...problemSection(table).map((section) => section.node),
      ),
    );
    return { state: () => ({}), apply: () => {}, focusRow: () => {}, destroy: () => {} };
  }
  const context = {
    table,
    state: corpusState(table, requested),
    standalone: options.standalone,
    opens: options.opens ?? (() => false),
    openPair: options.openPair,
    compare: options.compare,
    metric: () => table.metrics[context.state.metric],
    set(patch) {
      context.state = corpusState(table, { ...writtenState(table, context.state), ...patch });
      draw();
      options.onState?.(writtenState(table, context.state));
    },
    takeComparison(comparison) {
      doc.comparison = comparison;
      drawn.clear();
      draw();
    },
  };
  const rows = rowsSection(context);
  const sections = [
    summarySection(context),
    distributionSection(context),
    ...(table.systems.length > 1 ? [compareSection(context)] : []),
    rows,
    ...problemSection(table),
  ];
  /** A section draws itself anew only if something that it depends on has changed: paging leaves the charts alone. */
  const drawn = new Map();
  const draw = () =>
    sections.forEach((section) => {
      if (!section.update) return;
      const now = JSON.stringify(section.needs.map((name) => context.state[name]));
      if (drawn.get(section) !== now) section.update();
      drawn.set(section, now);
    });
  root.replaceChildren(
    el("div", { class: "corpus" }, corpusHead(doc, options, context), ...sections.map((section) => section.node)),
  );
  draw();
  return {
    state: () => writtenState(table, context.state),
    apply(state) {
      context.state = corpusState(table, state);
      draw();
    },
    focusRow: () => rows.focus(),
    destroy: () => sections.forEach((section) => section.destroy?.()),
  };
}

function corpusHead(doc, options, context) {
  const rows = countOf(doc.rows.length, "row");
  const systems = doc.systems.length > 1 ? `, ${countOf(doc.systems.length, "system")}` : "";
  const failed = doc.rows.filter((row) => row.errors.some(Boolean)).length;
  return el(
    "div",
    { class: "c-head" },
    options.standalone ? el("h1", { text: "Scores" }) : null,
    el(
      "p",
      {},
      el("strong", { text: `${rows}${systems}, ${countOf(doc.metrics.length, "metric")}` }),
      failed ? el("span", { class: "c-chip c-chip-error", text: `${countOf(failed, "row")} failed` }) : null,
      el("span", { class: "soft", text: ` evalign ${doc.evalign}` }),
    ),
    exportButtons(doc, options.exportHtml && ((shown) => options.exportHtml(shown, listedPairs(context)))),
  );
}

/** All pairs that have a picture, in the order of the list: what a file carries as far as it fits. */
function listedPairs(context) {
  const { table } = context;
  return listedRows(context)
    .flatMap((item) => item.rows)
    .flatMap((row) => table.metrics.map((_metric, place) => scoredPair(table, row, place)))
    .filter(Boolean);
}

/** A whole state from what an address or a caller says; anything unknown falls back to the default. */
function corpusState(table, requested) {
  const place =
    typeof requested.metric === "number"
      ? requested.metric
      : table.metrics.findIndex((metric) => metric.metric === requested.metric);
  const metric = table.metrics[place] ? place : 0;
  const { fields, main } = table.metrics[metric];
  const system = (name, fallback) => (table.systems.includes(name) ? name : fallback);
  const baseline = table.doc.comparison?.baseline;
  const a = system(requested.a, system(baseline, table.systems[0]));
  const others = table.systems.filter((name) => name !== a);
  const isEnd = (end) => end === null || Number.isFinite(end);
  const range = Array.isArray(requested.range) && requested.range.length === 2 && requested.range.every(isEnd);
  return {
    metric,
    field: fields.includes(requested.field) ? requested.field : main,
    picture: requested.picture === "violin" ? "violin" : "histogram",
    plot: requested.plot === "scatter" ? "scatter" : "sorted",
    sort: typeof requested.sort === "string" ? requested.sort : "worst",
    system: system(requested.system, null),
    show: ["flagged", "failed"].includes(requested.show) ? requested.show : "all",
    search: typeof requested.search === "string" ? requested.search : "",
    range: range ? requested.range : null,
    page: Number.isInteger(requested.page) && requested.page > 0 ? requested.page : 0,
    a,
    b: others.includes(requested.b) ? requested.b : (others[0] ?? a),
  };
}

/** The state as it goes into an address: the metric by its spec. */
function writtenState(table, state) {
  return { ...state, metric: table.metrics[state.metric].metric };
}

/** Rows and lines that could not be scored, with their places; nothing if all is well. */
function problemSection(table) {
  const failures = table.failures().map(({ row, metric, error }) => {
    const { id, system } = table.rows[row];
    return [
      `row ${id}${table.systems.length > 1 ? `, ${systemLabel(system)}` : ""}`,
      table.metrics[metric].metric,
      error,
    ];
  });
  const problems = [...table.problems.map(({ place, message }) => [place, "", message]), ...failures];
  if (!problems.length) return [];
  const list = el("ul", { class: "c-problems" });
  const pages = Math.ceil(problems.length / CORPUS_PROBLEMS);
  const show = (page) => {
    const start = page * CORPUS_PROBLEMS;
    list.replaceChildren(
      ...problems
        .slice(start, start + CORPUS_PROBLEMS)
        .map(([place, metric, message]) =>
          el(
            "li",
            {},
            el("strong", { text: place }),
            metric ? el("code", { text: metric }) : null,
            el("span", { dir: "auto", text: message }),
          ),
        ),
    );
    turn.update(page, pages, `page ${page + 1} of ${pages}`);
  };
  const turn = pager("Pages of problems", show);
  show(0);
  return [
    {
      node: el(
        "section",
        { class: "c-section", "aria-labelledby": "c-problems" },
        el("h2", { id: "c-problems", tabindex: -1, text: "What went wrong" }),
        el("p", { class: "soft", text: `${countOf(problems.length, "problem")}; all other rows were scored.` }),
        list,
        pages > 1 ? turn.node : null,
      ),
    },
  ];
}
