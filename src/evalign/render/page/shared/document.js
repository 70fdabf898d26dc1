// Reads the versioned documents that Python writes: checks format, version and completeness, unpacks the similarity
// matrix, and divides a text into units: the words or subword pieces that can be pointed at. Offsets in a document
// count code points; JavaScript's strings do not. `startView` draws the document of an exported file or of the frame in
// a notebook; Python's exporter adds its call with the view of the document's format.

import { announce, el } from "./dom.js";
import { fragmentProblem, readFragment, writeFragment } from "./url_state.js";

const VERSIONS = { "evalign.alignment": 1, "evalign.corpus": 1, "evalign.likelihood": 1 };
const UPLOADED = ["evalign.alignment", "evalign.corpus"]; // the formats that the tabs of files open
const CORPUS_LISTS = ["metrics", "systems", "results", "rows"];
const ROW_LISTS = ["scores", "flags", "errors"];
const SIDE_LISTS = ["pieces", "offsets", "special", "unknown", "words", "weights", "windows"];
const BLANK = /^\s$/u;
const PIECE_MARKS = /^(##|▁|Ġ)|(@@|<\/w>)$/gu; // marks of vocabularies for the beginning or the rest of a word

/**
 * Return the format of a document; throws an Error with a sentence if this page cannot draw it.
 * `plugged` has the formats and versions that a view of a package reads.
 */
export function checkFormat(doc, plugged = {}) {
  const versions = { ...VERSIONS, ...plugged };
  const version = doc && typeof doc === "object" ? versions[doc.format] : undefined;
  if (version === undefined) {
    const names = Object.keys(versions).join(", ");
    throw new Error(`This is no evalign document: expected one of the formats ${names}.`);
  }
  if (doc.version !== version) {
    throw new Error(`This page reads version ${version} of ${doc.format}; the document has version ${doc.version}.`);
  }
  return doc.format;
}

/** The text as an array of code points, to be sliced by a document's offsets. */
export function codePoints(text) {
  return Array.from(text);
}

/** The matrix as numbers, both sides, and the matchings of an alignment document. */
export function decodeAlignment(doc) {
  if (checkFormat(doc) !== "evalign.alignment") throw new Error("Expected an alignment document.");
  const rows = doc.candidate.pieces.length;
  const columns = doc.reference.pieces.length;
  const matrix = Array.isArray(doc.similarity)
    ? Float32Array.from(doc.similarity.flat())
    : unpackMatrix(doc.similarity);
  if (matrix.length !== rows * columns) {
    throw new Error(`The similarity matrix has ${matrix.length} cells; ${rows} x ${columns} tokens need another size.`);
  }
  return {
    doc,
    rows,
    columns,
    matrix,
    candidate: doc.candidate,
    reference: doc.reference,
    matchings: doc.matchings,
    at: (i, j) => matrix[i * columns + j],
  };
}

/** Little-endian uint16 numbers between `low` and `high`, packed in base64. */
function unpackMatrix(packed) {
  const binary = atob(packed.uint16);
  const step = (packed.high - packed.low) / 65535;
  const matrix = new Float32Array(binary.length / 2);
  for (let index = 0; index < matrix.length; index += 1) {
    const number = binary.charCodeAt(2 * index) + 256 * binary.charCodeAt(2 * index + 1);
    matrix[index] = packed.low + number * step;
  }
  return matrix;
}

/** Return whether parsed JSON claims to be an evalign document. */
export function isDocument(value) {
  return typeof value?.format === "string" && value.format.startsWith("evalign.");
}

/** The document; throws an Error with a sentence if a part that the views rely on is missing. */
export function checkedDocument(doc) {
  if (isDocument(doc) && !UPLOADED.includes(doc.format)) {
    throw new Error(`This page opens documents of ${UPLOADED.join(" and ")}, not of ${doc.format}.`);
  }
  const format = checkFormat(doc);
  const lacking = format === "evalign.corpus" ? corpusDefect(doc) : alignmentDefect(doc);
  if (lacking) throw new Error(`This ${doc.format} document is damaged: ${lacking}. Save it again where it was made.`);
  return doc;
}

function corpusDefect(doc) {
  const missing = CORPUS_LISTS.find((name) => !Array.isArray(doc[name]));
  if (missing) return `it has no list "${missing}"`;
  const metric = doc.metrics.findIndex(
    (entry) =>
      typeof entry?.metric !== "string" ||
      typeof entry.signature !== "string" ||
      !Array.isArray(entry.fields) ||
      !entry.fields.includes(entry.main) ||
      !Array.isArray(entry.bounds),
  );
  if (metric >= 0) return `metric ${metric + 1} is not described`;
  if (doc.systems.some((name) => typeof name !== "string")) return "a system has no name";
  if (doc.results.some((entry) => !(entry?.scores instanceof Object))) return "a result has no scores";
  const row = doc.rows.findIndex((entry) =>
    ROW_LISTS.some((name) => !Array.isArray(entry?.[name]) || entry[name].length !== doc.metrics.length),
  );
  return row >= 0 ? `row ${row + 1} has not ${ROW_LISTS.join(", ")} of every metric` : "";
}

function alignmentDefect(doc) {
  for (const side of ["candidate", "reference"]) {
    if (typeof doc[side]?.text !== "string") return `it has no ${side}`;
    const missing = SIDE_LISTS.find((name) => !Array.isArray(doc[side][name]));
    if (missing) return `its ${side} has no list "${missing}"`;
  }
  if (doc.similarity === null || typeof doc.similarity !== "object") return "it has no similarities";
  return doc.matchings?.[0]?.scores ? "" : "it has no matching";
}

/**
 * Units of a side: {index, tokens, start, stop, label, special, unknown, window}. Their stretches never overlap, so
 * that they can be laid out as running text; tokens without characters join a neighbour.
 */
export function makeUnits(side, subwords) {
  const chars = codePoints(side.text);
  const unknown = new Set(side.unknown);
  const units = [];
  let covered = 0;
  let waiting = []; // tokens without characters, for the unit that follows
  side.pieces.forEach((piece, token) => {
    if (side.special[token]) {
      units.push({ tokens: [token], start: -1, stop: -1, label: piece, special: true, word: -1 });
      return;
    }
    const [first, stop] = trimmed(chars, side.offsets[token]);
    const [start] = trimmed(chars, [Math.max(first, covered), stop]);
    const last = units.at(-1);
    const room = stop > start;
    const same = last && !last.special && (room ? !subwords && side.words[token] === last.word : stop > first);
    if (same) {
      last.tokens.push(token);
      last.stop = Math.max(last.stop, stop);
    } else if (room) {
      const tokens = [...waiting, token];
      units.push({ tokens, start, stop, first, special: false, word: side.words[token] });
      waiting = [];
    } else {
      waiting.push(token);
    }
    covered = Math.max(covered, stop);
  });
  if (waiting.length) placeLeftOver(side, units, waiting);
  units.forEach((unit, index) => {
    unit.index = index;
    unit.unknown = unit.tokens.some((token) => unknown.has(token));
    unit.window = side.windows.findIndex((token) => unit.tokens.includes(token)) + 2;
    if (!unit.special) unit.label = chars.slice(unit.first, unit.stop).join("");
  });
  return units;
}

/** Index of the unit of every token. */
export function unitOfToken(units, count) {
  const unitOf = new Int32Array(count).fill(-1);
  for (const unit of units) for (const token of unit.tokens) unitOf[token] = unit.index;
  return unitOf;
}

/** The characters of every token; if it has none, its name in the vocabulary without the marks for pieces. */
export function tokenLabels(side) {
  const chars = codePoints(side.text);
  return side.pieces.map((piece, token) => {
    const text = side.special[token]
      ? ""
      : chars
          .slice(...side.offsets[token])
          .join("")
          .trim();
    return text || piece.replace(PIECE_MARKS, "") || "␣";
  });
}

/** The code point at which the last token ends: the text after it was not read. */
export function readUpTo(side) {
  return side.offsets.reduce((most, [, stop], token) => (side.special[token] ? most : Math.max(most, stop)), 0);
}

function trimmed(chars, [start, stop]) {
  let [first, last] = [start, stop];
  while (first < last && BLANK.test(chars[first])) first += 1;
  while (last > first && BLANK.test(chars[last - 1])) last -= 1;
  return [first, last];
}

/** Tokens without characters at the very end: with the last unit of the text, or alone. */
function placeLeftOver(side, units, waiting) {
  const last = units.findLast((unit) => !unit.special);
  if (last) last.tokens.push(...waiting);
  else {
    const label = waiting.map((token) => side.pieces[token]).join("");
    units.push({ tokens: waiting, start: -1, stop: -1, label, special: true, word: -1 });
  }
}

/** Draw the page's own document by `draw(root, doc, options)`, with the state of the address. */
export function startView(draw) {
  const root = document.getElementById("view");
  try {
    const doc = JSON.parse(document.getElementById("evalign-document").textContent);
    root.replaceChildren();
    const options = {
      standalone: true,
      state: readFragment()?.view,
      onState: (view, step = false) => writeFragment({ view }, step),
    };
    const problem = el("p", { class: "error", role: "alert", hidden: true });
    const check = () => {
      problem.textContent = fragmentProblem();
      problem.hidden = !problem.textContent;
    };
    const view = draw(root, doc, options);
    root.prepend(problem);
    check();
    addEventListener("hashchange", () => {
      check();
      view.apply(readFragment()?.view ?? {});
    });
    reportHeight();
  } catch (error) {
    root.replaceChildren(el("p", { class: "error", role: "alert", text: error.message }));
    announce(error.message);
  }
}

/** Inside a notebook's frame: tells the notebook the height of the page. */
function reportHeight() {
  if (parent === window) return;
  const report = () => parent.postMessage({ evalignHeight: document.documentElement.offsetHeight }, "*");
  new ResizeObserver(report).observe(document.body);
  report();
}
