// The table of scores: every system under every metric, with intervals, failures and flags; a click on a column's head
// chooses the metric that the sections below show. Below it the choice of the field and the signature.

import { choiceGroup } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { countOf, countText, numberText, scoreDigits } from "../shared/format.js";
import { systemMark } from "./charts.js";
import { systemLabel } from "./table.js";
import { versusOf } from "./verdicts.js";

/** The section of the scores; `context` is {table, state, set, metric()}. */
export function summarySection(context) {
  const holder = el("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Scores of every system" });
  const below = el("div", { class: "c-chosen" });
  const node = el(
    "section",
    { class: "c-section", "aria-labelledby": "c-summary" },
    el("h2", { id: "c-summary", text: "Scores" }),
    holder,
    below,
  );
  return {
    node,
    needs: ["metric", "field"],
    update() {
      const focused = holder.querySelector("button:focus")?.dataset.metric;
      holder.replaceChildren(summaryTable(context));
      if (focused !== undefined) holder.querySelector(`button[data-metric="${focused}"]`)?.focus();
      below.replaceChildren(...chosenMetric(context, below.contains(document.activeElement)));
    },
  };
}

/** The score of a system: the corpus score if the metric has one, else the mean. */
function systemScore(result, field) {
  if (!result) return null;
  return result.corpus?.[field] ?? result.scores?.[field] ?? null;
}

/** "mean" or "corpus score". */
function scoreKind(table, metric, field) {
  return table.doc.results.some(
    (result) => result.metric === table.metrics[metric].metric && result.corpus?.[field] !== undefined,
  )
    ? "corpus"
    : "mean";
}

function summaryTable(context) {
  const { table, state } = context;
  const fieldOf = (metric) => (metric === state.metric ? state.field : table.metrics[metric].main);
  const best = table.metrics.map((_metric, index) => testedBest(table, index, fieldOf(index)));
  const head = table.metrics.map((metric, index) =>
    el(
      "th",
      { scope: "col", class: index === state.metric ? "c-now" : null },
      el(
        "button",
        {
          type: "button",
          class: "c-choose",
          "data-metric": index,
          "aria-pressed": String(index === state.metric),
          title: metric.signature,
          onclick: () => context.set({ metric: index, field: metric.main, range: null, page: 0 }),
        },
        el("span", { text: metric.metric }),
        el(
          "small",
          {
            text:
              `${scoreKind(table, index, fieldOf(index))} ${fieldOf(index)} ` +
              `${metric.higher_is_better ? "\u2191" : "\u2193"}`,
          },
          el("span", { class: "out-of-sight", text: metric.higher_is_better ? "higher is better" : "lower is better" }),
        ),
      ),
    ),
  );
  const body = table.systems.map((system, index) => {
    const cells = table.metrics.map((_metric, metricIndex) =>
      scoreCell(table, {
        system,
        metricIndex,
        field: fieldOf(metricIndex),
        best: best[metricIndex],
        chosen: metricIndex === state.metric,
      }),
    );
    const chosen = table.result(system, state.metric);
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("span", { class: "c-system" }, systemMark(index), el("bdi", { text: systemLabel(system) })),
      ),
      ...cells,
      el("td", { text: countText(chosen?.n ?? 0) }),
      el("td", { class: chosen?.failed ? "c-failed" : null, text: countText(chosen?.failed ?? 0) }),
      el("td", { class: "name" }, ...flagChips(chosen?.flags)),
    );
  });
  const about = table.metrics[state.metric].metric;
  return el(
    "table",
    { class: "c-summary" },
    el("caption", {
      class: "out-of-sight",
      text: "Scores of every system; the last three columns are about the chosen metric",
    }),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col", class: "name", text: "system" }),
        ...head,
        ...["rows scored", "failed", "flags"].map((name) =>
          el("th", { scope: "col", class: name === "flags" ? "name" : null, title: `of ${about}`, text: name }),
        ),
      ),
    ),
    el("tbody", {}, ...body),
  );
}

