// The cell of an LSTM: what gates and states did at every word, in numbers, a sentence and rows of a CSV file, and the
// cell at one word as a picture: the memory runs along the top, gates let in and out, every number is a bar below.

import { PICTURE_MARGIN, pushSignature, textShape } from "../shared/pictures.js";

/** All quantities: letter in the formulas, name, formula, and whether it is a gate; gates are summarised by their mean,
    states by their length. */
export const QUANTITIES = [
  { key: "forget", sign: "f", name: "forget gate", formula: "f = \u03c3(W x + U h + b)", gate: true },
  { key: "input", sign: "i", name: "input gate", formula: "i = \u03c3(W x + U h + b)", gate: true },
  { key: "candidate", sign: "g", name: "candidate", formula: "g = tanh(W x + U h + b)", gate: false },
  { key: "output", sign: "o", name: "output gate", formula: "o = \u03c3(W x + U h + b)", gate: true },
  { key: "kept", sign: "f\u2218c", name: "kept", formula: "f \u2218 c, c of the word before", gate: false },
  { key: "written", sign: "i\u2218g", name: "written", formula: "i \u2218 g", gate: false },
  { key: "cell", sign: "c\u2032", name: "cell state", formula: "c\u2032 = kept + written", gate: false },
  { key: "hidden", sign: "h\u2032", name: "hidden state", formula: "h\u2032 = o \u2218 tanh(c\u2032)", gate: false },
];
const PICTURE_WIDTH = 760;
const LINE_HEIGHTS = { memory: 120, gates: 232, inputs: 306 }; // pixels from the top
const GATE_COLUMNS = { forget: 190, input: 330, candidate: 440, output: 570 };
const STRIP = { left: 190, height: 30, gap: 8 };

/** The steps of one direction in the order of reading: {word, known, index, values, summary} by key of quantity. */
export function readingSteps(doc, direction) {
  let before = new Array(doc.size).fill(0);
  return direction.words.map((read, index) => {
    const values = Object.fromEntries(
      ["forget", "input", "candidate", "output", "cell", "hidden"].map((key) => [key, read[key]]),
    );
    values.kept = read.forget.map((gate, at) => gate * before[at]);
    values.written = read.input.map((gate, at) => gate * read.candidate[at]);
    before = read.cell;
    const summary = Object.fromEntries(
      QUANTITIES.map(({ key, gate }) => [key, gate ? meanOf(values[key]) : Math.hypot(...values[key])]),
    );
    return { word: read.word, known: read.known, index, values, summary };
  });
}

/** A complete state from a requested one. */
export function completeState(doc, requested) {
  const direction = doc.directions.find((one) => one.name === requested?.direction) ?? doc.directions[0];
  const last = direction.words.length - 1;
  const word = Number.isInteger(requested?.word) ? Math.max(0, Math.min(last, requested.word)) : 0;
  return { direction: direction.name, word };
}

/** A sentence about what the cell did at a step. */
export function stepSentence({ word, index, summary }, direction) {
  const percent = (value) => `${Math.round(100 * value)} %`;
  const memory = index
    ? `the forget gate keeps ${percent(summary.forget)} of the memory (length ${summary.kept.toFixed(2)})`
    : "there is no memory yet";
  return (
    `${direction === "forward" ? "Word" : "From the end, word"} ${index + 1}, \u201c${word}\u201d: ${memory}, ` +
    `the input gate writes ${percent(summary.input)} of what the word proposes (length ${summary.written.toFixed(2)}), and the ` +
    `output gate shows ${percent(summary.output)} of the new memory, whose length is ${summary.cell.toFixed(2)}.`
  );
}

/** All numbers of all words as rows of a CSV file. */
export function csvRows(doc) {
  const names = QUANTITIES.map(({ key }) => key);
  const head = ["direction", "place", "word", "known", "quantity", "mean_or_length"];
  const numbers = Array.from({ length: doc.size }, (_none, at) => `number_${at + 1}`);
  const rows = doc.directions.flatMap((direction) =>
    readingSteps(doc, direction).flatMap((step) =>
      names.map((key) => [
        direction.name,
        step.index + 1,
        step.word,
        step.known,
        key,
        step.summary[key],
        ...step.values[key],
        doc.signature,
      ]),
    ),
  );
  return [[...head, ...numbers, "signature"], ...rows];
}

