// The numbers behind the likelihood view: every predicted token with its probability, its rank by unlikeliness, its
// part of the mean. In: a likelihood document. Out: plain values; no DOM.

import { classOf } from "../shared/number_text.js";
import { makeUnits, tokenLabels, unitOfToken } from "../shared/text_units.js";

const LIKELY_COLUMNS = [
  "direction",
  "token",
  "piece",
  "start",
  "stop",
  "surface",
  "log_prob",
  "probability",
  "rank",
  "special",
  "unknown",
  "impossible",
  "signature",
];

/** The state without any choice of the reader: the first direction; tokens below 1 % are unlikely. */
function likelihoodDefaults(doc) {
  return { direction: doc.directions[0].name, threshold: -4.6, pinned: null };
}

/** A complete state from a requested one; what does not fit the document is replaced by the default. */
export function likelihoodState(doc, requested) {
  const state = likelihoodDefaults(doc);
  if (!requested || typeof requested !== "object") return state;
  const direction = doc.directions.find((candidate) => candidate.name === requested.direction) ?? doc.directions[0];
  state.direction = direction.name;
  if (Number.isFinite(requested.threshold)) state.threshold = Math.max(doc.lowest, Math.min(0, requested.threshold));
  if (Number.isInteger(requested.pinned) && requested.pinned >= 0 && requested.pinned < direction.log_probs.length)
    state.pinned = requested.pinned;
  return state;
}

/** What differs from the defaults. */
export function likelihoodDifference(doc, state) {
  const defaults = likelihoodDefaults(doc);
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => value !== defaults[key]));
}

/**
 * One direction: its tokens with their numbers, and its units, which are what a reader points at: a token, or several
 * that share one character. `order` has the units from the least likely on, each judged by its least likely token.
 * `empty`: one of both texts is, and the values are no more than the lowest there is.
 */
export function likelihoodModel(doc, direction) {
  const side = { ...direction.predicted, words: [], windows: [] };
  const values = direction.log_probs;
  const places = values.map((_value, token) => token);
  const rising = [...places].sort((first, second) => values[first] - values[second] || first - second);
  const labels = tokenLabels(side);
  const unknown = new Set(side.unknown);
  const empty = Boolean(direction.flags.empty);
  const tokens = places.map((token) => ({
    token,
    label: labels[token],
    value: values[token],
    shade: `l${classOf(Math.exp(values[token]), doc.probability_bounds)}`, // l0 for the likeliest to l4
    share: values[token] / values.length,
    special: side.special[token],
    unknown: unknown.has(token),
    impossible: !empty && values[token] <= doc.lowest,
  }));
  rising.forEach((token, place) => (tokens[token].rank = place + 1));
  const units = makeUnits(side, true);
  for (const unit of units) {
    unit.parts = unit.tokens.map((token) => tokens[token]);
    unit.least = unit.parts.reduce((least, part) => (part.rank < least.rank ? part : least));
  }
  const order = [...units].sort((first, second) => first.least.rank - second.least.rank).map((unit) => unit.index);
  return { direction, side, empty, tokens, units, order, rising, place: unitOfToken(units, tokens.length) };
}

/** All shades with what they mean: [[CSS class, text], ...]; `bounds` has the least probability of each. */
export function likelyShades(bounds) {
  const texts = bounds.map((bound, place) => `${100 * bound} %${place ? "" : " and more"}`);
  return [...texts, "less"].map((text, place) => [`l${place}`, text]);
}

/** A log-probability as a percentage. */
export function likelyPercent(value) {
  const percent = 100 * Math.exp(value);
  if (percent < 0.001) return "< 0.001 %";
  return `${percent >= 1 ? percent.toFixed(1) : Number(percent.toPrecision(2))} %`;
}

/** Every token of every direction, exact numbers, for a CSV file: [[names], [values], ...]. */
export function likelihoodRows(doc) {
  const rows = doc.directions.flatMap((direction) => {
    const { side, tokens } = likelihoodModel(doc, direction);
    return tokens.map((facts) => [
      direction.name,
      facts.token,
      side.pieces[facts.token],
      ...side.offsets[facts.token],
      facts.label,
      facts.value,
      Math.exp(facts.value),
      facts.rank,
      facts.special,
      facts.unknown,
      facts.impossible,
      doc.signature,
    ]);
  });
  return [LIKELY_COLUMNS, ...rows];
}