function scoreCell(table, { system, metricIndex, field, best, chosen }) {
  const metric = table.metrics[metricIndex];
  const digits = scoreDigits(metric);
  const result = table.result(system, metricIndex);
  const score = systemScore(result, field);
  const interval = result?.intervals?.[field] ?? comparedInterval(table, metric, field, result);
  const isBest = system === best;
  return el(
    "td",
    { class: chosen ? "c-now" : null },
    el(
      "span",
      { class: isBest ? "c-score c-best" : "c-score" },
      numberText(score, digits),
      isBest
        ? el(
            "span",
            { class: "c-star", title: "better than all other systems, by the tests below" },
            "\u2605",
            el("span", { class: "out-of-sight", text: " best" }),
          )
        : null,
    ),
    interval ? el("small", { text: `[${numberText(interval[0], digits)}, ${numberText(interval[1], digits)}]` }) : null,
    result?.failed ? el("small", { class: "c-failed", text: `${countText(result.failed)} failed` }) : null,
  );
}

/** The system that is better than all others by the tests of the comparison; null if there is none, or no test. */
function testedBest(table, index, field) {
  const { metric, higher_is_better } = table.metrics[index];
  const { comparison } = table.doc;
  const tested = comparison?.results.find((result) => result.metric === metric && result.field === field);
  if (!tested) return null;
  const scores = table.systems.map((system) => systemScore(table.result(system, index), field));
  if (scores.includes(null)) return null;
  const leader = table.systems[scores.indexOf(higher_is_better ? Math.max(...scores) : Math.min(...scores))];
  if (table.systems.length === 2) {
    const versus = versusOf(comparison, metric, ...table.systems);
    const ahead = table.systems[versus?.difference > 0 === higher_is_better ? 1 : 0];
    return versus?.clear && ahead === leader ? leader : null;
  }
  const first = tested.systems.filter((system) => system.rank === 1);
  return first.length === 1 && first[0].system === leader ? leader : null;
}

/** The confidence interval of the comparison, if it was computed from the same rows. */
function comparedInterval(table, metric, field, result) {
  const compared = table.doc.comparison?.results.find(
    (tested) => tested.metric === metric.metric && tested.field === field,
  );
  const entry = compared?.n === result?.n && compared?.systems.find((system) => system.system === result.system);
  return entry && typeof entry.low === "number" ? [entry.low, entry.high] : null;
}

/** Small labels such as "truncated 3"; a dash if a result has no flags. */
export function flagChips(flags) {
  const entries = Array.isArray(flags) ? flags.map((flag) => [flag, null]) : Object.entries(flags ?? {});
  if (!entries.length) return Array.isArray(flags) ? [] : ["\u2013"];
  return entries.map(([flag, count]) =>
    el("span", { class: "c-chip" }, count === null ? flag : `${flag} ${countText(count)}`),
  );
}

function chosenMetric(context, hadFocus) {
  const { table, state } = context;
  const metric = context.metric();
  const parts = [];
  if (metric.fields.length > 1) {
    const fields = choiceGroup(
      "Field of the score",
      "field",
      metric.fields.map((field) => [field, field]),
      (field) => context.set({ field, range: null, page: 0 }),
    );
    fields.choose(state.field);
    parts.push(fields.node);
    if (hadFocus) queueMicrotask(() => fields.node.querySelector(":checked").focus());
  }
  const failures = table.rows.length && table.failures().length;
  parts.push(el("p", { class: "recipe" }, metric.signature));
  if (failures)
    parts.push(
      el(
        "p",
        { class: "soft" },
        `${countOf(failures, "score")} could not be computed: see `,
        el("a", {
          href: "#c-problems",
          text: "what went wrong",
          onclick: (event) => {
            event.preventDefault(); // the fragment of the address holds the state of the view
            document.getElementById("c-problems").scrollIntoView();
            document.getElementById("c-problems").focus();
          },
        }),
        ".",
      ),
    );
  return parts;
}
