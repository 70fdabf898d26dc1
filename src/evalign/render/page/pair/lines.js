// The lines between the two texts: which of them are drawn, their style and geometry, and the legend that explains
// them. Blue and solid for precision, orange and dashed for recall; the less similar, the thicker, and a weak match has
// a cross.

import { el, themeColour } from "../shared/dom.js";
import { levelOf } from "../shared/format.js";
import { linesOf, otherSide, SIDES } from "./matches.js";

const SHIFT_PIXELS = 3; // distance of a pair's two lines from the middle of a word
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
const LINE_WIDTHS = [1.2, 1.7, 2.3, 3]; // by level, the closest first: bad matches should be seen first
const BACKGROUND_KINDS = ["near", "kept"];
const CROSSED_KINDS = ["precision", "recall", "flow"]; // kinds whose weak matches have a cross
const CROSS_PIXELS = 4.5; // from the middle of a cross to its ends
const CROWDED_LINES = 120; // more lines are drawn thinner, so that the texts can be read
export const LEVEL_NAMES = { q3: "very close", q2: "close", q1: "loose", q0: "weak" };

/**
 * The style of one of `count` lines: {colour (name of a custom property), dash, width, crossed}; `bounds` of the
 * levels.
 */
export function lineStyle(line, bounds, count, focused) {
  const { colour, dash } = LINE_STYLES[line.kind];
  const level = levelOf(line.similarity, bounds);
  const crowd = focused ? 1 : Math.max(0.5, Math.min(1, Math.sqrt(CROWDED_LINES / count)));
  const thin = BACKGROUND_KINDS.includes(line.kind);
  const width = line.mass !== undefined ? 1 + 60 * Math.min(0.1, line.mass) : thin ? 1 : LINE_WIDTHS[level];
  const crossed = level === bounds.length && CROSSED_KINDS.includes(line.kind);
  return { colour, dash, crossed, width: (focused ? width + 0.6 : width) * crowd };
}

/** The two strokes of the cross in the middle of a placed line: [[x1, y1, x2, y2], ...]. */
export function crossStrokes({ from, to, control }) {
  const middle = (start, first, second, stop) => (start + 3 * first + 3 * second + stop) / 8;
  const x = middle(from.x, control[0], control[2], to.x);
  const y = middle(from.y, control[1], control[3], to.y);
  return [-1, 1].map((way) => [x - CROSS_PIXELS, y - way * CROSS_PIXELS, x + CROSS_PIXELS, y + way * CROSS_PIXELS]);
}

/**
 * The geometry of lines: {line, from, to, control: [x1, y1, x2, y2]}; `from` and `to` are {x, y, hidden}. `frames` has
 * the box of each pane and the corner of its content: {left, top, right, bottom, x, y}.
 */
export function placeLines(lines, boxes, frames) {
  const sideways = frames.reference.left >= frames.candidate.right - 1;
  const placed = [];
  for (const line of lines) {
    const from = endPoint(line, "candidate", boxes, frames, sideways);
    const to = endPoint(line, "reference", boxes, frames, sideways);
    const control = sideways
      ? [(from.x + to.x) / 2, from.y, (from.x + to.x) / 2, to.y]
      : [from.x, (from.y + to.y) / 2, to.x, (from.y + to.y) / 2];
    placed.push({ line, from, to, control });
  }
  return placed;
}

