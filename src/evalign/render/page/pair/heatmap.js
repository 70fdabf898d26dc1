// The folded section with the heatmap of all similarities: cells and axes on canvas, linked to the lines, zoom,
// contrast, and the rounds of a recursive matching. Cells lie on one canvas, frames on another: a hover repaints frames
// only.

import { labelledCheckbox, labelledSlider } from "../shared/controls.js";
import { el, sharpContext, themeColour } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";

const MAX_ZOOM = 8;
const COLOUR_STOPS = ["--heat0", "--heat1", "--heat2", "--heat3", "--heat4"];
const MAX_CELL_PIXELS = 26;
const MAX_CANVAS_PIXELS = 8192; // device pixels of a canvas
const MIN_OUTLINED_PIXELS = 5; // a smaller cell has no room for an outline
const USUAL_HEIGHT = 620;
const KEY_MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -1e9],
  End: [0, 1e9],
};
const LABEL_PIXELS = 13; // height of a label
const MAX_LABEL_LETTERS = 14;
const TITLE_PIXELS = 15; // height of the names of the axes
const ROUND_MILLISECONDS = 700; // between two rounds that are played

/** The section; `shown()` returns {grid, view}, `opened(open)` is called when the reader opens or closes it. */
export function heatmapSection(focus, shown, opened) {
  const looks = { zoom: 1, contrast: false };
  const heat = makeHeatmap({
    cell: (i, j, keyed) => (keyed ? focus.key("candidate", i, j) : focus.hover("candidate", i, j)),
    leave: () => focus.leave(),
    blur: () => focus.blur(),
    pin: (i, j) => focus.pin("candidate", i, j),
    escape: () => focus.escape(),
  });
  const draw = () => {
    const { grid, view } = shown();
    rounds.show(view.matching);
    if (!node.open) return;
    heat.draw(grid, rounds.lines(grid) ?? view.lines, looks);
    heat.highlight(focus.current());
  };
  const rounds = roundsControl(draw);
  const parts = [
    el("summary", { text: "Heatmap of all similarities" }),
    rounds.node,
    zoomAndContrast((part) => {
      Object.assign(looks, part);
      draw();
    }),
    heat.node,
  ];
  const node = el("details", { class: "pair-heat", ontoggle: () => opened(node.open) }, ...parts);
  const widths = new ResizeObserver(draw);
  widths.observe(heat.node);
  return {
    node,
    draw,
    highlight: (current) => heat.highlight(current),
    stop: () => {
      rounds.stop();
      widths.disconnect();
    },
  };
}

/** Controls of the size of cells and of the range of colours. */
function zoomAndContrast(change) {
  const valueText = (value) => `${value} \u00d7`;
  const zoom = labelledSlider("Zoom", { min: 1, max: MAX_ZOOM, step: 1 }, valueText, (value) =>
    change({ zoom: value }),
  );
  const contrast = labelledCheckbox("More contrast", (checked) => change({ contrast: checked }));
  zoom.show(1);
  return el("div", { class: "heat-controls no-print" }, zoom.node, contrast.node);
}

/** The heatmap; handlers: cell(i, j) for the cell under the pointer, leave(), blur(), pin(i, j), escape(). */
function makeHeatmap(handlers) {
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
  const scale = colourScale();
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
  board.addEventListener("keydown", (event) => actOnKey(event, map, handlers));
  board.addEventListener("blur", () => handlers.blur());

  const draw = (grid, chosen, { zoom, contrast }) => {
    const width = Math.floor(node.clientWidth);
    if (!width || !grid.units.candidate.length || !grid.units.reference.length) return;
    map.layout = heatmapLayout(grid, width, zoom);
    for (const canvas of [board, cells, frames]) {
      canvas.style.width = `${map.layout.width}px`;
      canvas.style.height = `${map.layout.height}px`;
    }
    const range = valueRange(grid.similarity, contrast);
    drawCells(sharpContext(cells, map.layout), map.layout, grid, chosen, range);
    scale.show(range);
  };
  const highlight = (focus) => {
    if (!map.layout) return;
    if (!focus) map.cursor = null;
    else if (focus.other !== null)
      map.cursor = focus.side === "candidate" ? [focus.index, focus.other] : [focus.other, focus.index];
    drawFrames(sharpContext(frames, map.layout), map.layout, focus);
  };
  return { node, board, draw, highlight, layout: () => map.layout };
}

