// The cell at one word as a list of shapes: the memory runs along the top, gates let in and out, as LSTMs are usually
// drawn; below it every gate and state number by number, as bars up and down. In: a step. Out: {width, height, shapes}.

import { PICTURE_MARGIN, pictureRecipe, pictureText } from "../shared/picture_text.js";
import { GATE_QUANTITIES } from "./gate_facts.js";

const CELL_WIDTH = 760;
const CELL_LINES = { memory: 120, gates: 232, inputs: 306 }; // heights
const CELL_COLUMNS = { forget: 190, input: 330, candidate: 440, output: 570 };
const CELL_STRIP = { left: 190, height: 30, gap: 8 };

/** Shapes of a step; `shown` is {doc, steps, step, direction}. */
export function cellPicture({ doc, steps, step, direction }, colours) {
  /** @type {any[]} */
  const shapes = [{ type: "rect", x: 0, y: 0, width: CELL_WIDTH, height: 0, fill: colours("--paper") }];
  const ink = (size, weight = 400, fill = "--ink") => ({ fill: colours(fill), size, weight });
  const middle = (x, y, text, style) => shapes.push({ ...pictureText(x, y, text, style), anchor: "middle" });
  const way = direction === "forward" ? "first word to last" : "last word to first";
  shapes.push(pictureText(PICTURE_MARGIN, 34, `\u201c${step.word}\u201d`, ink(18, 600)));
  shapes.push(
    pictureText(
      PICTURE_MARGIN,
      56,
      `word ${step.place + 1} of ${steps.length}, ${direction}: ${way}${step.known ? "" : "; read by its letter groups"}`,
      ink(13, 400, "--soft"),
    ),
  );
  cellDiagram(shapes, { step, before: steps[step.place - 1], middle, ink }, colours);
  let bottom = cellStrips(shapes, step, { ink }, colours);
  bottom = pictureRecipe(shapes, doc.signature, CELL_WIDTH, bottom, colours);
  shapes[0].height = bottom + PICTURE_MARGIN;
  return { width: CELL_WIDTH, height: Math.ceil(bottom + PICTURE_MARGIN), shapes };
}

