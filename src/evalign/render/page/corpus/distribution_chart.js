// One lane per system over a common axis: bars or a violin, the mean as the system's mark, the bins as buttons on top.
// In: sorted values and counts per system. Out: one SVG.

import { countOf, numberText, scoreDigits } from "../shared/number_text.js";
import { SYSTEM_STYLES, bottomAxis, fittedText, markAt, svgEl, systemPattern } from "./charts.js";
import { binButtons, binInside } from "./score_range.js";
import { densityOf, quantile } from "./statistics.js";
import { systemLabel } from "./table.js";

/** The picture at a width; `spread` is {lanes: [{system, sorted, counts, mean}], edges, total}. */
export function drawLanes(context, spread, width, picture) {
  const { lanes, edges } = spread;
  const metric = context.metric();
  const digits = scoreDigits(metric);
  const height = lanes.length <= 3 ? 76 : lanes.length <= 6 ? 58 : 44;
  const head = 22;
  const bottom = lanes.length * (height + head) + 4;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const left = 16;
  const right = width - 16;
  const place = (value) => left + ((value - low) / (high - low)) * (right - left);
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
  const counted = picture === "histogram" && width >= 480; // narrower, the axis needs the line for itself
  const hatches = svgEl("defs");
  svg.append(
    hatches,
    bottomAxis({
      low,
      high,
      place,
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
    const frame = { base, height, place, fill, most, edges, chosen, style: `c-s${index % SYSTEM_STYLES}` };
    svg.append(picture === "violin" ? violinShape(lane, frame) : barsShape(lane, frame), meanMark(lane, index, frame));
  });
  if (counted) {
    svg.append(
      svgEl("text", { x: left, y: bottom + 34, "aria-hidden": "true", text: `highest bar: ${countOf(most, "row")}` }),
    );
  }
  if (spread.total) svg.append(binButtons(context, spread, place, bottom));
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

function barsShape(lane, { base, height, place, fill, most, edges, chosen, style }) {
  const bars = svgEl("g", { class: style, "aria-hidden": "true" });
  lane.counts.forEach((count, bin) => {
    if (!count) return;
    const x = place(edges[bin]) + 0.75;
    const tall = Math.max(1.5, (count / most) * height);
    bars.append(
      svgEl("rect", {
        class: chosen[bin] ? "c-bar" : "c-bar c-faint",
        fill,
        x,
        y: base - tall,
        width: Math.max(1, place(edges[bin + 1]) - x - 0.75),
        height: tall,
      }),
    );
  });
  bars.append(svgEl("line", { class: "c-base", x1: place(edges[0]), x2: place(edges.at(-1)), y1: base, y2: base }));
  return bars;
}

function violinShape(lane, { base, height, place, fill, style }) {
  const middle = base - height / 2;
  const { x, y } = densityOf(lane.sorted);
  const half = height / 2 - 3;
  const above = x.map((at, point) => `${place(at).toFixed(1)} ${(middle - y[point] * half).toFixed(1)}`);
  const below = x.map((at, point) => `${place(at).toFixed(1)} ${(middle + y[point] * half).toFixed(1)}`).reverse();
  const quartiles = [0.25, 0.5, 0.75].map((share) => place(quantile(lane.sorted, share)));
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

/** The mean stands below its lane's line: the system's mark on a thin stem. */
function meanMark(lane, index, { base, height, place, style }) {
  const x = place(lane.mean);
  return svgEl(
    "g",
    { class: `${style} c-mean`, "aria-hidden": "true" },
    svgEl("line", { class: "c-stem", x1: x, x2: x, y1: base - height, y2: base }),
    markAt(index, x, base - height + 2),
  );
}