function actOnKey(event, map, handlers) {
  if (!map.layout || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") handlers.escape();
  else if ((event.key === "Enter" || event.key === " ") && map.cursor) handlers.pin(...map.cursor);
  else if (event.key in KEY_MOVES) {
    const [down, right] = KEY_MOVES[event.key];
    const [i, j] = map.cursor ?? [-down, -right].map((step) => Math.max(0, step));
    const within = (index, count) => Math.max(0, Math.min(count - 1, index));
    map.cursor = [within(i + down, map.layout.rows), within(j + right, map.layout.columns)];
    handlers.cell(...map.cursor, true);
  } else return;
  event.preventDefault();
}

/** Sizes: cells as large as fit, times the zoom. */
function heatmapLayout(grid, width, zoom) {
  const rows = grid.units.candidate.length;
  const columns = grid.units.reference.length;
  const { left, top } = axisMargins(grid);
  const fitting = Math.min((width - left - 2) / columns, Math.max(LABEL_PIXELS, USUAL_HEIGHT / rows), MAX_CELL_PIXELS);
  const most = MAX_CANVAS_PIXELS / (globalThis.devicePixelRatio || 1) / Math.max(rows, columns);
  const cell = Math.max(fitting, Math.min(MAX_CELL_PIXELS, fitting * zoom, most));
  const whole = cell >= LABEL_PIXELS ? Math.floor(cell) : cell;
  const size = { width: left + columns * whole + 2, height: top + rows * whole + 2 };
  return { rows, columns, cell: whole, left, top, ...size };
}

/**
 * A canvas with one pixel per value, row by row, from the lightest colour at range.low to the darkest at range.high.
 */
export function heatmapImage(values, columns, range) {
  const rows = values.length / columns;
  const canvas = el("canvas", { width: columns, height: rows });
  const pixels = new ImageData(columns, rows);
  const ramp = colourRamp();
  const span = range.high - range.low || 1;
  values.forEach((value, index) => {
    const step = Math.round((255 * (value - range.low)) / span);
    pixels.data.set(ramp[Math.max(0, Math.min(255, step))], 4 * index);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

function drawCells(context, layout, grid, chosen, range) {
  const { rows, columns, cell, left, top } = layout;
  const small = heatmapImage(grid.similarity, columns, range);
  context.imageSmoothingEnabled = cell < 1;
  context.drawImage(small, left, top, columns * cell, rows * cell);
  drawChosen(context, layout, chosen);
  drawAxes(context, layout, grid);
}

function drawChosen(context, { cell, left, top }, chosen) {
  context.strokeStyle = context.fillStyle = themeColour("--heat-chosen");
  context.lineWidth = Math.min(2, cell / 4);
  const inset = context.lineWidth / 2 + 0.5;
  for (const { candidate, reference } of chosen) {
    const [x, y] = [left + reference * cell, top + candidate * cell];
    if (cell >= MIN_OUTLINED_PIXELS) context.strokeRect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
    else context.fillRect(x, y, Math.max(cell, 1.5), Math.max(cell, 1.5));
  }
}

/** The row or column of the focused word, and the cell where two words are focused. */
function drawFrames(context, { rows, columns, cell, left, top }, focus) {
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
  context.lineWidth = cell < MIN_OUTLINED_PIXELS ? 1 : 1.5;
  const around = cell < MIN_OUTLINED_PIXELS ? 1.5 : 0; // a frame must not cover the cells it frames
  if (i !== null) context.strokeRect(left, y - around, right - left, cell + 2 * around);
  if (j !== null) context.strokeRect(x - around, top, cell + 2 * around, bottom - top);
  if (i !== null && j !== null) {
    context.lineWidth = 3;
    context.strokeRect(x - around, y - around, cell + 2 * around, cell + 2 * around);
  }
}

/** A bar of all colours with the numbers at its ends. */
function colourScale() {
  const bar = el("canvas", { class: "heat-scale-bar", width: 256, height: 1, "aria-hidden": "true" });
  const [low, high] = [el("span", {}), el("span", {})];
  const chosen = el("span", { class: "heat-chosen-sample", "aria-hidden": "true" });
  const node = el("p", { class: "heat-scale" }, "similarity ", low, bar, high, chosen, " matched");
  const show = (range) => {
    const pixels = new ImageData(256, 1);
    colourRamp().forEach((colour, index) => pixels.data.set(colour, 4 * index));
    bar.getContext("2d").putImageData(pixels, 0, 0);
    low.textContent = fourDigits(range.low);
    high.textContent = fourDigits(range.high);
  };
  return { node, show };
}

/**
 * The values of the lightest and the darkest colour: the extremes, or with more contrast the 5 % and 95 % quantiles.
 */
export function valueRange(similarity, contrast) {
  const sorted = Float64Array.from(similarity).sort();
  const beyond = contrast ? Math.floor(sorted.length / 20) : 0;
  return { low: sorted[beyond], high: sorted[sorted.length - 1 - beyond] };
}

/** 256 colours between the theme's stops. */
function colourRamp() {
  const stops = COLOUR_STOPS.map((name) =>
    [1, 3, 5].map((index) => parseInt(themeColour(name).slice(index, index + 2), 16)),
  );
  return Array.from({ length: 256 }, (_none, index) => {
    const at = (index / 255) * (stops.length - 1);
    const below = Math.min(stops.length - 2, Math.floor(at));
    const part = at - below;
    return [...stops[below].map((value, k) => Math.round(value + (stops[below + 1][k] - value) * part)), 255];
  });
}

/** The margins that the labels need. */
function axisMargins(grid) {
  const longest = (units) =>
    Math.max(...units.map((unit) => Math.min(MAX_LABEL_LETTERS, Array.from(unit.label).length)));
  return {
    left: 12 + TITLE_PIXELS + 7 * longest(grid.units.candidate),
    top: 12 + TITLE_PIXELS + 6.5 * longest(grid.units.reference),
  };
}

/** Draw the names of both axes, and as many words with ticks as can be read. */
function drawAxes(context, { cell, left, top, rows, columns }, grid) {
  const every = Math.max(1, Math.ceil(LABEL_PIXELS / cell));
  context.fillStyle = context.strokeStyle = themeColour("--ink");
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  context.textBaseline = "middle";
  const written = (x, y, turned, text, align = "left") => {
    context.save();
    context.textAlign = align;
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  };
  const tick = (x, y, width, height) => every > 1 && context.fillRect(x, y, width, height);
  for (let i = 0; i < rows; i += every) {
    written(left - 6, top + (i + 0.5) * cell, false, shortLabel(grid.units.candidate[i].label), "right");
    tick(left - 4, top + (i + 0.5) * cell, 4, 1);
  }
  for (let j = 0; j < columns; j += every) {
    written(left + (j + 0.5) * cell, top - 6, true, shortLabel(grid.units.reference[j].label));
    tick(left + (j + 0.5) * cell, top - 4, 1, 4);
  }
  context.fillStyle = themeColour("--soft");
  written(left, TITLE_PIXELS / 2, false, "reference \u2192");
  written(TITLE_PIXELS / 2, top + 1, true, "\u2190 candidate", "right");
}

function shortLabel(text) {
  const letters = Array.from(text);
  return letters.length > MAX_LABEL_LETTERS ? `${letters.slice(0, MAX_LABEL_LETTERS - 1).join("")}\u2026` : text;
}

/** A slider over the rounds of a recursive matching and a button that plays them; `draw()` shows the current round. */
function roundsControl(draw) {
  const at = { matching: null, rounds: [], round: 0, timer: 0 };
  const play = el("button", { type: "button", onclick: () => (at.timer ? stop() : start()) });
  const node = el("div", { class: "heat-rounds" });
  let slider = null;

  const stop = () => {
    clearInterval(at.timer);
    at.timer = 0;
    play.textContent = "Play the rounds";
  };
  const go = (round) => {
    at.round = round;
    slider.show(round);
    draw();
  };
  const start = () => {
    play.textContent = "Stop";
    go(0);
    at.timer = setInterval(() => {
      if (at.round + 1 < at.rounds.length) go(at.round + 1);
      if (at.round + 1 >= at.rounds.length) stop();
    }, ROUND_MILLISECONDS);
  };
  /** Show another matching, beginning with its last round. */
  const show = (matching) => {
    if (at.matching === matching) return;
    stop();
    Object.assign(at, { matching, rounds: matching.rounds ?? [] });
    at.round = Math.max(0, at.rounds.length - 1);
    node.hidden = at.rounds.length === 0;
    if (node.hidden) return;
    const valueText = (round) => `${round}, ${usedAgain(at.rounds[round])} used again`;
    slider = labelledSlider("Rounds of the recursion", { min: 0, max: at.round, step: 1 }, valueText, (round) => {
      stop();
      go(round);
    });
    slider.show(at.round);
    node.replaceChildren(slider.node, play);
  };
  /** The cells to frame instead of the matching's; null if there are no rounds. */
  const lines = (grid) =>
    at.rounds.length
      ? at.rounds[at.round].map(([i, j]) => ({
          candidate: grid.unitOf.candidate[i],
          reference: grid.unitOf.reference[j],
        }))
      : null;
  return { node, show, lines, stop };
}

/** The number of times that a token is used after its first. */
function usedAgain(cells) {
  const used = (side) => new Set(cells.map((cell) => cell[side])).size;
  return 2 * cells.length - used(0) - used(1);
}
