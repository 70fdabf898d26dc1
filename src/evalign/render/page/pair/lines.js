// The lines between two texts, on one canvas: blue and solid for precision, orange and dashed for recall; the less
// similar, the thicker, and a weak match has a cross. Geometry is computed from measured boxes, in coordinates of the
// canvas, so that tests can check it.

import { themeColour } from "../shared/dom.js";
import { classOf } from "../shared/number_text.js";
import { PAIR_SIDES } from "./match_facts.js";

const LINE_BESIDE = 3; // a pair's two lines lie beside each other, this far from the middle of a word
const LINE_STYLES = {
  precision: { colour: "--precision", dash: [], shift: -1 },
  recall: { colour: "--recall", dash: [5, 4], shift: 1 },
  flow: { colour: "--flow", dash: [], shift: 0 },
  near: { colour: "--control", dash: [1, 4], shift: 0 },
  asked: { colour: "--ink", dash: [2, 3], shift: 0 },
  kept: { colour: "--control", dash: [], shift: 0 },
  lost: { colour: "--lost", dash: [2, 4], shift: -1 },
  new: { colour: "--new", dash: [], shift: 1 },
};
const LINE_WIDTHS = [1.2, 1.7, 2.3, 3]; // by level, the closest first: what fits badly is what is looked for
const LINE_THIN = ["near", "kept"]; // kinds that stay in the background
const LINE_CROSSED = ["precision", "recall", "flow"]; // kinds that show a weak match
const LINE_CROSS = 4.5; // pixels from the middle of a cross to its ends
const LINE_CROWD = 120; // lines from which on each is drawn thinner, so that the texts can still be read

/** How one of `count` lines looks: {colour (name of a custom property), dash, width, crossed}; `bounds` of the levels. */
export function lineStyle(line, bounds, count, focused) {
  const { colour, dash } = LINE_STYLES[line.kind];
  const level = classOf(line.similarity, bounds);
  const crowd = focused ? 1 : Math.max(0.5, Math.min(1, Math.sqrt(LINE_CROWD / count)));
  const thin = LINE_THIN.includes(line.kind);
  const width = line.mass !== undefined ? 1 + 60 * Math.min(0.1, line.mass) : thin ? 1 : LINE_WIDTHS[level];
  const crossed = level === bounds.length && LINE_CROSSED.includes(line.kind);
  return { colour, dash, crossed, width: (focused ? width + 0.6 : width) * crowd };
}

/** The two strokes of the cross in the middle of a placed line: [[x1, y1, x2, y2], ...]. */
export function lineCross({ from, to, control }) {
  const middle = (start, first, second, stop) => (start + 3 * first + 3 * second + stop) / 8;
  const x = middle(from.x, control[0], control[2], to.x);
  const y = middle(from.y, control[1], control[3], to.y);
  return [-1, 1].map((way) => [x - LINE_CROSS, y - way * LINE_CROSS, x + LINE_CROSS, y + way * LINE_CROSS]);
}

/**
 * Where lines run: {line, from, to, control: [x1, y1, x2, y2]}; `from` and `to` are {x, y, hidden}. `frames` says
 * where each pane shows its content: {left, top, right, bottom, x, y}, x and y being where its content begins.
 */
export function placeLines(lines, boxes, frames) {
  const sideways = frames.reference.left >= frames.candidate.right - 1;
  const placed = [];
  for (const line of lines) {
    const from = lineEnd(line, "candidate", boxes, frames, sideways);
    const to = lineEnd(line, "reference", boxes, frames, sideways);
    const control = sideways
      ? [(from.x + to.x) / 2, from.y, (from.x + to.x) / 2, to.y]
      : [from.x, (from.y + to.y) / 2, to.x, (from.y + to.y) / 2];
    placed.push({ line, from, to, control });
  }
  return placed;
}

/** Draws placed lines; a line whose end is scrolled out of sight ends in an arrow at the pane's edge. */
export function drawLines(context, placed, bounds, focused) {
  const known = new Map([["--paper", themeColour("--paper")]]);
  const colour = (name) => known.get(name) ?? known.set(name, themeColour(name)).get(name);
  const crosses = [];
  for (const at of placed) {
    const { from, to, control } = at;
    const style = lineStyle(at.line, bounds, placed.length, focused);
    context.strokeStyle = context.fillStyle = colour(style.colour);
    context.lineWidth = style.width;
    context.setLineDash(style.dash);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(...control, to.x, to.y);
    context.stroke();
    for (const end of [from, to]) lineTip(context, end, style.width);
    if (style.crossed) crosses.push([lineCross(at), colour(style.colour)]);
  }
  context.setLineDash([]);
  for (const [strokes, own] of crosses) {
    for (const [width, ink] of /** @type {[number, string][]} */ ([
      [5, colour("--paper")],
      [2, own],
    ])) {
      context.lineWidth = width;
      context.strokeStyle = ink;
      context.beginPath();
      for (const [x1, y1, x2, y2] of strokes) {
        context.moveTo(x1, y1);
        context.lineTo(x2, y2);
      }
      context.stroke();
    }
  }
}

/** A canvas as sharp as the screen, cleared, in CSS pixels of the page. */
export function sharpContext(canvas, size) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  return context;
}

/** Where panes show their text and where the text begins, relative to the canvas, in pixels of the window. */
export function paneFrames(halves, origin) {
  const frames = {};
  for (const side of PAIR_SIDES) {
    const rect = halves[side].pane.getBoundingClientRect();
    const text = halves[side].text.getBoundingClientRect();
    frames[side] = {
      left: rect.left - origin.left,
      right: rect.right - origin.left,
      top: rect.top - origin.top,
      bottom: rect.bottom - origin.top,
      x: text.left - origin.left,
      y: text.top - origin.top,
      scrolls: text.height > rect.height + 1,
    };
  }
  return frames;
}

/** The point of a unit that faces the other text. */
function lineEnd(line, side, boxes, frames, sideways) {
  const frame = frames[side];
  const first = side === "candidate" ? -1 : 0;
  const rect = boxes[side][line[side]].rects.at(first);
  const shift = LINE_STYLES[line.kind].shift;
  let x = frame.x + (rect.left + rect.right) / 2;
  let y = frame.y + (side === "candidate" ? rect.bottom : rect.top);
  if (sideways) {
    x = frame.x + (side === "candidate" ? rect.right : rect.left);
    y = frame.y + (rect.top + rect.bottom) / 2 + shift * LINE_BESIDE;
  } else {
    x += shift * Math.min(LINE_BESIDE, (rect.right - rect.left) / 4);
  }
  if (!frame.scrolls) return { x, y, hidden: 0 };
  const hidden = y < frame.top ? -1 : y > frame.bottom ? 1 : 0;
  return { x, y: Math.min(frame.bottom - 2, Math.max(frame.top + 2, y)), hidden };
}

function lineTip(context, end, width) {
  if (!end.hidden) return;
  const size = 4 + width;
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(end.x - size, end.y - end.hidden * size);
  context.lineTo(end.x + size, end.y - end.hidden * size);
  context.lineTo(end.x, end.y + end.hidden);
  context.closePath();
  context.fill();
}
