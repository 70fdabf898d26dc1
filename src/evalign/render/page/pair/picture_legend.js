// Marks of words and their legend as shapes of a saved picture, the same as pair.css draws on the page: a tint and, so
// that no colour is needed, a dotted, double or wavy underline; a frame for words that were never chosen.

import { PICTURE_MARGIN, pictureText } from "../shared/picture_text.js";
import { lineCross } from "./lines.js";

const LEGEND_ROW = 22;
const LEGEND_GAP = 18;
const LEGEND_SIZE = 12;
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

/** The mark of a level (q0 to q3, none) or of "never" on a word's box. */
export function pictureMark(shapes, kind, { x, y, width, height }, colours) {
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

/** The legend in as many rows as the width asks for; returns where it ends. */
export function pictureLegend(shapes, { legend, colours }, width, top) {
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `400 ${LEGEND_SIZE}px ${LEGEND_FONT}`;
  let [x, y] = [PICTURE_MARGIN, top];
  const put = (text, sample) => {
    const wide = LEGEND_SAMPLE.width + 6 + measure.measureText(text).width;
    if (x > PICTURE_MARGIN && x + wide > width - PICTURE_MARGIN) [x, y] = [PICTURE_MARGIN, y + LEGEND_ROW];
    sample({ x, y: y - 12, ...LEGEND_SAMPLE });
    shapes.push(legendText(x + LEGEND_SAMPLE.width + 6, y, text, colours));
    x += wide + LEGEND_GAP;
  };
  for (const { kind, text } of legend.words.filter((entry) => entry.kind !== "unknown"))
    put(text, (box) => pictureMark(shapes, kind, box, colours));
  [x, y] = [PICTURE_MARGIN, y + LEGEND_ROW];
  for (const { kind, text } of legend.lines.filter((entry) => entry.kind in LEGEND_LINES))
    put(text, (box) => legendLine(shapes, LEGEND_LINES[kind], box, colours));
  for (const line of legendWrapped(legend.about, width - 2 * PICTURE_MARGIN, measure)) {
    y += LEGEND_ROW - 4;
    shapes.push(legendText(PICTURE_MARGIN, y, line, colours));
  }
  return y + 6;
}

function legendLine(shapes, { colour, crossed, ...style }, { x, y, width, height }, colours) {
  const [from, to] = [
    { x, y: y + height / 2 },
    { x: x + width, y: y + height / 2 },
  ];
  const put = (lines, drawn) => shapes.push({ type: "strokes", lines, stroke: colours(colour), ...drawn });
  put([[from.x, from.y, to.x, to.y]], style);
  if (crossed) put(lineCross({ from, to, control: [from.x, from.y, to.x, to.y] }), { width: 2 });
}

function legendText(x, y, text, colours) {
  return pictureText(x, y, text, { fill: colours("--soft"), size: LEGEND_SIZE, font: LEGEND_FONT });
}

/** A sentence in lines that are no wider. */
function legendWrapped(text, width, measure) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (lines.at(-1) && measure.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
