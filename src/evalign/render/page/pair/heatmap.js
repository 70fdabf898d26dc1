// The similarity of every two units as a picture on canvas, linked to the lines: pointing at a cell focuses both words,
// focusing a word frames its row or column. Cells lie on one canvas, frames on another: a hover repaints frames only.

import { el, themeColour } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { HEAT_LABELLED, heatAxes, heatMargins } from "./heat_axes.js";
import { sharpContext } from "./lines.js";

const HEAT_STOPS = ["--heat0", "--heat1", "--heat2", "--heat3", "--heat4"];
const HEAT_CELL = 26; // pixels of a cell at most
const HEAT_SIDE = 8192; // device pixels of the largest canvas that is drawn at once
const HEAT_SMALL = 5; // pixels; a smaller cell has no room for an outline
const HEAT_HEIGHT = 620;
const HEAT_MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -1e9],
  End: [0, 1e9],
};

/** Handlers: cell(i, j) for a cell pointed at, leave(), blur(), pin(i, j), escape(). */
export function makeHeatmap(handlers) {
  const cells = el("canvas", { class: "heat-cells", "aria-hidden": "true" });
  const frames = el("canvas", { class: "heat-frames", "aria-hidden": "true" });
  const board = el(
    "div",
    {
      class: "heat-board",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heatmap",
      "aria-label": "Similarity of every candidate word with every reference word; arrow keys move, Enter pins",
    },
    cells,
    frames,
  );
  const scale = heatScale();
  const node = el("div", { class: "heat" }, el("div", { class: "heat-scroll" }, board), scale.node);
  const map = { drawn: null, layout: null, cursor: null };

  const at = (event) => {
    const rect = frames.getBoundingClientRect();
    const zoom = rect.width / map.layout.width;
    const j = Math.floor(((event.clientX - rect.left) / zoom - map.layout.left) / map.layout.cell);
    const i = Math.floor(((event.clientY - rect.top) / zoom - map.layout.top) / map.layout.cell);
    return i >= 0 && j >= 0 && i < map.layout.rows && j < map.layout.columns ? [i, j] : null;
  };
  board.addEventListener("pointermove", (event) => {
    const cell = map.layout && at(event);
    if (cell && map.cursor && cell[0] === map.cursor[0] && cell[1] === map.cursor[1]) return;
    map.cursor = cell;
    if (cell) handlers.cell(...cell);
    else handlers.leave();
  });
  board.addEventListener("pointerleave", () => {
    map.cursor = null;
    handlers.leave();
  });
  board.addEventListener("click", (event) => {
    const cell = map.layout && at(event);
    if (cell) handlers.pin(...cell);
  });
  board.addEventListener("keydown", (event) => heatKey(event, map, handlers));
  board.addEventListener("blur", () => handlers.blur());

  const draw = (grid, chosen, { zoom, contrast }) => {
    const width = Math.floor(node.clientWidth);
    if (!width || !grid.units.candidate.length || !grid.units.reference.length) return;
    map.layout = heatLayout(grid, width, zoom);
    for (const canvas of [board, cells, frames]) {
      canvas.style.width = `${map.layout.width}px`;
      canvas.style.height = `${map.layout.height}px`;
    }
    const range = heatRange(grid.similarity, contrast);
    heatCells(sharpContext(cells, map.layout), map.layout, grid, chosen, range);
    scale.show(range);
  };
  const highlight = (focus) => {
    if (!map.layout) return;
    if (!focus) map.cursor = null;
    else if (focus.other !== null)
      map.cursor = focus.side === "candidate" ? [focus.index, focus.other] : [focus.other, focus.index];
    heatFrames(sharpContext(frames, map.layout), map.layout, focus);
  };
  return { node, board, draw, highlight, layout: () => map.layout };
}

