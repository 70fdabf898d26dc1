// The distribution of one metric's scores: a histogram or violin per system on a common axis, the same as tables, and
// the choice of a range (by dragging over bins, by keys, or typed), which narrows the list of rows.

import { choiceGroup, scrollTable } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { countOf, countText, numberText, scoreDigits } from "../shared/format.js";
import {
  binCounts,
  binEdges,
  bottomAxis,
  chartDownloads,
  densityOf,
  fittedChart,
  fittedText,
  markAt,
  quantile,
  sortedNumbers,
  svgEl,
  SYSTEM_STYLE_COUNT,
  systemMark,
  systemPattern,
} from "./charts.js";
import { systemLabel } from "./table.js";

const QUANTILES = [
  ["5 %", 0.05],
  ["25 %", 0.25],
  ["median", 0.5],
  ["75 %", 0.75],
  ["95 %", 0.95],
];

/** The section of the distribution; `context` is {table, state, set, metric()}. */
export function distributionSection(context) {
  const holder = el("div", { class: "c-holder" });
  const tables = el("div", {});
  const brushed = rangeFields(context);
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
    return { system, sorted, mean: table.result(system, state.metric)?.scores[state.field] ?? NaN };
  });
  const all = sortedNumbers(values);
  const rows = Math.max(...lanes.map((lane) => lane.sorted.length), 1);
  const edges = binEdges(all, Math.min(30, Math.max(8, Math.ceil(2 * rows ** 0.4))));
  for (const lane of lanes) lane.counts = binCounts(lane.sorted, edges);
  return { lanes, edges, total: all.length };
}