function cellDiagram(shapes, { step, before, middle, ink }, colours) {
  const { memory, gates, inputs } = CELL_LINES;
  const { forget, input, candidate, output } = CELL_COLUMNS;
  const line = colours("--control");
  const strokes = (lines, stroke = line, width = 1.5) => shapes.push({ type: "strokes", lines, stroke, width });
  const two = (value) => value.toFixed(2);
  shapes.push({
    type: "rect",
    x: 110,
    y: 84,
    width: 560,
    height: 250,
    radius: 14,
    stroke: line,
    fill: colours("--panel"),
  });
  // The memory: kept along the line, written from below; its width follows its length.
  const width = (length) => 2 + Math.min(10, 4 * length);
  strokes([[40, memory, forget - 12, memory]], colours("--precision"), width(before ? before.said.cell : 0));
  strokes([[forget + 12, memory, 368, memory]], colours("--precision"), width(step.said.kept));
  strokes([[392, memory, 720, memory]], colours("--precision"), width(step.said.cell));
  // From the word and the hidden state to the gates, from the gates to where they act.
  strokes([
    [60, inputs, output, inputs],
    ...[forget, input, candidate, output].map((x) => [x, inputs, x, gates + 18]),
    [forget, gates - 18, forget, memory + 12],
    [input, gates - 18, input, 186],
    [input, 186, 368, 186],
    [candidate, gates - 18, candidate, 186],
    [candidate, 186, 392, 186],
    [380, 174, 380, memory + 12],
    [output, gates - 18, output, 208],
    [output, 208, 608, 208],
    [620, memory, 620, 150],
    [620, 178, 620, 196],
    [620, 220, 620, inputs],
    [620, inputs, 720, inputs],
  ]);
  const node = (x, y, text) => {
    shapes.push({
      type: "rect",
      x: x - 12,
      y: y - 12,
      width: 24,
      height: 24,
      radius: 12,
      fill: colours("--paper"),
      stroke: colours("--ink"),
    });
    middle(x, y + 6, text, ink(17, 600));
  };
  node(forget, memory, "\u00d7");
  node(380, memory, "+");
  node(380, 186, "\u00d7");
  node(620, 208, "\u00d7");
  const box = (x, y, text, value, level) => {
    const half = level === undefined ? 46 : 34;
    const frame = { x: x - half, y: y - 18, width: 2 * half, height: 36, radius: 6 };
    shapes.push({ type: "rect", ...frame, fill: colours("--paper"), stroke: colours("--ink") });
    if (level !== undefined)
      shapes.push({ type: "rect", x: x - 33, y: y + 12, width: 66 * level, height: 5, fill: colours("--precision") });
    middle(x, y + 2, `${text} ${value}`, ink(13, 600));
  };
  box(forget, gates, "f \u03c3", two(step.said.forget), step.said.forget);
  box(input, gates, "i \u03c3", two(step.said.input), step.said.input);
  box(candidate, gates, "g tanh", two(step.said.candidate));
  box(output, gates, "o \u03c3", two(step.said.output), step.said.output);
  shapes.push({
    type: "rect",
    x: 592,
    y: 150,
    width: 56,
    height: 28,
    radius: 6,
    fill: colours("--paper"),
    stroke: colours("--ink"),
  });
  middle(620, 169, "tanh", ink(13));
  const note = ink(12, 400, "--soft");
  middle(70, memory - 14, "c", ink(15, 600));
  middle(70, memory + 22, before ? two(before.said.cell) : "0", note);
  middle(270, memory - 14, `kept ${two(step.said.kept)}`, note);
  middle(432, 168, `written ${two(step.said.written)}`, note);
  middle(700, memory - 14, "c\u2032", ink(15, 600));
  middle(700, memory + 22, two(step.said.cell), note);
  middle(70, inputs - 10, "x and h", ink(15, 600));
  middle(700, inputs - 10, "h\u2032", ink(15, 600));
  middle(700, inputs + 20, two(step.said.hidden), note);
  middle(110 + 280, 352, "gates: their mean; states: their length", note);
}

/** A line of bars for each quantity: up for positive, down for negative numbers; returns where they end. */
function cellStrips(shapes, step, { ink }, colours) {
  const { left, height, gap } = CELL_STRIP;
  const size = step.values.cell.length;
  const wide = (CELL_WIDTH - left - PICTURE_MARGIN) / size;
  let top = 378;
  for (const { key, sign, name, gate } of GATE_QUANTITIES) {
    const values = step.values[key];
    const highest = gate ? 1 : Math.max(1, ...values.map(Math.abs));
    const zero = gate ? top + height : top + height / 2;
    const scale = (gate ? height : height / 2) / highest;
    shapes.push(pictureText(PICTURE_MARGIN, top + 14, `${sign}  ${name}`, ink(13, 600)));
    shapes.push(
      pictureText(
        PICTURE_MARGIN,
        top + 29,
        gate ? "0 to 1" : `\u00b1 ${Number(highest.toFixed(1))}`,
        ink(11, 400, "--soft"),
      ),
    );
    shapes.push({
      type: "strokes",
      lines: [[left, zero, CELL_WIDTH - PICTURE_MARGIN, zero]],
      stroke: colours("--control"),
      width: 1,
    });
    values.forEach((value, at) => {
      const long = Math.abs(value) * scale;
      const box = {
        x: left + at * wide,
        y: value < 0 ? zero : zero - long,
        width: Math.max(0.5, wide - 1),
        height: long,
      };
      shapes.push({ type: "rect", ...box, fill: colours(value < 0 ? "--recall" : "--precision") });
    });
    top += height + gap;
  }
  return top + 10;
}
