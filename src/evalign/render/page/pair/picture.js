// The pair view as a list of shapes, for files: both texts in full, marks, lines, scores, legend and signature. Marks
// are those of pair.css: a tint and, so that no colour is needed, an underline; a frame for words that were never
// chosen.

import { fourDigits } from "../shared/format.js";
import { PICTURE_MARGIN, pushSignature, pushWords, textShape } from "../shared/pictures.js";
import { crossStrokes, lineStyle, placeLines } from "./lines.js";
import { SIDES } from "./matches.js";

const HEAD_HEIGHT = 72;
const TEXT_GAP = { beside: 110, below: 96 };
const LEGEND_ROW_HEIGHT = 22;
const LEGEND_GAP = 18;
const LEGEND_FONT_SIZE = 12;
const LEGEND_FONT = "system-ui, sans-serif";
const LEGEND_SAMPLE = { width: 30, height: 16 };
const UNDERLINES = {
  q2: { offsets: [2.5], width: 1.6, dash: [1.6, 2.4] },
  q1: { offsets: [2, 4.6], width: 1.2 },
};
const LEGEND_LINES = {
  precision: { colour: "--precision", width: 1.7 },
  recall: { colour: "--recall", dash: [5, 4], width: 1.7 },
  crossed: { colour: "--precision", width: 3, crossed: true },
  flow: { colour: "--flow", width: 4 },
  "flow crossed": { colour: "--flow", width: 4, crossed: true },
  new: { colour: "--new", width: 1.7 },
  lost: { colour: "--lost", dash: [2, 4], width: 1.7 },
  kept: { colour: "--control", width: 1 },
};