function quantileTable(context, { lanes }) {
  const digits = scoreDigits(context.metric());
  const names = ["rows", "mean", "lowest", ...QUANTILES.map(([name]) => name), "highest"];
  const body = lanes.map(({ system, sorted, mean }, index) => {
    const shares = [0, ...QUANTILES.map(([, share]) => share), 1].map((share) => quantile(sorted, share));
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

/** The picture at a width; `spread` is {lanes: [{system, sorted, counts, mean}], edges, total}. */
function drawLanes(context, spread, width, picture) {
  const { lanes, edges } = spread;
  const metric = context.metric();
  const digits = scoreDigits(metric);
  const height = lanes.length <= 3 ? 76 : lanes.length <= 6 ? 58 : 44;
  const head = 22;
  const bottom = lanes.length * (height + head) + 4;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const left = 16;
  const right = width - 16;
  const scale = (value) => left + ((value - low) / (high - low)) * (right - left);
  const arrow = metric.higher_is_better ? "higher is better \u2192" : "\u2190 lower is better";
  const svg = svgEl("svg", {
    class: "c-chart",
    width,
    height: bottom + 42,
    role: "group",
    "aria-label":
      `${picture} of ${metric.metric} ${context.state.field}, ${countOf(lanes.length, "system")}; ` +
      "arrow keys walk over the bins, Enter filters the rows, the tables below say the same",
  });
  const counted = picture === "histogram" && width >= 480; // if narrower, the axis needs the whole line
  const hatches = svgEl("defs");
  svg.append(
    hatches,
    bottomAxis({
      low,
      high,
      scale,
      top: head,
      bottom,
      width,
      digits,
      title: fittedText(`${metric.metric} ${context.state.field}, ${arrow}`, width - (counted ? 190 : 16)),
    }),
  );
  const most = Math.max(1, ...lanes.flatMap((lane) => lane.counts));
  const { range } = context.state;
  const chosen = edges.slice(0, -1).map((_edge, bin) => !range || binInside(range, edges, bin));
  lanes.forEach((lane, index) => {
    const base = (index + 1) * (height + head);
    const { pattern, fill } = systemPattern(index, "distribution");
    hatches.append(pattern);
    svg.append(laneHead(lane, index, base - height - 6, width, digits));
    if (!lane.sorted.length) return;
    const frame = {
      base,
      height,
      scale,
      fill,
      most,
      edges,
      chosen,
      style: `c-s${index % SYSTEM_STYLE_COUNT}`,
    };
    svg.append(picture === "violin" ? violinShape(lane, frame) : barsShape(lane, frame));
    if (Number.isFinite(lane.mean)) svg.append(meanMark(lane, index, frame));
  });
  if (counted) {
    svg.append(
      svgEl("text", { x: left, y: bottom + 34, "aria-hidden": "true", text: `highest bar: ${countOf(most, "row")}` }),
    );
  }
  if (spread.total) svg.append(binButtons(context, spread, scale, bottom));
  return svg;
}

function laneHead(lane, index, y, width, digits) {
  const numbers = lane.sorted.length
    ? `mean ${numberText(lane.mean, digits)} \u00b7 median ${numberText(quantile(lane.sorted, 0.5), digits)}`
    : "no scores";
  const name = systemLabel(lane.system);
  return svgEl(
    "g",
    { "aria-hidden": "true" },
    markAt(index, 14, y - 4),
    svgEl(
      "text",
      { class: "c-name", x: 26, y, text: fittedText(name, width - 50 - numbers.length * 7) },
      svgEl("title", { text: name }),
    ),
    svgEl("text", { x: width - 8, y, "text-anchor": "end", text: numbers }),
  );
}

function barsShape(lane, { base, height, scale, fill, most, edges, chosen, style }) {
  const bars = svgEl("g", { class: style, "aria-hidden": "true" });
  lane.counts.forEach((count, bin) => {
    if (!count) return;
    const x = scale(edges[bin]) + 0.75;
    const tall = Math.max(1.5, (count / most) * height);
    bars.append(
      svgEl("rect", {
        class: chosen[bin] ? "c-bar" : "c-bar c-faint",
        fill,
        x,
        y: base - tall,
        width: Math.max(1, scale(edges[bin + 1]) - x - 0.75),
        height: tall,
      }),
    );
  });
  bars.append(svgEl("line", { class: "c-base", x1: scale(edges[0]), x2: scale(edges.at(-1)), y1: base, y2: base }));
  return bars;
}

function violinShape(lane, { base, height, scale, fill, style }) {
  const middle = base - height / 2;
  const { x, y } = densityOf(lane.sorted);
  const half = height / 2 - 3;
  const above = x.map((at, point) => `${scale(at).toFixed(1)} ${(middle - y[point] * half).toFixed(1)}`);
  const below = x.map((at, point) => `${scale(at).toFixed(1)} ${(middle + y[point] * half).toFixed(1)}`).reverse();
  const quartiles = [0.25, 0.5, 0.75].map((share) => scale(quantile(lane.sorted, share)));
  return svgEl(
    "g",
    { class: style, "aria-hidden": "true" },
    svgEl("path", { class: "c-bar", fill, d: `M${above.join("L")}L${below.join("L")}Z` }),
    svgEl("rect", {
      class: "c-box",
      x: quartiles[0],
      y: middle - 5,
      rx: 2,
      width: Math.max(2, quartiles[2] - quartiles[0]),
      height: 10,
    }),
    svgEl("line", { class: "c-median", x1: quartiles[1], x2: quartiles[1], y1: middle - 9, y2: middle + 9 }),
  );
}

/** The mean as the system's mark on a thin stem. */
function meanMark(lane, index, { base, height, scale, style }) {
  const x = scale(lane.mean);
  return svgEl(
    "g",
    { class: `${style} c-mean`, "aria-hidden": "true" },
    svgEl("line", { class: "c-stem", x1: x, x2: x, y1: base - height, y2: base }),
    markAt(index, x, base - height + 2),
  );
}

/**
 * Return whether a value is in a range with open ends (null); its upper end is included only at `top`, the highest
 * score.
 */
export function insideRange(value, [from, to], top) {
  return value >= (from ?? -Infinity) && (to === null || value < to || (to >= top && value <= to));
}

/** Return whether a bin is in the range; without a range none is. */
function binInside(range, edges, bin) {
  if (!range) return false;
  return edges[bin] >= (range[0] ?? -Infinity) && edges[bin + 1] <= (range[1] ?? Infinity);
}

/** Buttons over all lanes, one per bin; only one of them is a tab stop. */
function binButtons(context, { lanes, edges }, scale, bottom) {
  const { state } = context;
  const digits = scoreDigits(context.metric());
  let start = null;
  const select = (first, last) => {
    const range = [edges[Math.min(first, last)], edges[Math.max(first, last) + 1]];
    const same = state.range && state.range[0] === range[0] && state.range[1] === range[1];
    context.set({ range: same ? null : range, page: 0 });
  };
  const pressed = (bin) => binInside(state.range, edges, bin);
  const first = Math.max(
    0,
    edges.findIndex((_edge, bin) => bin < edges.length - 1 && pressed(bin)),
  );
  const buttons = edges.slice(0, -1).map((edge, bin) => {
    const counts = lanes.map((lane) => `${systemLabel(lane.system)} ${countText(lane.counts[bin])}`).join(", ");
    const label = `${numberText(edge, digits)} to ${numberText(edges[bin + 1], digits)}: ${counts}`;
    return svgEl(
      "rect",
      {
        class: "c-bin",
        x: scale(edge),
        y: 0,
        width: scale(edges[bin + 1]) - scale(edge),
        height: bottom,
        role: "button",
        tabindex: bin === first ? 0 : -1,
        "data-bin": bin,
        "aria-pressed": pressed(bin),
        "aria-label": label,
      },
      svgEl("title", { text: label }),
    );
  });
  const binAt = (event) =>
    Number(document.elementFromPoint(event.clientX, event.clientY)?.getAttribute("data-bin") ?? start);
  return svgEl(
    "g",
    {
      onpointerdown: (event) => {
        start = Number(event.target.dataset.bin);
      },
      onpointermove: (event) => {
        if (start === null) return;
        const [low, high] = [start, binAt(event)].sort((first, second) => first - second);
        buttons.forEach((button, bin) => button.classList.toggle("c-brushed", bin >= low && bin <= high));
      },
      onpointerup: (event) => {
        if (start !== null) select(start, binAt(event));
        start = null;
      },
      onpointerleave: () => {
        start = null;
        for (const button of buttons) button.classList.remove("c-brushed");
      },
      onkeydown: (event) => {
        const bin = Number(event.target.dataset.bin);
        if (event.key === "Enter" || event.key === " ") select(bin, bin);
        else if (event.key === "Escape" && state.range) context.set({ range: null, page: 0 });
        else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
          const next = buttons[bin + (event.key === "ArrowRight" ? 1 : -1)];
          if (!next) return;
          event.target.setAttribute("tabindex", -1);
          next.setAttribute("tabindex", 0);
          next.focus();
          if (event.shiftKey) extendRange(context, edges, bin, Number(next.dataset.bin));
        } else return;
        event.preventDefault();
      },
    },
    ...buttons,
  );
}

/** Two fields for the ends of the range, and a button that removes it. */
function rangeFields(context) {
  const from = el("input", { type: "number", step: "any", id: "c-from" });
  const to = el("input", { type: "number", step: "any", id: "c-to" });
  const clear = el("button", {
    type: "button",
    text: "All scores",
    onclick: () => {
      context.set({ range: null, page: 0 });
      announce("Rows of all scores are listed.");
      from.focus();
    },
  });
  const typed = () => {
    const range = [from, to].map((input) => (input.value === "" ? null : Number(input.value)));
    context.set({ range: range.every((end) => end === null) ? null : range, page: 0 });
  };
  from.addEventListener("change", typed);
  to.addEventListener("change", typed);
  return {
    node: el(
      "div",
      { class: "row c-brush" },
      el("span", {
        class: "soft c-hint",
        text: "Drag over the picture, or type, to list only the rows with such scores:",
      }),
      el("div", { class: "c-inline" }, el("label", { for: "c-from", text: "from" }), from),
      el("div", { class: "c-inline" }, el("label", { for: "c-to", text: "to" }), to),
      clear,
    ),
    update({ edges }) {
      const { range } = context.state;
      from.value = range?.[0] ?? "";
      to.value = range?.[1] ?? "";
      from.placeholder = edges[0];
      to.placeholder = edges.at(-1);
      clear.disabled = !range;
    },
  };
}

function extendRange(context, edges, bin, next) {
  const { range } = context.state;
  const [low, high] = [Math.min(bin, next), Math.max(bin, next)];
  const ends = range ?? [edges[low], edges[high + 1]];
  const from = ends[0] === null ? null : Math.min(ends[0], edges[low]);
  const to = ends[1] === null ? null : Math.max(ends[1], edges[high + 1]);
  context.set({ range: [from, to], page: 0 });
}
