// Parts of the charts: SVG elements, axes, mark and pattern of each system, saving as SVG or PNG; and their arithmetic:
// quantiles, bins, densities and ticks, which documents do not hold. Points and areas are single paths: 10,000 rows are
// one node.

import { download, el } from "../shared/dom.js";
import { numberText } from "../shared/format.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";
const SAVED_STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "paint-order",
  "stroke-linejoin",
  "display",
];
const MARK_PATHS = [
  "M0 -5A5 5 0 1 0 0 5A5 5 0 1 0 0 -5Z",
  "M-4.5 -4.5H4.5V4.5H-4.5Z",
  "M0 -5.6L5.4 4.2H-5.4Z",
  "M0 -6L6 0L0 6L-6 0Z",
  "M-5 -1.7H-1.7V-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5Z",
  "M0 5.6L5.4 -4.2H-5.4Z",
  "M0 -5.8L5.5 -1.8L3.4 4.7H-3.4L-5.5 -1.8Z",
  "M-3 -5.5L0 -2.5L3 -5.5L5.5 -3L2.5 0L5.5 3L3 5.5L0 2.5L-3 5.5L-5.5 3L-2.5 0L-5.5 -3Z",
];
const HATCH_PATHS = [
  "",
  "M-1 7L7 -1",
  "M-1 -1L7 7",
  "M3 0V6",
  "M0 3H6",
  "M0 0L6 6M6 0L0 6",
  "M3 3h.01",
  "M0 3H6M3 0V6",
];
const SAVED_MARGIN = 12; // around a saved chart
const MIN_CHART_WIDTH = 160; // pixels; a narrower holder is not visible yet
export const SYSTEM_STYLE_COUNT = MARK_PATHS.length;
const DENSITY_POINTS = 128; // points of a violin's outline
const DENSITY_CELLS = 512; // cells that values are binned into before their density is computed, so that 10,000 rows stay fast

