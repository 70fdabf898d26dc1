// The lines between two texts, on one canvas: blue and solid for precision, orange and dashed for recall, opacity for
// similarity. Geometry is computed from measured boxes, in coordinates of the canvas, so that tests can check it.

import { themeColour } from "../shared/dom.js";
import { PAIR_SIDES } from "./match_facts.js";

const LINE_BESIDE = 3; // a pair's two lines lie beside each other, this far from the middle of a word
const LINE_STYLES = {
  precision: { colour: "--precision", dash: [], shift: -1 },
  recall: { colour: "--recall", dash: [5, 4], shift: 1 },
  flow: { colour: "--flow", dash: [], shift: 0 },
  near: { colour: "--soft", dash: [1, 4], shift: 0 },
  asked: { colour: "--ink", dash: [2, 3], shift: 0 },
  kept: { colour: "--soft", dash: [], shift: 0 },
  lost: { colour: "--lost", dash: [2, 4], shift: -1 },
  new: { colour: "--new", dash: [], shift: 1 },
};
const LINE_FAINT = { near: 0.6, kept: 0.35 }; // kinds that stay in the background
const LINE_CROWD = 120; // lines from which on each is drawn fainter, so that the texts can still be read

/** How one of `count` lines looks: {colour (name of a custom property), dash, alpha, width}. */
export function lineStyle(line, count, focused) {
  const { colour, dash } = LINE_STYLES[line.kind];
  const crowd = focused ? 1 : 0.8 * Math.min(1, Math.sqrt(LINE_CROWD / count));
  const alpha = Math.min(1, Math.max(0.12, line.similarity)) * (LINE_FAINT[line.kind] ?? 1) * crowd;
  const width = line.mass !== undefined ? 1 + 60 * Math.min(0.1, line.mass) : line.kind in LINE_FAINT ? 1.2 : 1.8;
  return { colour, dash, alpha, width: focused ? width + 0.6 : width };
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
export function drawLines(context, placed, focused) {
  const colours = new Map();
  for (const { line, from, to, control } of placed) {
    const style = lineStyle(line, placed.length, focused);
    if (!colours.has(style.colour)) colours.set(style.colour, themeColour(style.colour));
    context.globalAlpha = style.alpha;
    context.strokeStyle = context.fillStyle = colours.get(style.colour);
    context.lineWidth = style.width;
    context.setLineDash(style.dash);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(...control, to.x, to.y);
    context.stroke();
    for (const end of [from, to]) lineTip(context, end, style.width);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
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
