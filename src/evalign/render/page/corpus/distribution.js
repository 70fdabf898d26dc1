// How the scores of one metric are spread: one lane per system, as histogram or violin on a common axis, and the same
// as tables. Brushing bins (drag, click, or arrow keys with Shift and Enter) narrows the list of rows.

import { choiceGroup, scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { countText, numberText, scoreDigits } from "../shared/number_text.js";
import { chartDownloads, fittedChart, systemMark } from "./charts.js";
import { drawLanes } from "./distribution_chart.js";
import { brushFields } from "./score_range.js";
import { binCounts, binEdges, exactSum, quantile, sortedNumbers } from "./statistics.js";
import { systemLabel } from "./table.js";

const DISTRIBUTION_SHARES = [
  ["5 %", 0.05],
  ["25 %", 0.25],
  ["median", 0.5],
  ["75 %", 0.75],
  ["95 %", 0.95],
];

/** The section; `context` is {table, state, set, metric()}. */
export function distributionSection(context) {
  const holder = el("div", { class: "c-holder" });
  const tables = el("div", {});
  const brushed = brushFields(context);
  const pictures = choiceGroup(
    "Picture",
    "picture",
    [
      ["histogram", "Histogram"],
      ["violin", "Violin"],
    ],
    (picture) => context.set({ picture }),
  );
  const node = el(
    "section",
    { class: "c-section", "aria-labelledby": "c-distribution" },
    el(
      "div",
      { class: "c-section-head" },
      el("h2", { id: "c-distribution", text: "How the scores are spread" }),
      pictures.node,
      chartDownloads(holder, "distribution", () => context.metric().signature),
    ),
    holder,
    brushed.node,
    el("details", {}, el("summary", { text: "The picture as tables" }), tables),
  );
  let spread = null;
  const chart = fittedChart(holder, (width) => {
    if (spread) holder.replaceChildren(drawLanes(context, spread, width, context.state.picture));
  });
  let spreadFor = "";
  return {
    node,
    needs: ["metric", "field", "picture", "range"],
    update() {
      const now = `${context.state.metric} ${context.state.field}`;
      if (now !== spreadFor) spread = spreadOf(context);
      spreadFor = now;
      pictures.choose(context.state.picture);
      const bin = holder.querySelector(":focus")?.dataset.bin;
      chart.redraw();
      if (bin) holder.querySelector(`[data-bin="${bin}"]`)?.focus();
      brushed.update(spread);
      tables.replaceChildren(quantileTable(context, spread), binTable(context, spread));
    },
    destroy: chart.stop,
  };
}

/** Sorted values of every system, common bins and counts of the chosen metric and field. */
function spreadOf({ table, state }) {
  const values = table.values(state.metric, state.field);
  const lanes = table.systems.map((system) => {
    const sorted = sortedNumbers(table.rowsOf(system).map((row) => values[row]));
    return { system, sorted, mean: exactSum(sorted) / sorted.length };
  });
  const all = sortedNumbers(values);
  const rows = Math.max(...lanes.map((lane) => lane.sorted.length), 1);
  const edges = binEdges(all, Math.min(30, Math.max(8, Math.ceil(2 * rows ** 0.4))));
  for (const lane of lanes) lane.counts = binCounts(lane.sorted, edges);
  return { lanes, edges, total: all.length };
}

function quantileTable(context, { lanes }) {
  const digits = scoreDigits(context.metric());
  const names = ["rows", "mean", "lowest", ...DISTRIBUTION_SHARES.map(([name]) => name), "highest"];
  const body = lanes.map(({ system, sorted, mean }, index) => {
    const shares = [0, ...DISTRIBUTION_SHARES.map(([, share]) => share), 1].map((share) => quantile(sorted, share));
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, systemMark(index), ` ${systemLabel(system)}`),
      el("td", { text: countText(sorted.length) }),
      ...[mean, ...shares].map((value) => el("td", { text: numberText(value, digits) })),
    );
  });
  return scrollTable("Quantiles of the scores", ["system", ...names], body, { id: "c-quantiles" });
}

function binTable(context, { lanes, edges }) {
  const digits = scoreDigits(context.metric());
  const body = edges.slice(0, -1).map((edge, bin) => {
    const label = `${numberText(edge, digits)} to ${numberText(edges[bin + 1], digits)}`;
    return el(
      "tr",
      {},
      el("th", { scope: "row", text: label }),
      ...lanes.map((lane) => el("td", { text: countText(lane.counts[bin]) })),
      el(
        "td",
        {},
        el("button", {
          type: "button",
          class: "c-small",
          text: "List",
          "aria-label": `List rows from ${label}`,
          onclick: () => context.set({ range: [edge, edges[bin + 1]], page: 0 }),
        }),
      ),
    );
  });
  return scrollTable("Rows per bin", ["scores", ...lanes.map((lane) => systemLabel(lane.system)), "rows"], body, {
    id: "c-bins",
  });
}