function heatKey(event, map, handlers) {
  if (!map.layout || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") handlers.escape();
  else if ((event.key === "Enter" || event.key === " ") && map.cursor) handlers.pin(...map.cursor);
  else if (event.key in HEAT_MOVES) {
    const [down, right] = HEAT_MOVES[event.key];
    const [i, j] = map.cursor ?? [-down, -right].map((step) => Math.max(0, step));
    const within = (place, count) => Math.max(0, Math.min(count - 1, place));
    map.cursor = [within(i + down, map.layout.rows), within(j + right, map.layout.columns)];
    handlers.cell(...map.cursor, true);
  } else return;
  event.preventDefault();
}

/** Sizes: cells as large as fit, times the zoom, and as many labels as can be read. */
function heatLayout(grid, width, zoom) {
  const rows = grid.units.candidate.length;
  const columns = grid.units.reference.length;
  const { left, top } = heatMargins(grid);
  const fitting = Math.min((width - left - 2) / columns, Math.max(HEAT_LABELLED, HEAT_HEIGHT / rows), HEAT_CELL);
  const most = HEAT_SIDE / (globalThis.devicePixelRatio || 1) / Math.max(rows, columns);
  const cell = Math.max(fitting, Math.min(HEAT_CELL, fitting * zoom, most));
  const whole = cell >= HEAT_LABELLED ? Math.floor(cell) : cell;
  const size = { width: left + columns * whole + 2, height: top + rows * whole + 2 };
  return { rows, columns, cell: whole, left, top, ...size };
}

/** A canvas with one pixel per value, row by row, from the lightest colour at range.low to the darkest at range.high. */
export function heatPixels(values, columns, range) {
  const rows = values.length / columns;
  const canvas = el("canvas", { width: columns, height: rows });
  const pixels = new ImageData(columns, rows);
  const ramp = heatRamp();
  const span = range.high - range.low || 1;
  values.forEach((value, place) => {
    const step = Math.round((255 * (value - range.low)) / span);
    pixels.data.set(ramp[Math.max(0, Math.min(255, step))], 4 * place);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

function heatCells(context, layout, grid, chosen, range) {
  const { rows, columns, cell, left, top } = layout;
  const small = heatPixels(grid.similarity, columns, range);
  context.imageSmoothingEnabled = cell < 1;
  context.drawImage(small, left, top, columns * cell, rows * cell);
  heatChosen(context, layout, chosen);
  heatAxes(context, layout, grid);
}

function heatChosen(context, { cell, left, top }, chosen) {
  context.strokeStyle = context.fillStyle = themeColour("--heat-chosen");
  context.lineWidth = Math.min(2, cell / 4);
  const inset = context.lineWidth / 2 + 0.5;
  for (const { candidate, reference } of chosen) {
    const [x, y] = [left + reference * cell, top + candidate * cell];
    if (cell >= HEAT_SMALL) context.strokeRect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
    else context.fillRect(x, y, Math.max(cell, 1.5), Math.max(cell, 1.5));
  }
}

/** The row or column of the focused word, and the cell where two words are focused. */
function heatFrames(context, { rows, columns, cell, left, top }, focus) {
  if (!focus) return;
  const [i, j] = focus.side === "candidate" ? [focus.index, focus.other] : [focus.other, focus.index];
  context.fillStyle = themeColour("--paper");
  context.globalAlpha = 0.55;
  const [x, y, right, bottom] = [left + j * cell, top + i * cell, left + columns * cell, top + rows * cell];
  if (i !== null && j === null) {
    context.fillRect(left, top, right - left, y - top);
    context.fillRect(left, y + cell, right - left, bottom - y - cell);
  } else if (j !== null && i === null) {
    context.fillRect(left, top, x - left, bottom - top);
    context.fillRect(x + cell, top, right - x - cell, bottom - top);
  }
  context.globalAlpha = 1;
  context.strokeStyle = themeColour("--ink");
  context.lineWidth = cell < HEAT_SMALL ? 1 : 1.5;
  const around = cell < HEAT_SMALL ? 1.5 : 0; // a frame must not cover the cells it frames
  if (i !== null) context.strokeRect(left, y - around, right - left, cell + 2 * around);
  if (j !== null) context.strokeRect(x - around, top, cell + 2 * around, bottom - top);
  if (i !== null && j !== null) {
    context.lineWidth = 3;
    context.strokeRect(x - around, y - around, cell + 2 * around, cell + 2 * around);
  }
}

/** A bar of all colours with the numbers at its ends. */
function heatScale() {
  const bar = el("canvas", { class: "heat-scale-bar", width: 256, height: 1, "aria-hidden": "true" });
  const [low, high] = [el("span", {}), el("span", {})];
  const chosen = el("span", { class: "heat-chosen-sample", "aria-hidden": "true" });
  const node = el("p", { class: "heat-scale" }, "similarity ", low, bar, high, chosen, " matched");
  const show = (range) => {
    const pixels = new ImageData(256, 1);
    heatRamp().forEach((colour, place) => pixels.data.set(colour, 4 * place));
    bar.getContext("2d").putImageData(pixels, 0, 0);
    low.textContent = fourDigits(range.low);
    high.textContent = fourDigits(range.high);
  };
  return { node, show };
}

/** What the lightest and the darkest colour stand for: the ends, or with more contrast what 1 in 20 cells lie beyond. */
export function heatRange(similarity, contrast) {
  const sorted = Float64Array.from(similarity).sort();
  const beyond = contrast ? Math.floor(sorted.length / 20) : 0;
  return { low: sorted[beyond], high: sorted[sorted.length - 1 - beyond] };
}

/** 256 colours between the theme's stops. */
function heatRamp() {
  const stops = HEAT_STOPS.map((name) =>
    [1, 3, 5].map((place) => parseInt(themeColour(name).slice(place, place + 2), 16)),
  );
  return Array.from({ length: 256 }, (_none, place) => {
    const at = (place / 255) * (stops.length - 1);
    const below = Math.min(stops.length - 2, Math.floor(at));
    const part = at - below;
    return [...stops[below].map((value, k) => Math.round(value + (stops[below + 1][k] - value) * part)), 255];
  });
}
