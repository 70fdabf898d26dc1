// Units: the parts of a text that can be pointed at: the words of the original text, or the model's subword pieces.
// In: one side of an alignment document. Out: units in reading order, each with its tokens and its code points.

import { codePoints } from "./document.js";

const WORD_BLANK = /^\s$/u;
const WORD_MARKS = /^(##|▁|Ġ)|(@@|<\/w>)$/gu; // how vocabularies write the beginning or the rest of a word

/**
 * Units of a side: {index, tokens, start, stop, label, special, unknown, window}. Their stretches never overlap, so
 * that they can be laid out as running text; tokens without characters of their own join a neighbour.
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
    const [first, stop] = wordTrimmed(chars, side.offsets[token]);
    const [start] = wordTrimmed(chars, [Math.max(first, covered), stop]);
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
  if (waiting.length) wordLeftOver(side, units, waiting);
  units.forEach((unit, index) => {
    unit.index = index;
    unit.unknown = unit.tokens.some((token) => unknown.has(token));
    unit.window = side.windows.findIndex((token) => unit.tokens.includes(token)) + 2;
    if (!unit.special) unit.label = chars.slice(unit.first, unit.stop).join("");
  });
  return units;
}

/** For every token the place of its unit. */
export function unitOfToken(units, count) {
  const place = new Int32Array(count).fill(-1);
  for (const unit of units) for (const token of unit.tokens) place[token] = unit.index;
  return place;
}

/** Every token as its characters; without any, its vocabulary name less the marks that vocabularies use. */
export function tokenLabels(side) {
  const chars = codePoints(side.text);
  return side.pieces.map((piece, token) => {
    const own = side.special[token]
      ? ""
      : chars
          .slice(...side.offsets[token])
          .join("")
          .trim();
    return own || piece.replace(WORD_MARKS, "") || "␣";
  });
}

/** The code point at which the last token ends: the text after it was not read. */
export function readUpTo(side) {
  return side.offsets.reduce((most, [, stop], token) => (side.special[token] ? most : Math.max(most, stop)), 0);
}

function wordTrimmed(chars, [start, stop]) {
  let [first, last] = [start, stop];
  while (first < last && WORD_BLANK.test(chars[first])) first += 1;
  while (last > first && WORD_BLANK.test(chars[last - 1])) last -= 1;
  return [first, last];
}

/** Tokens without characters at the very end: with the last unit of the text, or alone. */
function wordLeftOver(side, units, waiting) {
  const last = units.findLast((unit) => !unit.special);
  if (last) last.tokens.push(...waiting);
  else {
    const label = waiting.map((token) => side.pieces[token]).join("");
    units.push({ tokens: waiting, start: -1, stop: -1, label, special: true, word: -1 });
  }
}
