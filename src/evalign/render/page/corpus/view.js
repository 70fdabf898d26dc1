// The corpus view: scores of all systems, their distribution, system against system, the rows, and what went wrong.
// One state object holds the reader's choices, and every section draws itself from it.

import { pager } from "../shared/controls.js";
import { checkFormat } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { countOf } from "../shared/format.js";
import { comparisonSection } from "./comparison.js";
import { distributionSection } from "./distribution.js";
import { exportButtons } from "./export.js";
import { listedRows, rowsSection } from "./row_list.js";
import { scoredPair } from "./scored_row.js";
import { summarySection } from "./summary.js";
import { makeTable, systemLabel } from "./table.js";

const PROBLEMS_PER_PAGE = 50;

/**
 * Draw a corpus document; returns {update(doc), state(), apply(state), focusRow(), destroy()}, where `focusRow` focuses
 * the row that was opened last. Options: {state, onState, opens(pair), openPair(pair), compare(table, baseline),
 * exportHtml(doc, pairs)}.
 */
export function createView(root, doc, options = {}) {
  let shown = drawDocument(root, doc, options, options.state ?? {});
  return {
    update(next) {
      const state = shown.state();
      shown.destroy();
      shown = drawDocument(root, next, options, state);
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

function drawDocument(root, doc, options, requested) {
  if (checkFormat(doc) !== "evalign.corpus") throw new Error("Expected a corpus document, not an alignment.");
  const table = makeTable(doc);
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
    state: completeState(table, requested),
    standalone: options.standalone,
    opens: options.opens ?? (() => false),
    openPair: options.openPair,
    compare: options.compare,
    metric: () => table.metrics[context.state.metric],
    set(patch) {
      context.state = completeState(table, { ...writtenState(table, context.state), ...patch });
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
    ...(table.systems.length > 1 ? [comparisonSection(context)] : []),
    rows,
    ...problemSection(table),
  ];
  /** Redraw the sections that depend on what has changed: paging does not redraw the charts. */
  const drawn = new Map();
  const draw = () =>
    sections.forEach((section) => {
      if (!section.update) return;
      const now = JSON.stringify(section.needs.map((name) => context.state[name]));
      if (drawn.get(section) !== now) section.update();
      drawn.set(section, now);
    });
  root.replaceChildren(
    el("div", { class: "corpus" }, viewHead(doc, options, context), ...sections.map((section) => section.node)),
  );
  draw();
  return {
    state: () => writtenState(table, context.state),
    apply(state) {
      context.state = completeState(table, state);
      draw();
    },
    focusRow: () => rows.focus(),
    destroy: () => sections.forEach((section) => section.destroy?.()),
  };
}

function viewHead(doc, options, context) {
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

/** All pairs that have a picture, in the order of the list; a saved file contains as many of them as fit. */
function listedPairs(context) {
  const { table } = context;
  return listedRows(context)
    .flatMap((item) => item.rows)
    .flatMap((row) => table.metrics.map((_metric, index) => scoredPair(table, row, index)))
    .filter(Boolean);
}

/** A complete state from a requested one (of a link or a caller); invalid values are replaced by the default. */
function completeState(table, requested) {
  const index =
    typeof requested.metric === "number"
      ? requested.metric
      : table.metrics.findIndex((metric) => metric.metric === requested.metric);
  const metric = table.metrics[index] ? index : 0;
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

/** The state for an address: the metric is named by its spec. */
function writtenState(table, state) {
  return { ...state, metric: table.metrics[state.metric].metric };
}

/** A list with the section of rows and lines that could not be scored; empty if there are none. */
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
  const pages = Math.ceil(problems.length / PROBLEMS_PER_PAGE);
  const show = (page) => {
    const start = page * PROBLEMS_PER_PAGE;
    list.replaceChildren(
      ...problems
        .slice(start, start + PROBLEMS_PER_PAGE)
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