/** An SVG element; attributes as in `el`. */
export function svgEl(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2).toLowerCase(), value);
    else node.setAttribute(key, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The mark (shape and colour) of the system with this index. */
export function systemMark(index) {
  const style = index % SYSTEM_STYLE_COUNT;
  return svgEl(
    "svg",
    { class: `c-mark c-s${style}`, viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    svgEl("path", { class: "c-mark-shape", d: MARK_PATHS[style] }),
  );
}

/** The same mark at a point of a chart. */
export function markAt(index, x, y) {
  const style = index % SYSTEM_STYLE_COUNT;
  return svgEl("path", { class: `c-mark-shape c-s${style}`, d: MARK_PATHS[style], transform: `translate(${x} ${y})` });
}

/** A hatched fill in the system's colour; `owner` keeps the ids of two charts apart. */
export function systemPattern(index, owner) {
  const style = index % SYSTEM_STYLE_COUNT;
  const id = `${owner}-hatch-${style}`;
  const pattern = svgEl(
    "pattern",
    { id, class: `c-s${style}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svgEl("rect", { class: "c-hatch-back", width: 6, height: 6 }),
    HATCH_PATHS[style] ? svgEl("path", { class: "c-hatch", d: HATCH_PATHS[style] }) : null,
  );
  return { pattern, fill: `url(#${id})` };
}

/** A horizontal axis with grid lines; `scale` turns a value into x. */
export function bottomAxis({ low, high, scale, top, bottom, width, title, digits = 2 }) {
  const ticks = axisTicks(low, high, Math.max(2, Math.floor(width / 90)));
  const shown = ticks.length > 1 ? tickDigits(ticks[1] - ticks[0]) : digits;
  const axis = svgEl("g", { class: "c-axis", "aria-hidden": "true" });
  for (const tick of ticks) {
    const x = scale(tick);
    axis.append(
      svgEl("line", { class: "c-grid", x1: x, x2: x, y1: top, y2: bottom }),
      svgEl("text", { x, y: bottom + 16, "text-anchor": "middle", text: numberText(tick, shown) }),
    );
  }
  axis.append(
    svgEl("line", { class: "c-base", x1: scale(low), x2: scale(high), y1: bottom, y2: bottom }),
    svgEl("text", { class: "c-axis-title", x: scale(high), y: bottom + 34, "text-anchor": "end", text: title }),
  );
  return axis;
}

/** A vertical axis with grid lines. */
export function leftAxis({ low, high, scale, left, right, height, title }) {
  const ticks = axisTicks(low, high, Math.max(2, Math.floor(height / 50)));
  const shown = ticks.length > 1 ? tickDigits(ticks[1] - ticks[0]) : 2;
  const axis = svgEl("g", { class: "c-axis", "aria-hidden": "true" });
  for (const tick of ticks) {
    const y = scale(tick);
    axis.append(
      svgEl("line", { class: "c-grid", x1: left, x2: right, y1: y, y2: y }),
      svgEl("text", { x: left - 6, y: y + 4, "text-anchor": "end", text: numberText(tick, shown) }),
    );
  }
  axis.append(svgEl("text", { class: "c-axis-title", x: 0, y: 12, text: title }));
  return axis;
}

/** Points as one path of dots: stroke-linecap round draws a line of no length as a dot. */
export function dotsPath(points) {
  return points.map(([x, y]) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
}

/** Text that fits a width, by an estimate of 7 px a letter. */
export function fittedText(text, width) {
  const letters = Array.from(text);
  const most = Math.max(3, Math.floor(width / 7));
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}\u2026`;
}

/** Draw into a holder at its width, and again when the width changes; returns {redraw, stop}. */
export function fittedChart(holder, draw) {
  let width = 0;
  const redraw = () => {
    width = holder.clientWidth;
    if (width > 0) draw(Math.max(width, MIN_CHART_WIDTH));
  };
  const observer = new ResizeObserver(() => {
    if (Math.abs(holder.clientWidth - width) >= 1) redraw();
  });
  observer.observe(holder);
  return { redraw, stop: () => observer.disconnect() };
}

/** Buttons that save the chart in a holder. */
export function chartDownloads(holder, name, caption) {
  const svg = () => holder.querySelector("svg.c-chart");
  return el(
    "div",
    { class: "c-buttons no-print" },
    el("button", {
      type: "button",
      text: "SVG",
      "aria-label": `Save ${name} as SVG`,
      onclick: () => {
        if (svg()) download(`${name}.svg`, new Blob([svgText(svg(), caption())], { type: "image/svg+xml" }));
      },
    }),
    el("button", {
      type: "button",
      text: "PNG",
      "aria-label": `Save ${name} as PNG`,
      onclick: async () => {
        if (svg()) download(`${name}.png`, await pngBlob(svg(), caption()));
      },
    }),
  );
}

/** The chart as SVG text: computed colours as attributes, the theme's background, the signature below. */
function svgText(svg, caption) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of SAVED_STYLES) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-pressed", "aria-label"]) node.removeAttribute(name);
  });
  const page = getComputedStyle(document.documentElement);
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const lines = captionLines(caption, Math.floor(width / 5.6));
  const size = { width: width + 2 * SAVED_MARGIN, height: height + 8 + 13 * lines.length + 2 * SAVED_MARGIN };
  for (const [name, value] of Object.entries({ xmlns: SVG_NAMESPACE, ...size })) copy.setAttribute(name, value);
  copy.setAttribute("viewBox", `${-SAVED_MARGIN} ${-SAVED_MARGIN} ${size.width} ${size.height}`);
  copy.querySelector("[data-cursor]")?.remove();
  copy.prepend(
    svgEl("rect", { x: -SAVED_MARGIN, y: -SAVED_MARGIN, ...size, fill: page.getPropertyValue("--paper").trim() }),
  );
  const soft = page.getPropertyValue("--soft").trim();
  lines.forEach((text, index) =>
    copy.append(
      svgEl("text", {
        x: 0,
        y: height + 6 + 13 * index,
        fill: soft,
        "font-size": "10px",
        "font-family": "monospace",
        text,
      }),
    ),
  );
  return new XMLSerializer().serializeToString(copy);
}

async function pngBlob(svg, caption) {
  const url = URL.createObjectURL(new Blob([svgText(svg, caption)], { type: "image/svg+xml" }));
  try {
    const picture = new Image();
    picture.src = url;
    await picture.decode();
    const canvas = el("canvas", { width: picture.width * 2, height: picture.height * 2 });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}

function captionLines(caption, most) {
  const lines = [];
  for (let rest = Array.from(caption); rest.length; rest = rest.slice(most)) lines.push(rest.slice(0, most).join(""));
  return lines;
}

function tickDigits(step) {
  return (String(Number(step.toPrecision(6))).split(".")[1] ?? "").length;
}

/** The finite numbers of a list, in rising order. */
export function sortedNumbers(values) {
  return Float64Array.from(values).filter(Number.isFinite).sort();
}

/** A quantile by linear interpolation between order statistics. */
export function quantile(sorted, share) {
  if (!sorted.length) return NaN;
  const position = (sorted.length - 1) * share;
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}

/** Bin edges, rounded, of about `count` bins around all values; at least one bin. */
export function binEdges(sorted, count) {
  if (!sorted.length) return [0, 1];
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  const step = roundStep(high > low ? (high - low) / count : Math.abs(high) / 20 || 0.1);
  const edge = (index) => Number((index * step).toPrecision(12));
  const air = high > low ? 0 : 2; // a single value is in the middle of a few bins
  let first = Math.floor(low / step) - air;
  let last = Math.max(Math.ceil(high / step), first + air + 1) + air;
  while (edge(first) > low) first -= 1; // divisions round: no value may fall off the ends
  while (edge(last) < high) last += 1;
  return Array.from({ length: last - first + 1 }, (_none, index) => edge(first + index));
}

/** Count of values by bin; an inner edge belongs to the bin above it, the last edge to the last bin. */
export function binCounts(sorted, edges) {
  const counts = new Array(edges.length - 1).fill(0);
  let bin = 0;
  for (const value of sorted) {
    if (value < edges[0]) continue;
    while (bin < counts.length - 1 && value >= edges[bin + 1]) bin += 1;
    if (value <= edges[bin + 1]) counts[bin] += 1;
  }
  return counts;
}

/** The density of values between their extremes, for a violin: {x, y} with the highest y being 1. */
export function densityOf(sorted) {
  const low = sorted[0];
  const high = sorted[sorted.length - 1];
  if (!sorted.length || !(high > low)) return { x: [low, high], y: [1, 1] };
  const width = kernelWidth(sorted);
  const cells = new Float64Array(DENSITY_CELLS);
  const scale = (DENSITY_CELLS - 1) / (high - low);
  for (const value of sorted) cells[Math.round((value - low) * scale)] += 1;
  const x = Array.from(
    { length: DENSITY_POINTS },
    (_none, index) => low + ((high - low) * index) / (DENSITY_POINTS - 1),
  );
  const y = x.map((at) => {
    let sum = 0;
    for (let cell = 0; cell < DENSITY_CELLS; cell += 1) {
      if (cells[cell]) sum += cells[cell] * Math.exp(-0.5 * ((at - low - cell / scale) / width) ** 2);
    }
    return sum;
  });
  const most = Math.max(...y);
  return { x, y: y.map((value) => value / most) };
}

/** Round values for the ticks of an axis. */
function axisTicks(low, high, count) {
  const step = roundStep((high - low) / Math.max(count, 1));
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) {
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return ticks;
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return Number(
    ((share <= 1.0001 ? 1 : share <= 2 ? 2 : share <= 2.5 ? 2.5 : share <= 5 ? 5 : 10) * power).toPrecision(12),
  );
}

/** Silverman's rule, with a floor so that many equal values do not become a single spike. */
function kernelWidth(sorted) {
  const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const mean = meanOf(sorted);
  const deviation = Math.sqrt(meanOf(sorted.map((value) => (value - mean) ** 2)));
  const middle = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
  const spread = Math.min(deviation, middle || deviation);
  return Math.max(0.9 * spread * sorted.length ** -0.2, (sorted[sorted.length - 1] - sorted[0]) / 200);
}
