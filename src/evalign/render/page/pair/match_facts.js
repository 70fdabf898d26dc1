// The numbers behind the pair view: value, lines and marks of each unit (word or piece) under a matching.
// In: a decoded alignment and the units of both sides. Out: plain values; no DOM.

import { classOf } from "../shared/number_text.js";
import { makeUnits, tokenLabels, unitOfToken } from "../shared/text_units.js";

export const PAIR_SIDES = ["candidate", "reference"];
export const NEAREST = 10; // most similar tokens known per unit

/** The other side's name. */
export function otherSide(side) {
  return side === "candidate" ? "reference" : "candidate";
}

/** The CSS class of a similarity: q3 for the best to q0; `bounds` has the least similarity of each class, best first. */
function qualityOf(value, bounds) {
  return `q${bounds.length - classOf(value, bounds)}`;
}

/** Units of both sides and the similarity of every two of them; the same for every matching. */
export function pairGrid(decoded, subwords) {
  const units = {};
  const place = {};
  const labels = {};
  for (const side of PAIR_SIDES) {
    units[side] = makeUnits(decoded[side], subwords);
    labels[side] = tokenLabels(decoded[side]);
    place[side] = unitOfToken(units[side], decoded[side].pieces.length);
  }
  const columns = units.reference.length;
  const similarity = new Float64Array(units.candidate.length * columns).fill(-Infinity);
  const exact = exactMatrix(decoded);
  for (let i = 0; i < decoded.rows; i += 1) {
    const row = place.candidate[i] * columns;
    for (let j = 0; j < decoded.columns; j += 1) {
      const cell = row + place.reference[j];
      const value = exact[i * decoded.columns + j];
      if (value > similarity[cell]) similarity[cell] = value;
    }
  }
  const names = {};
  for (const side of PAIR_SIDES) names[side] = unitNames(units[side]);
  const at = (candidate, reference) => similarity[candidate * columns + reference];
  return { units, place, labels, names, similarity, at, subwords, nearest: makeNearest(units, at) };
}

/** One matching on the grid: facts per unit, lines, precision and recall before rescaling. */
export function pairMatching(decoded, grid, matching) {
  const baseline = decoded.doc.baseline ? decoded.doc.baseline.value : -Infinity;
  const bounds = decoded.doc.similarity_bounds;
  const view = { matching, lines: pairLines(grid, matching), byUnit: { candidate: [], reference: [] } };
  for (const line of view.lines) {
    for (const side of PAIR_SIDES) (view.byUnit[side][line[side]] ??= []).push(line);
  }
  view.shares = {};
  for (const side of PAIR_SIDES) {
    const weights = decoded[side].weights;
    const values = matching[`${side}_values`];
    const sum = weights.reduce((all, weight) => all + weight, 0);
    view.shares[side] = values.map((value, token) => (sum > 0 ? (weights[token] * value) / sum : 0));
    const never = new Set(matching.never_chosen[side]);
    const partners = matching[`${side}_partners`];
    const known = { weights, values, shares: view.shares[side], partners, never, baseline, bounds };
    view[side] = grid.units[side].map((unit) => unitFacts(unit, known));
  }
  const [precision, recall] = PAIR_SIDES.map((side) => view.shares[side].reduce((all, share) => all + share, 0));
  view.raw = { precision, recall };
  view.intoF1 = intoF1(precision, recall);
  return view;
}

/** Lines that a unit takes part in, its own choices first. */
export function linesOf(view, side, index) {
  return view.byUnit[side][index] ?? [];
}

/** The matrix with the exact numbers of the selected cells; the others are packed to 16 bits. */
function exactMatrix(decoded) {
  const exact = Float64Array.from(decoded.matrix);
  for (const matching of decoded.matchings) {
    matching.cells.forEach(([i, j], place) => {
      exact[i * decoded.columns + j] = matching.cell_values[place];
    });
  }
  return exact;
}

/** Facts of a unit: its value is the weighted mean of its tokens; a match below the baseline is weak, not missing. */
function unitFacts(unit, { weights, values, shares, partners, never, baseline, bounds }) {
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
    quality: partnered ? qualityOf(value, bounds) : "none",
    weak: !unit.special && partnered && value < baseline,
    never: !unit.special && unit.tokens.every((token) => never.has(token)),
  };
}

/** Lines between units: each token's choice, and in a transport plan every cell that carries mass. */
function pairLines(grid, matching) {
  const { candidate, reference } = grid.place;
  const lines = [];
  if (matching.masses) {
    matching.cells.forEach(([i, j], place) => {
      const similarity = matching.cell_values[place];
      const mass = matching.masses[place];
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

/** One line per kind and pair of units: the best similarity, all the mass; faint ones first, to lie below. */
export function mergedLines(lines) {
  const merged = new Map();
  for (const line of lines) {
    const key = `${line.kind} ${line.candidate} ${line.reference}`;
    const known = merged.get(key);
    if (!known) merged.set(key, { ...line });
    else {
      known.similarity = Math.max(known.similarity, line.similarity);
      if (line.mass !== undefined) known.mass += line.mass;
    }
  }
  return [...merged.values()].sort((first, second) => first.similarity - second.similarity);
}

/** Labels to tell units apart in lists: a number where a word stands more than once. */
function unitNames(units) {
  const counts = new Map();
  for (const { label } of units) counts.set(label, (counts.get(label) ?? 0) + 1);
  return units.map(({ label, index }) => ({ label, number: counts.get(label) > 1 ? `#${index + 1}` : "" }));
}

/** A function that gives the most similar units of a unit, sorted; computed when first needed. */
function makeNearest(units, at) {
  const known = new Map();
  return (side, index) => {
    const key = `${side} ${index}`;
    if (!known.has(key)) {
      const others = units[otherSide(side)].map((unit) => ({
        index: unit.index,
        similarity: side === "candidate" ? at(index, unit.index) : at(unit.index, index),
      }));
      known.set(key, others.sort((first, second) => second.similarity - first.similarity).slice(0, NEAREST));
    }
    return known.get(key);
  };
}

/**
 * What a share of precision or recall adds to F1. F1 grows in proportion with both, so by Euler's theorem
 * F1 = P dF/dP + R dF/dR, with dF/dP = 2 R^2 / (P + R)^2: the parts of all tokens sum to F1.
 */
function intoF1(precision, recall) {
  if (!(precision > 0 && recall > 0)) return { candidate: 0, reference: 0 };
  const square = (precision + recall) ** 2;
  return { candidate: (2 * recall ** 2) / square, reference: (2 * precision ** 2) / square };
}