/** Draw placed lines; a line whose end is scrolled out of sight ends in an arrow at the pane's edge. */
export function drawLines(context, placed, bounds, focused) {
  const stored = new Map([["--paper", themeColour("--paper")]]);
  const colour = (name) => stored.get(name) ?? stored.set(name, themeColour(name)).get(name);
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
    for (const end of [from, to]) drawArrow(context, end, style.width);
    if (style.crossed) crosses.push([crossStrokes(at), colour(style.colour)]);
  }
  context.setLineDash([]);
  for (const [strokes, lineColour] of crosses) {
    for (const [width, ink] of /** @type {[number, string][]} */ ([
      [5, colour("--paper")],
      [2, lineColour],
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

/** The box of each pane and the corner of its text, relative to the canvas, in pixels of the window. */
export function paneFrames(halves, origin) {
  const frames = {};
  for (const side of SIDES) {
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
function endPoint(line, side, boxes, frames, sideways) {
  const frame = frames[side];
  const first = side === "candidate" ? -1 : 0;
  const rect = boxes[side][line[side]].rects.at(first);
  const shift = LINE_STYLES[line.kind].shift;
  let x = frame.x + (rect.left + rect.right) / 2;
  let y = frame.y + (side === "candidate" ? rect.bottom : rect.top);
  if (sideways) {
    x = frame.x + (side === "candidate" ? rect.right : rect.left);
    y = frame.y + (rect.top + rect.bottom) / 2 + shift * SHIFT_PIXELS;
  } else {
    x += shift * Math.min(SHIFT_PIXELS, (rect.right - rect.left) / 4);
  }
  if (!frame.scrolls) return { x, y, hidden: 0 };
  const hidden = y < frame.top ? -1 : y > frame.bottom ? 1 : 0;
  return { x, y: Math.min(frame.bottom - 2, Math.max(frame.top + 2, y)), hidden };
}

function drawArrow(context, end, width) {
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

/** The lines of a short text, of the focused word, or of the change; long texts show lines of the focused word only. */
export function visibleLines(shown, focus) {
  return !focus && shown.long ? [] : allLines(shown, focus);
}

/** The lines of a text of any length, as files show them. */
export function allLines({ set, grid, view, changed }, focus) {
  const visible = (line) => line.similarity >= set.threshold && set[line.kind] !== false;
  const touches = (line) =>
    line[focus.side] === focus.index && (focus.other === null || line[otherSide(focus.side)] === focus.other);
  if (changed) return changed.lines.filter((line) => visible(line) && (!focus || touches(line)));
  const listed = focus ? linesOf(view, focus.side, focus.index).filter(touches) : view.lines;
  const lines = listed.filter(visible);
  if (focus && focus.other !== null) return lines.length ? lines : [gridLine(grid, "asked", focus, focus.other)];
  return set.topk > 1 ? [...nearLines(grid, view, set.topk, focus).filter(visible), ...lines] : lines;
}

/** Units that stay bright: the focus and the ends of its lines; null without a focus. */
export function litUnits(lines, focus) {
  if (!focus) return null;
  const lit = { candidate: new Set(), reference: new Set() };
  lit[focus.side].add(focus.index);
  if (focus.other !== null) lit[otherSide(focus.side)].add(focus.other);
  for (const line of lines) for (const side of SIDES) lit[side].add(line[side]);
  return lit;
}

/** Lines to the k most similar units besides the chosen ones. */
function nearLines(grid, view, topk, focus) {
  const every = () => SIDES.flatMap((side) => grid.units[side].map(({ index }) => ({ side, index })));
  return (focus ? [focus] : every()).flatMap((unit) => {
    const chosen = new Set(linesOf(view, unit.side, unit.index).map((line) => line[otherSide(unit.side)]));
    const near = grid.nearest(unit.side, unit.index).slice(0, topk);
    return near.filter(({ index }) => !chosen.has(index)).map(({ index }) => gridLine(grid, "near", unit, index));
  });
}

function gridLine(grid, kind, { side, index }, other) {
  const line = { kind, [side]: index, [otherSide(side)]: other };
  return { ...line, similarity: grid.at(line.candidate, line.reference) };
}

/**
 * A sentence that explains the picture: `mode` is prf, flow or changes; long texts show lines of one word at a time.
 */
export function viewSentence(mode, { matching }, compared, long) {
  const best = matching.name === "greedy" ? "its best match" : "at most one partner";
  const who = long ? "Point at a word: lines join it" : "Lines join each word";
  return {
    prf: `${who} with ${best}: solid blue from the candidate (precision), dashed orange from the reference (recall); the thicker, the worse.`,
    flow: "Lines carry the candidate's weight to the reference at the least cost: the wider, the more; a cross marks a weak match.",
    changes: `Solid green lines are matches that ${matching.name} has and ${compared} has not, dotted red ones are lost, grey ones are the same.`,
  }[mode];
}

/** The levels as entries, best first: {kind, text}. */
function levelEntries(bounds) {
  const number = (bound) => bound.toFixed(2);
  const kinds = Object.keys(LEVEL_NAMES);
  const range = (index) =>
    index === 0
      ? `${number(bounds[0])} and more`
      : index === bounds.length
        ? `below ${number(bounds.at(-1))}`
        : `${number(bounds[index])} to ${number(bounds[index - 1])}`;
  return kinds.map((kind, index) => ({ kind, text: `${LEVEL_NAMES[kind]}: ${range(index)}` }));
}

/** The kinds of lines as entries: {kind, text}; `topk` is the number of most similar tokens with a line. */
function lineEntries(mode, topk) {
  const entries = {
    prf: [
      { kind: "precision", text: "precision: candidate word to its partner" },
      { kind: "recall", text: "recall: reference word to its partner" },
      { kind: "crossed", text: "thick, with a cross: weak match" },
    ],
    flow: [
      { kind: "flow", text: "carries weight; the wider, the more" },
      { kind: "flow crossed", text: "with a cross: weak match" },
    ],
    changes: [
      { kind: "new", text: "new" },
      { kind: "lost", text: "lost" },
      { kind: "kept", text: "the same" },
    ],
  }[mode];
  const near = topk > 1 && mode !== "changes";
  return near ? [...entries, { kind: "near", text: `among the ${topk} most similar, not matched` }] : entries;
}

/** All entries: {lines, words, about}; `about` is a sentence about the bounds of the levels. */
export function legendEntries(mode, { baseline, similarity_bounds: bounds }, topk = 1) {
  const words = [
    ...levelEntries(bounds),
    { kind: "never", text: "never chosen by the other text" },
    { kind: "unknown", text: "unknown to the model" },
    { kind: "opposite", text: "negation, antonym, yes or no of one text only" },
  ];
  const about = `Levels are thirds of the way from ${baseline.value.toFixed(2)} to 1; ${baseline.value.toFixed(2)} is ${baseline.from}.`;
  return { lines: lineEntries(mode, topk), words, about };
}

/** The legend below the picture. */
export function legendElement(mode, doc, topk) {
  const { lines, words, about } = legendEntries(mode, doc, topk);
  const line = ({ kind, text }) =>
    el("li", {}, el("span", { class: `pair-swatch ${kind}`, "aria-hidden": "true" }), text);
  const word = ({ kind, text }) =>
    el("li", {}, el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "word" }), text);
  return el(
    "section",
    { class: "pair-legend", "aria-label": "Legend" },
    el("ul", {}, ...words.map(word)),
    el("ul", {}, ...lines.map(line)),
    el("p", { class: "soft", text: about }),
  );
}
