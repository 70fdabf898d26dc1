// A comparison in words: which system is better, by how much, how certain that is; wins, losses and ties; ranks.
// The numbers are those of the document's comparison, which Python computed.

import { scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { countOf, countText, numberText, pText, scoreDigits } from "../shared/format.js";
import { svgEl } from "./charts.js";
import { pairedDifferences, systemLabel } from "./table.js";

export function verdictNodes(context) {
  const { table, state } = context;
  const { comparison } = table.doc;
  const pairs = table.pairs(state.a, state.b);
  const items = table.metrics.map((metric, index) => verdictItem(context, metric, index));
  const nodes = [el("ul", { class: "c-verdicts" }, ...items)];
  if (pairs.alone) {
    nodes.push(
      el("p", {
        class: "soft",
        text: `${countOf(pairs.alone, "row")} of one system without a partner in the other ` + "did not take part.",
      }),
    );
  }
  if (comparison && versusOf(comparison, context.metric().metric, state.a, state.b))
    nodes.push(readingHelp(comparison));
  if (comparison && table.systems.length > 2) nodes.push(...rankTable(context));
  return nodes;
}

/**
 * The result of b against a under one metric, whichever of them was tested first; null if the comparison has none. Of
 * three and more systems a difference is clear by the p-value that is corrected for all pairs, as their ranks are.
 */
export function versusOf(comparison, spec, a, b) {
  const result = comparison?.results.find((tested) => tested.metric === spec);
  if (!result) return null;
  const { baseline } = comparison;
  const entries = [...result.systems.map((system) => ({ baseline, ...system })), ...(result.pairs ?? [])];
  const between = (first, second) => (entry) => entry.baseline === first && entry.system === second;
  const entry = entries.find(between(a, b)) ?? entries.find(between(b, a));
  if (typeof entry?.difference !== "number") return null;
  const ends = { difference: entry.difference, low: entry.difference_low, high: entry.difference_high };
  const flipped = {
    difference: -entry.difference,
    low: negated(entry.difference_high),
    high: negated(entry.difference_low),
    wins: entry.losses,
    losses: entry.wins,
  };
  const ranks = [a, b].map((name) => result.systems.find(({ system }) => system === name)?.rank);
  const p = entry.p_corrected ?? Math.max(...Object.values(entry.p));
  return {
    wins: entry.wins,
    losses: entry.losses,
    ...(entry.baseline === b ? flipped : ends),
    ties: entry.ties,
    p,
    corrected: entry.p_corrected !== undefined,
    tests: entry.p,
    ranks,
    clear: p < comparison.alpha && (ranks[0] === undefined || ranks[0] !== ranks[1]), // documents of old versions
    field: result.field,
    n: result.n,
    failed: result.failed,
  };
}

/** The sentence: "B is better than A: +0.0210 [0.0080, 0.0350], p = 0.003". */
function verdictWords(versus, metric, a, b) {
  const digits = scoreDigits(metric);
  const interval =
    typeof versus.low === "number" ? ` [${numberText(versus.low, digits)}, ${numberText(versus.high, digits)}]` : "";
  const corrected = versus.corrected ? " corrected for all pairs" : "";
  const numbers = `${numberText(versus.difference, digits, true)}${interval}, ${pText(versus.p)}${corrected}`;
  if (!versus.clear) {
    const apart = versus.ranks[0] !== versus.ranks[1] ? "; their ranks differ because of other systems" : "";
    return { kind: "unclear", words: `No clear difference between ${b} and ${a}`, numbers: `${numbers}${apart}` };
  }
  const better = versus.difference > 0 === metric.higher_is_better;
  return { kind: better ? "better" : "worse", words: `${b} is ${better ? "better" : "worse"} than ${a}`, numbers };
}

function negated(value) {
  return typeof value === "number" ? -value : value;
}

function verdictItem(context, metric, index) {
  const { table, state } = context;
  const digits = scoreDigits(metric);
  const [a, b] = [systemLabel(state.a), systemLabel(state.b)];
  const versus = versusOf(table.doc.comparison, metric.metric, state.a, state.b);
  const untested = versus ? null : pairedDifferences(table, state.a, state.b, index, metric.main);
  const counted = versus ?? untested;
  const direction = metric.higher_is_better ? "higher is better" : "lower is better";
  const about = el(
    "p",
    { class: "c-verdict-metric" },
    el("strong", { text: metric.metric }),
    el("span", { class: "soft", text: ` ${versus?.field ?? metric.main}, ${direction}` }),
  );
  const left = versus?.failed ? `; ${countOf(versus.failed, "row")} left out because they failed` : "";
  const counts = el("p", {
    class: "soft",
    text:
      `${b} wins ${countText(counted.wins)}, loses ${countText(counted.losses)}, ` +
      `ties ${countText(counted.ties)}${left}`,
  });
  if (!versus) {
    const rows = untested.differences.length;
    return el(
      "li",
      { class: "c-verdict" },
      el("span", { class: "c-sign c-unclear-sign", "aria-hidden": "true", text: "?" }),
      el(
        "div",
        {},
        about,
        el("p", {
          text: rows
            ? `Mean difference ${numberText(untested.mean, digits, true)} over ${countOf(rows, "row")}; ` +
              "not tested, so it may be chance."
            : "No rows to compare.",
        }),
        counts,
      ),
      countsBar(counted),
    );
  }
  const verdict = verdictWords(versus, metric, a, b);
  const sign = { better: "\u25b2", worse: "\u25bc", unclear: "\u2248" }[verdict.kind];
  const tests = Object.entries(versus.tests)
    .map(([test, p]) => `${test} ${pText(p)}`)
    .join(", ");
  return el(
    "li",
    { class: `c-verdict c-${verdict.kind}` },
    el("span", { class: `c-sign c-${verdict.kind}-sign`, "aria-hidden": "true", text: sign }),
    el(
      "div",
      {},
      about,
      el(
        "p",
        { class: "c-verdict-words", title: tests },
        el("strong", { text: `${verdict.words}: ` }),
        verdict.numbers,
      ),
      counts,
    ),
    el("div", { class: "c-verdict-pictures" }, intervalPicture(versus, metric), countsBar(versus)),
  );
}

/** The interval of the difference around zero, better to the right; the sentence next to it has the same numbers. */
function intervalPicture(versus, metric) {
  if (typeof versus.low !== "number") return "";
  const sign = metric.higher_is_better ? 1 : -1;
  const ends = [versus.low, versus.high].map((value) => sign * value).sort((first, second) => first - second);
  const far = Math.max(Math.abs(ends[0]), Math.abs(ends[1]), 1e-9) * 1.1;
  const x = (value) => 80 + (value / far) * 76;
  return svgEl(
    "svg",
    { class: "c-interval", viewBox: "0 0 160 26", width: 160, height: 26, "aria-hidden": "true" },
    svgEl("line", { class: "c-zero", x1: 80, x2: 80, y1: 1, y2: 25 }),
    svgEl("line", { class: "c-whisker", x1: x(ends[0]), x2: x(ends[1]), y1: 13, y2: 13 }),
    svgEl("path", { class: "c-whisker", d: `M${x(ends[0])} 8V18M${x(ends[1])} 8V18` }),
    svgEl("circle", { class: "c-point", cx: x(sign * versus.difference), cy: 13, r: 4.5 }),
  );
}

/** Wins, ties and losses as one bar: filled, empty, hatched. */
function countsBar({ wins, losses, ties }) {
  const total = wins + losses + ties || 1;
  const bar = el("span", { class: "c-counts", "aria-hidden": "true" });
  for (const [style, count] of [
    ["c-won", wins],
    ["c-tied", ties],
    ["c-lost", losses],
  ]) {
    const part = el("span", { class: style });
    part.style.width = `${(count / total) * 100}%`;
    if (count) bar.append(part);
  }
  return bar;
}

function readingHelp(comparison) {
  const sure = `${numberText(comparison.confidence * 100, 0)} %`;
  const words = [
    `The numbers in brackets say where the difference lies with ${sure} confidence: the rows were drawn again`,
    `${countText(comparison.samples)} times (seed ${comparison.seed}), as if the test were repeated with other texts.`,
    "The small picture shows them around no difference at all; to the right is better.",
    "p says how often two equally good systems would differ this much by chance; a difference is called clear if",
    `p is below ${comparison.alpha} in every test, of three and more systems after it was corrected for all their pairs.`,
    "Many clear differences are still small: look at the rows before you believe in them.",
  ];
  return el(
    "details",
    {},
    el("summary", { text: "How to read this" }),
    el("p", { text: words.join(" ") }),
    el("p", { class: "soft", text: `${countOf(comparison.rows, "row")}, paired by ${comparison.paired_by}.` }),
  );
}

function rankTable({ table, state }) {
  const result = table.doc.comparison.results.find((tested) => tested.metric === table.metrics[state.metric].metric);
  if (!result || result.systems.some((one) => one.rank === undefined)) return [];
  const digits = scoreDigits(table.metrics[state.metric]);
  const order = [...result.systems].sort(
    (first, second) =>
      first.rank - second.rank || (result.higher_is_better ? second.score - first.score : first.score - second.score),
  );
  const clearlyWorse = (name) =>
    order
      .filter(({ system }) => {
        const versus = system === name ? null : versusOf(table.doc.comparison, result.metric, system, name);
        return versus?.clear && versus.difference > 0 === result.higher_is_better;
      })
      .map(({ system }) => systemLabel(system))
      .join(", ");
  const body = order.map((ranked) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", { text: systemLabel(ranked.system) })),
      el("td", { text: String(ranked.rank) }),
      el("td", { text: numberText(ranked.score, digits) }),
      el("td", {
        text:
          typeof ranked.low === "number"
            ? `[${numberText(ranked.low, digits)}, ${numberText(ranked.high, digits)}]`
            : "\u2013",
      }),
      el("td", { class: "name", text: clearlyWorse(ranked.system) || "none" }),
    ),
  );
  return [
    scrollTable(
      `Ranks under ${result.metric} ${result.field}, ${countOf(result.n, "row")} of every system`,
      ["system", "rank", "score", "interval", "clearly better than"],
      body,
      { text: [0, 4] },
    ),
    el("p", {
      class: "soft",
      text:
        "Systems of one rank cannot be told apart. " +
        "A new rank begins with the first system that one of the rank above is clearly better than.",
    }),
  ];
}
