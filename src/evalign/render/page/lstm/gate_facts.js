// The numbers behind the LSTM view: what the gates did at every word, with what was kept and written, and their means and
// lengths. In: an LSTM document. Out: plain values; no DOM.

/** Every quantity: its letter in the formulas, its name, its formula, and what it says; gates are told by their mean,
    states by their length. */
export const GATE_QUANTITIES = [
  { key: "forget", sign: "f", name: "forget gate", formula: "f = \u03c3(W x + U h + b)", gate: true },
  { key: "input", sign: "i", name: "input gate", formula: "i = \u03c3(W x + U h + b)", gate: true },
  { key: "candidate", sign: "g", name: "candidate", formula: "g = tanh(W x + U h + b)", gate: false },
  { key: "output", sign: "o", name: "output gate", formula: "o = \u03c3(W x + U h + b)", gate: true },
  { key: "kept", sign: "f\u2218c", name: "kept", formula: "f \u2218 c, c of the word before", gate: false },
  { key: "written", sign: "i\u2218g", name: "written", formula: "i \u2218 g", gate: false },
  { key: "cell", sign: "c\u2032", name: "cell state", formula: "c\u2032 = kept + written", gate: false },
  { key: "hidden", sign: "h\u2032", name: "hidden state", formula: "h\u2032 = o \u2218 tanh(c\u2032)", gate: false },
];

/** The steps of one direction in the order of reading: {word, known, place, values, said} by key of quantity. */
export function gateSteps(doc, direction) {
  let before = new Array(doc.size).fill(0);
  return direction.words.map((read, place) => {
    const values = Object.fromEntries(
      ["forget", "input", "candidate", "output", "cell", "hidden"].map((key) => [key, read[key]]),
    );
    values.kept = read.forget.map((gate, at) => gate * before[at]);
    values.written = read.input.map((gate, at) => gate * read.candidate[at]);
    before = read.cell;
    const said = Object.fromEntries(
      GATE_QUANTITIES.map(({ key, gate }) => [key, gate ? meanOf(values[key]) : Math.hypot(...values[key])]),
    );
    return { word: read.word, known: read.known, place, values, said };
  });
}

/** A complete state from a requested one. */
export function gateState(doc, requested) {
  const direction = doc.directions.find((one) => one.name === requested?.direction) ?? doc.directions[0];
  const last = direction.words.length - 1;
  const word = Number.isInteger(requested?.word) ? Math.max(0, Math.min(last, requested.word)) : 0;
  return { direction: direction.name, word };
}

/** What a step did, in a sentence. */
export function gateSentence({ word, place, said }, direction) {
  const percent = (value) => `${Math.round(100 * value)} %`;
  const memory = place
    ? `the forget gate keeps ${percent(said.forget)} of the memory (length ${said.kept.toFixed(2)})`
    : "there is no memory yet";
  return (
    `${direction === "forward" ? "Word" : "From the end, word"} ${place + 1}, \u201c${word}\u201d: ${memory}, ` +
    `the input gate writes ${percent(said.input)} of what the word proposes (length ${said.written.toFixed(2)}), and the ` +
    `output gate shows ${percent(said.output)} of the new memory, whose length is ${said.cell.toFixed(2)}.`
  );
}

/** Every number of every word, for a CSV file. */
export function gateRows(doc) {
  const names = GATE_QUANTITIES.map(({ key }) => key);
  const head = ["direction", "place", "word", "known", "quantity", "mean_or_length"];
  const numbers = Array.from({ length: doc.size }, (_none, at) => `number_${at + 1}`);
  const rows = doc.directions.flatMap((direction) =>
    gateSteps(doc, direction).flatMap((step) =>
      names.map((key) => [
        direction.name,
        step.place + 1,
        step.word,
        step.known,
        key,
        step.said[key],
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
