// The matches of a pair: value, lines and marks of each unit (word or piece) under a matching, as plain values, as a
// table and as rows of a CSV file. Shares and marks follow from the matching that the reader chooses, so they are
// computed here.

import { foldedTable, scrollTable } from "../shared/controls.js";
import { makeUnits, tokenLabels, unitOfToken } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits, levelOf } from "../shared/format.js";

export const SIDES = ["candidate", "reference"];
export const MAX_NEAREST = 10; // most similar units that are listed for a unit
const TABLE_COLUMNS = ["token", "partner", "similarity", "weight", "adds", "marks"];

/** The name of the opposite side. */
export function otherSide(side) {
  return side === "candidate" ? "reference" : "candidate";
}

/**
 * The CSS class of a similarity: q3 for the best to q0; `bounds` has the least similarity of each level, best first.
 */
function levelClass(value, bounds) {
  return `q${bounds.length - levelOf(value, bounds)}`;
}

/** Units of both sides and the similarity of every two of them; the same for every matching. */
export function makeGrid(decoded, subwords) {
  const units = {};
  const unitOf = {};
  const labels = {};
  for (const side of SIDES) {
    units[side] = makeUnits(decoded[side], subwords);
    labels[side] = tokenLabels(decoded[side]);
    unitOf[side] = unitOfToken(units[side], decoded[side].pieces.length);
  }
  const columns = units.reference.length;
  const similarity = new Float64Array(units.candidate.length * columns).fill(-Infinity);
  const exact = exactMatrix(decoded);
  for (let i = 0; i < decoded.rows; i += 1) {
    const row = unitOf.candidate[i] * columns;
    for (let j = 0; j < decoded.columns; j += 1) {
      const cell = row + unitOf.reference[j];
      const value = exact[i * decoded.columns + j];
      if (value > similarity[cell]) similarity[cell] = value;
    }
  }
  const names = {};
  for (const side of SIDES) names[side] = unitNames(units[side]);
  const at = (candidate, reference) => similarity[candidate * columns + reference];
  return { units, unitOf, labels, names, similarity, at, subwords, nearest: makeNearest(units, at) };
}

/** One matching on the grid: facts per unit, lines, precision and recall before rescaling. */
export function matchingFacts(decoded, grid, matching) {
  const baseline = decoded.doc.baseline ? decoded.doc.baseline.value : -Infinity;
  const bounds = decoded.doc.similarity_bounds;
  const view = { matching, lines: matchingLines(grid, matching), byUnit: { candidate: [], reference: [] } };
  for (const line of view.lines) {
    for (const side of SIDES) (view.byUnit[side][line[side]] ??= []).push(line);
  }
  view.shares = {};
  for (const side of SIDES) {
    const weights = decoded[side].weights;
    const values = matching[`${side}_values`];
    const sum = weights.reduce((all, weight) => all + weight, 0);
    view.shares[side] = values.map((value, token) => (sum > 0 ? (weights[token] * value) / sum : 0));
    const never = new Set(matching.never_chosen[side]);
    const partners = matching[`${side}_partners`];
    const opposites = opposedWords(matching, side);
    const tokens = { weights, values, shares: view.shares[side], partners, never, opposites, baseline, bounds };
    view[side] = grid.units[side].map((unit) => unitFacts(unit, tokens));
  }
  const [precision, recall] = SIDES.map((side) => view.shares[side].reduce((all, share) => all + share, 0));
  view.raw = { precision, recall };
  view.intoF1 = intoF1(precision, recall);
  return view;
}

/** Lines of a unit, the least similar first. */
export function linesOf(view, side, index) {
  return view.byUnit[side][index] ?? [];
}

/** The matrix with the exact numbers of the selected cells; the others are packed to 16 bits. */
function exactMatrix(decoded) {
  const exact = Float64Array.from(decoded.matrix);
  for (const matching of decoded.matchings) {
    matching.cells.forEach(([i, j], index) => {
      exact[i * decoded.columns + j] = matching.cell_values[index];
    });
  }
  return exact;
}