function meanOf(numbers) {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** Shapes of a step; `shown` is {doc, steps, step, direction}. */
export function cellPicture({ doc, steps, step, direction }, colours) {
  /** @type {any[]} */
  const shapes = [{ type: "rect", x: 0, y: 0, width: PICTURE_WIDTH, height: 0, fill: colours("--paper") }];
  const ink = (size, weight = 400, fill = "--ink") => ({ fill: colours(fill), size, weight });
  const middle = (x, y, text, style) => shapes.push({ ...textShape(x, y, text, style), anchor: "middle" });
  const way = direction === "forward" ? "first word to last" : "last word to first";
  shapes.push(textShape(PICTURE_MARGIN, 34, `\u201c${step.word}\u201d`, ink(18, 600)));
  shapes.push(
    textShape(
      PICTURE_MARGIN,
      56,
      `word ${step.index + 1} of ${steps.length}, ${direction}: ${way}${step.known ? "" : "; read by its letter groups"}`,
      ink(13, 400, "--soft"),
    ),
  );
  pushDiagram(shapes, { step, before: steps[step.index - 1], middle, ink }, colours);
  let bottom = pushStrips(shapes, step, { ink }, colours);
  bottom = pushSignature(shapes, doc.signature, PICTURE_WIDTH, bottom, colours);
  shapes[0].height = bottom + PICTURE_MARGIN;
  return { width: PICTURE_WIDTH, height: Math.ceil(bottom + PICTURE_MARGIN), shapes };
}

function pushDiagram(shapes, { step, before, middle, ink }, colours) {
  const { memory, gates, inputs } = LINE_HEIGHTS;
  const { forget, input, candidate, output } = GATE_COLUMNS;
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
  // The memory runs along the line; what is written comes from below; the line is as wide as the memory is long.
  const width = (length) => 2 + Math.min(10, 4 * length);
  strokes([[40, memory, forget - 12, memory]], colours("--precision"), width(before ? before.summary.cell : 0));
  strokes([[forget + 12, memory, 368, memory]], colours("--precision"), width(step.summary.kept));
  strokes([[392, memory, 720, memory]], colours("--precision"), width(step.summary.cell));
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
  box(forget, gates, "f \u03c3", two(step.summary.forget), step.summary.forget);
  box(input, gates, "i \u03c3", two(step.summary.input), step.summary.input);
  box(candidate, gates, "g tanh", two(step.summary.candidate));
  box(output, gates, "o \u03c3", two(step.summary.output), step.summary.output);
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
  middle(70, memory + 22, before ? two(before.summary.cell) : "0", note);
  middle(270, memory - 14, `kept ${two(step.summary.kept)}`, note);
  middle(432, 168, `written ${two(step.summary.written)}`, note);
  middle(700, memory - 14, "c\u2032", ink(15, 600));
  middle(700, memory + 22, two(step.summary.cell), note);
  middle(70, inputs - 10, "x and h", ink(15, 600));
  middle(700, inputs - 10, "h\u2032", ink(15, 600));
  middle(700, inputs + 20, two(step.summary.hidden), note);
  middle(110 + 280, 352, "gates: their mean; states: their length", note);
}

/** Push a line of bars for each quantity: up for positive, down for negative numbers; returns the bottom edge. */
function pushStrips(shapes, step, { ink }, colours) {
  const { left, height, gap } = STRIP;
  const size = step.values.cell.length;
  const wide = (PICTURE_WIDTH - left - PICTURE_MARGIN) / size;
  let top = 378;
  for (const { key, sign, name, gate } of QUANTITIES) {
    const values = step.values[key];
    const highest = gate ? 1 : Math.max(1, ...values.map(Math.abs));
    const zero = gate ? top + height : top + height / 2;
    const scale = (gate ? height : height / 2) / highest;
    shapes.push(textShape(PICTURE_MARGIN, top + 14, `${sign}  ${name}`, ink(13, 600)));
    shapes.push(
      textShape(
        PICTURE_MARGIN,
        top + 29,
        gate ? "0 to 1" : `\u00b1 ${Number(highest.toFixed(1))}`,
        ink(11, 400, "--soft"),
      ),
    );
    shapes.push({
      type: "strokes",
      lines: [[left, zero, PICTURE_WIDTH - PICTURE_MARGIN, zero]],
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
