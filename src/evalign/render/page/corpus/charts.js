// Helpers that all charts of the corpus view use: SVG elements, axes, the mark and the pattern of each system, points and areas as
// single paths (10,000 rows are one node), redrawing on resize, and saving a chart as SVG or PNG with its colours.

import { download, el } from "../shared/dom.js";
import { numberText } from "../shared/number_text.js";
import { axisTicks } from "./statistics.js";

const CHART_SVG = "http://www.w3.org/2000/svg";
const CHART_STYLES = [
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
const CHART_MARKS = [
  "M0 -5A5 5 0 1 0 0 5A5 5 0 1 0 0 -5Z",
  "M-4.5 -4.5H4.5V4.5H-4.5Z",
  "M0 -5.6L5.4 4.2H-5.4Z",
  "M0 -6L6 0L0 6L-6 0Z",
  "M-5 -1.7H-1.7V-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5Z",
  "M0 5.6L5.4 -4.2H-5.4Z",
  "M0 -5.8L5.5 -1.8L3.4 4.7H-3.4L-5.5 -1.8Z",
  "M-3 -5.5L0 -2.5L3 -5.5L5.5 -3L2.5 0L5.5 3L3 5.5L0 2.5L-3 5.5L-5.5 3L-2.5 0L-5.5 -3Z",
];
const CHART_HATCHES = [
  "",
  "M-1 7L7 -1",
  "M-1 -1L7 7",
  "M3 0V6",
  "M0 3H6",
  "M0 0L6 6M6 0L0 6",
  "M3 3h.01",
  "M0 3H6M3 0V6",
];

const CHART_MARGIN = 12; // around a saved chart
const CHART_NARROWEST = 160; // pixels; a narrower holder is not visible yet

export const SYSTEM_STYLES = CHART_MARKS.length;

/** An SVG element; attributes as in `el`. */
export function svgEl(tag, attributes = {}, ...children) {
  const node = document.createElementNS(CHART_SVG, tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2).toLowerCase(), value);
    else node.setAttribute(key, String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** The mark of the system at a place of the list: a shape and a colour of its own. */
export function systemMark(place) {
  const style = place % SYSTEM_STYLES;
  return svgEl(
    "svg",
    { class: `c-mark c-s${style}`, viewBox: "-7 -7 14 14", width: 14, height: 14, "aria-hidden": "true" },
    svgEl("path", { class: "c-mark-shape", d: CHART_MARKS[style] }),
  );
}

/** The same mark at a point of a chart. */
export function markAt(place, x, y) {
  const style = place % SYSTEM_STYLES;
  return svgEl("path", { class: `c-mark-shape c-s${style}`, d: CHART_MARKS[style], transform: `translate(${x} ${y})` });
}

/** A hatched fill in the system's colour; `owner` keeps the ids of two charts apart. */
export function systemPattern(place, owner) {
  const style = place % SYSTEM_STYLES;
  const id = `${owner}-hatch-${style}`;
  const pattern = svgEl(
    "pattern",
    { id, class: `c-s${style}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svgEl("rect", { class: "c-hatch-back", width: 6, height: 6 }),
    CHART_HATCHES[style] ? svgEl("path", { class: "c-hatch", d: CHART_HATCHES[style] }) : null,
  );
  return { pattern, fill: `url(#${id})` };
}

/** A horizontal axis with grid lines; `place` turns a value into x. */
export function bottomAxis({ low, high, place, top, bottom, width, title, digits = 2 }) {
  const ticks = axisTicks(low, high, Math.max(2, Math.floor(width / 90)));
  const shown = ticks.length > 1 ? tickDigits(ticks[1] - ticks[0]) : digits;
  const axis = svgEl("g", { class: "c-axis", "aria-hidden": "true" });
  for (const tick of ticks) {
    const x = place(tick);
    axis.append(
      svgEl("line", { class: "c-grid", x1: x, x2: x, y1: top, y2: bottom }),
      svgEl("text", { x, y: bottom + 16, "text-anchor": "middle", text: numberText(tick, shown) }),
    );
  }
  axis.append(
    svgEl("line", { class: "c-base", x1: place(low), x2: place(high), y1: bottom, y2: bottom }),
    svgEl("text", { class: "c-axis-title", x: place(high), y: bottom + 34, "text-anchor": "end", text: title }),
  );
  return axis;
}

/** A vertical axis with grid lines. */
export function leftAxis({ low, high, place, left, right, height, title }) {
  const ticks = axisTicks(low, high, Math.max(2, Math.floor(height / 50)));
  const shown = ticks.length > 1 ? tickDigits(ticks[1] - ticks[0]) : 2;
  const axis = svgEl("g", { class: "c-axis", "aria-hidden": "true" });
  for (const tick of ticks) {
    const y = place(tick);
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

/** Draws into a holder at its present width, and again when the width changes; returns {redraw, stop}. */
export function fittedChart(holder, draw) {
  let width = 0;
  const redraw = () => {
    width = holder.clientWidth;
    if (width > 0) draw(Math.max(width, CHART_NARROWEST));
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
        if (svg()) download(`${name}.svg`, new Blob([chartSource(svg(), caption())], { type: "image/svg+xml" }));
      },
    }),
    el("button", {
      type: "button",
      text: "PNG",
      "aria-label": `Save ${name} as PNG`,
      onclick: async () => {
        if (svg()) download(`${name}.png`, await chartPicture(svg(), caption()));
      },
    }),
  );
}

/** The chart as SVG text: computed colours as attributes, the theme's background, the signature below. */
function chartSource(svg, caption) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(originals[place]);
    for (const name of CHART_STYLES) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-pressed", "aria-label"]) node.removeAttribute(name);
  });
  const page = getComputedStyle(document.documentElement);
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const lines = captionLines(caption, Math.floor(width / 5.6));
  const size = { width: width + 2 * CHART_MARGIN, height: height + 8 + 13 * lines.length + 2 * CHART_MARGIN };
  for (const [name, value] of Object.entries({ xmlns: CHART_SVG, ...size })) copy.setAttribute(name, value);
  copy.setAttribute("viewBox", `${-CHART_MARGIN} ${-CHART_MARGIN} ${size.width} ${size.height}`);
  copy.querySelector("[data-cursor]")?.remove();
  copy.prepend(
    svgEl("rect", { x: -CHART_MARGIN, y: -CHART_MARGIN, ...size, fill: page.getPropertyValue("--paper").trim() }),
  );
  const soft = page.getPropertyValue("--soft").trim();
  lines.forEach((text, place) =>
    copy.append(
      svgEl("text", {
        x: 0,
        y: height + 6 + 13 * place,
        fill: soft,
        "font-size": "10px",
        "font-family": "monospace",
        text,
      }),
    ),
  );
  return new XMLSerializer().serializeToString(copy);
}

async function chartPicture(svg, caption) {
  const url = URL.createObjectURL(new Blob([chartSource(svg, caption)], { type: "image/svg+xml" }));
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