/** Facts of a unit: its value is the weighted mean of its tokens; a match below the baseline is weak, not missing. */
function unitFacts(unit, { weights, values, shares, partners, never, opposites, baseline, bounds }) {
  const sum = (list) => unit.tokens.reduce((all, token) => all + list[token], 0);
  const weight = sum(weights);
  const carried = unit.tokens.reduce((all, token) => all + weights[token] * values[token], 0);
  const value = weight > 0 ? carried / weight : sum(values) / unit.tokens.length;
  const partnered = unit.tokens.some((token) => partners[token] >= 0);
  return {
    value,
    weight,
    share: sum(shares),
    partnered,
    quality: partnered ? levelClass(value, bounds) : "none",
    weak: !unit.special && partnered && value < baseline,
    never: !unit.special && unit.tokens.every((token) => never.has(token)),
    opposite: !unit.special && overlaps(opposites, unit.start, unit.stop),
  };
}

/** Lines between units: each token's choice, and in a transport plan every cell that carries mass. */
function matchingLines(grid, matching) {
  const { candidate, reference } = grid.unitOf;
  const lines = [];
  if (matching.masses) {
    matching.cells.forEach(([i, j], index) => {
      const similarity = matching.cell_values[index];
      const mass = matching.masses[index];
      lines.push({ kind: "flow", candidate: candidate[i], reference: reference[j], similarity, mass });
    });
    return mergedLines(lines);
  }
  matching.candidate_partners.forEach((j, i) => {
    if (j < 0) return;
    const similarity = matching.candidate_values[i];
    lines.push({ kind: "precision", candidate: candidate[i], reference: reference[j], similarity });
  });
  matching.reference_partners.forEach((i, j) => {
    if (i < 0) return;
    const similarity = matching.reference_values[j];
    lines.push({ kind: "recall", candidate: candidate[i], reference: reference[j], similarity });
  });
  return mergedLines(lines);
}

/**
 * One line per kind and pair of units: the best similarity, the sum of the masses; drawn in rising order of similarity.
 */
export function mergedLines(lines) {
  const merged = new Map();
  for (const line of lines) {
    const key = `${line.kind} ${line.candidate} ${line.reference}`;
    const existing = merged.get(key);
    if (!existing) merged.set(key, { ...line });
    else {
      existing.similarity = Math.max(existing.similarity, line.similarity);
      if (line.mass !== undefined) existing.mass += line.mass;
    }
  }
  return [...merged.values()].sort((first, second) => first.similarity - second.similarity);
}

/** Labels of units in lists: with a number if a word occurs more than once. */
function unitNames(units) {
  const counts = new Map();
  for (const { label } of units) counts.set(label, (counts.get(label) ?? 0) + 1);
  return units.map(({ label, index }) => ({ label, number: counts.get(label) > 1 ? `#${index + 1}` : "" }));
}

/** A function that returns the most similar units of a unit, sorted; computed when first needed. */
function makeNearest(units, at) {
  const cache = new Map();
  return (side, index) => {
    const key = `${side} ${index}`;
    if (!cache.has(key)) {
      const others = units[otherSide(side)].map((unit) => ({
        index: unit.index,
        similarity: side === "candidate" ? at(index, unit.index) : at(unit.index, index),
      }));
      cache.set(key, others.sort((first, second) => second.similarity - first.similarity).slice(0, MAX_NEAREST));
    }
    return cache.get(key);
  };
}

/**
 * The factor from a share of precision or recall to F1. F1 is homogeneous of degree 1, so by Euler's theorem
 * F1 = P dF/dP + R dF/dR, with dF/dP = 2 R^2 / (P + R)^2: the parts of all tokens sum to F1.
 */