/** Shapes of the view: `shown` is {halves, boxes, view, units, lines, bounds, focused, legend, colours}. */
export function textsPicture(shown) {
  const { halves, boxes, colours } = shown;
  const places = textPlaces(halves);
  /** @type {any[]} */
  const shapes = [{ type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") }];
  pushHead(shapes, shown);
  const crosses = [];
  for (const placed of placeLines(shown.lines, boxes, places)) {
    const { from, to, control } = placed;
    const { colour, dash, width, crossed } = lineStyle(placed.line, shown.bounds, shown.lines.length, shown.focused);
    shapes.push({ type: "curve", from, to, control, stroke: colours(colour), dash, width });
    if (crossed) crosses.push({ type: "strokes", lines: crossStrokes(placed), stroke: colours(colour), width: 2 });
  }
  for (const cross of crosses) shapes.push({ ...cross, stroke: colours("--paper"), width: 5 }, cross);
  for (const side of SIDES) {
    const below = places[side].y > places.candidate.y; // under its text, else lines would cross it
    const y = below ? places[side].bottom + 16 : places[side].y - 10;
    shapes.push(textShape(places[side].x, y, side, { fill: colours("--soft"), size: 13, weight: 600 }));
    pushUnits(shapes, shown, side, places[side]);
    pushWords(shapes, halves[side].text, places[side], colours);
  }
  const right = Math.max(...SIDES.map((side) => places[side].right));
  let bottom = Math.max(...SIDES.map((side) => places[side].bottom)) + 48;
  const width = Math.max(360, right + PICTURE_MARGIN);
  bottom = pushLegend(shapes, shown, width, bottom);
  bottom = pushSignature(shapes, shown.view.matching.signature, width, bottom, colours);
  const height = bottom + PICTURE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
}

/** Colours without a hue, for scores that mean nothing: panel colour for tints, grey for lines. */
export function greyColours(colours) {
  const tint = /^--q\d$/;
  const line = /^--(precision|recall|flow|never|q\d-edge)$/;
  return (name) => colours(tint.test(name) ? "--panel" : line.test(name) ? "--control" : name);
}

/** The boxes of both texts in the picture: side by side if they are so on the page. */
function textPlaces(halves) {
  const rects = Object.fromEntries(SIDES.map((side) => [side, halves[side].pane.getBoundingClientRect()]));
  const beside = rects.reference.left >= rects.candidate.right - 1;
  const frameAt = (side, x, y) => {
    const { width, height } = halves[side].text.getBoundingClientRect();
    return { x, y, left: x, top: y, right: x + width, bottom: y + height, scrolls: false };
  };
  const candidate = frameAt("candidate", PICTURE_MARGIN, HEAD_HEIGHT + 22);
  const reference = beside
    ? frameAt("reference", candidate.right + TEXT_GAP.beside, candidate.y)
    : frameAt("reference", PICTURE_MARGIN, candidate.bottom + TEXT_GAP.below);
  return { candidate, reference };
}

function pushHead(shapes, { view, colours }) {
  const scores = Object.entries(view.matching.scores)
    .map(([field, value]) => `${field} ${fourDigits(value)}`)
    .join(" \u00b7 ");
  shapes.push(
    textShape(PICTURE_MARGIN, 34, `${view.matching.name} matching`, {
      fill: colours("--ink"),
      size: 17,
      weight: 600,
    }),
    textShape(PICTURE_MARGIN, 56, scores, { fill: colours("--ink"), size: 14 }),
  );
}

/** Tints and marks of the units. */
function pushUnits(shapes, { boxes, view, units, colours }, side, origin) {
  boxes[side].forEach(({ rects }, index) => {
    const { quality, never, opposite } = view[side][index];
    const special = units[side][index].special;
    for (const [part, rect] of rects.entries()) {
      const box = {
        x: origin.x + rect.left,
        y: origin.y + rect.top,
        width: rect.right - rect.left,
        height: rect.bottom - rect.top,
      };
      if (!special) pushMark(shapes, quality, box, colours);
      if (never) pushMark(shapes, "never", box, colours);
      if (opposite && part === rects.length - 1) pushMark(shapes, "opposite", box, colours);
    }
  });
}

/** Push the mark of a level (q0 to q3, none), of "never" or of "opposite" on a word's box. */
function pushMark(shapes, kind, { x, y, width, height }, colours) {
  if (kind === "opposite") {
    const style = { fill: colours("--never"), size: 12, weight: 700, anchor: "end" };
    shapes.push(textShape(x + width, y - 2, "\u2260", style));
    return;
  }
  if (kind === "never") {
    const frame = { x: x - 1, y: y - 1, width: width + 2, height: height + 2 }; // around it, as the page has it
    shapes.push({ type: "rect", ...frame, radius: 3, stroke: colours("--never"), strokeWidth: 2 });
    return;
  }
  const fill = colours(kind === "none" ? "--panel" : `--${kind}`);
  shapes.push({ type: "rect", x, y, width, height, radius: 3, fill });
  const stroke = colours(`--${kind}-edge`);
  if (kind === "q0") shapes.push({ type: "wave", x, y: y + height - 4, width, stroke });
  if (!(kind in UNDERLINES)) return;
  const { offsets, ...style } = UNDERLINES[kind];
  const lines = offsets.map((up) => [x, y + height - up, x + width, y + height - up]);
  shapes.push({ type: "strokes", lines, stroke, ...style });
}

/** Push the legend, in as many rows as the width needs; returns its bottom edge. */
function pushLegend(shapes, { legend, colours }, width, top) {
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `400 ${LEGEND_FONT_SIZE}px ${LEGEND_FONT}`;
  let [x, y] = [PICTURE_MARGIN, top];
  const put = (text, sample) => {
    const wide = LEGEND_SAMPLE.width + 6 + measure.measureText(text).width;
    if (x > PICTURE_MARGIN && x + wide > width - PICTURE_MARGIN) [x, y] = [PICTURE_MARGIN, y + LEGEND_ROW_HEIGHT];
    sample({ x, y: y - 12, ...LEGEND_SAMPLE });
    shapes.push(legendText(x + LEGEND_SAMPLE.width + 6, y, text, colours));
    x += wide + LEGEND_GAP;
  };
  for (const { kind, text } of legend.words.filter((entry) => entry.kind !== "unknown"))
    put(text, (box) => pushMark(shapes, kind, box, colours));
  [x, y] = [PICTURE_MARGIN, y + LEGEND_ROW_HEIGHT];
  for (const { kind, text } of legend.lines.filter((entry) => entry.kind in LEGEND_LINES))
    put(text, (box) => pushSampleLine(shapes, LEGEND_LINES[kind], box, colours));
  for (const line of wrapped(legend.about, width - 2 * PICTURE_MARGIN, measure)) {
    y += LEGEND_ROW_HEIGHT - 4;
    shapes.push(legendText(PICTURE_MARGIN, y, line, colours));
  }
  return y + 6;
}

function pushSampleLine(shapes, { colour, crossed, ...style }, { x, y, width, height }, colours) {
  const [from, to] = [
    { x, y: y + height / 2 },
    { x: x + width, y: y + height / 2 },
  ];
  const put = (lines, drawn) => shapes.push({ type: "strokes", lines, stroke: colours(colour), ...drawn });
  put([[from.x, from.y, to.x, to.y]], style);
  if (crossed) put(crossStrokes({ from, to, control: [from.x, from.y, to.x, to.y] }), { width: 2 });
}

function legendText(x, y, text, colours) {
  return textShape(x, y, text, { fill: colours("--soft"), size: LEGEND_FONT_SIZE, font: LEGEND_FONT });
}

/** The lines of a sentence at a width. */
function wrapped(text, width, measure) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && measure.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