function intoF1(precision, recall) {
  if (!(precision > 0 && recall > 0)) return { candidate: 0, reference: 0 };
  const square = (precision + recall) ** 2;
  return { candidate: (2 * recall ** 2) / square, reference: (2 * precision ** 2) / square };
}

/** The folded table of all matches; `matches()` returns {decoded, grid, view} when it is opened. */
export function matchTable(matches) {
  return foldedTable("All matches as a table", () => sideTables(matches()));
}

/** One row per token of both sides, exact numbers: [[names], [values], ...]. */
export function matchRows({ decoded, grid, view }) {
  const { matching } = view;
  const head = [
    "text",
    "token",
    "piece",
    "start",
    "stop",
    "surface",
    "partner",
    "partner_surface",
    "similarity",
    "weight",
    "share",
    "weak_match",
    "never_chosen",
    "special",
    "unknown",
    "matching",
    "signature",
  ];
  const rows = SIDES.flatMap((side) =>
    decoded[side].pieces.map((piece, token) => {
      const facts = tokenFacts(decoded, view, side, token);
      const far = grid.labels[otherSide(side)];
      return [
        side,
        token,
        piece,
        ...decoded[side].offsets[token],
        grid.labels[side][token],
        facts.partner < 0 ? "" : facts.partner,
        facts.partner < 0 ? "" : far[facts.partner],
        facts.value,
        decoded[side].weights[token],
        matching.masses ? "" : facts.share,
        facts.weak,
        facts.never,
        decoded[side].special[token],
        facts.unknown,
        matching.name,
        matching.signature,
      ];
    }),
  );
  return [head, ...rows];
}

function sideTables(matches) {
  return SIDES.map((side) => {
    const field = side === "candidate" ? "precision" : "recall";
    const names = TABLE_COLUMNS.map((name) => (name === "adds" ? `adds to ${field}` : name));
    const rows = matches.decoded[side].pieces.map((_piece, token) => tableRow(matches, side, token));
    const caption = `Tokens of the ${side} and their partners, ${matches.view.matching.name}`;
    return scrollTable(caption, names, rows, { text: [0, 1] });
  });
}

function tableRow({ decoded, grid, view }, side, token) {
  const facts = tokenFacts(decoded, view, side, token);
  const marks = [
    facts.weak && "weak match",
    facts.never && "never chosen",
    facts.opposite && "an opposite",
    facts.unknown && "unknown",
    decoded[side].special[token] && "special",
  ];
  const partner = facts.partner < 0 ? "none" : el("bdi", { text: grid.labels[otherSide(side)][facts.partner] });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("bdi", { text: grid.labels[side][token] })),
    el("td", { class: "name" }, partner),
    el("td", { text: fourDigits(facts.value) }),
    el("td", { text: fourDigits(decoded[side].weights[token]) }),
    el("td", { text: view.matching.masses ? "" : fourDigits(facts.share) }),
    el("td", { class: "name", text: marks.filter(Boolean).join(", ") }),
  );
}

function tokenFacts(decoded, view, side, token) {
  const { matching } = view;
  const value = matching[`${side}_values`][token];
  const partner = matching[`${side}_partners`][token];
  const special = decoded[side].special[token];
  const bound = decoded.doc.baseline ? decoded.doc.baseline.value : -Infinity;
  return {
    value,
    partner,
    share: view.shares[side][token],
    weak: !special && partner >= 0 && value < bound,
    never: !special && matching.never_chosen[side].includes(token),
    unknown: decoded[side].unknown.includes(token),
    opposite: !special && overlaps(opposedWords(view.matching, side), ...decoded[side].offsets[token]),
  };
}

/** The stretches of a text that are a negation, an antonym or an answer that the other text lacks. */
function opposedWords({ opposites = [] }, side) {
  return opposites.map((opposite) => opposite[side]).filter(Boolean);
}

function overlaps(stretches, start, stop) {
  return stretches.some(([first, end]) => start < end && first < stop);
}
