// The predicted tokens of a likelihood document: probability, rank, share of the mean; card of the token in focus, list
// of the least likely, table of all, legend, rows of a CSV file.

import { foldedTable, markLines, scrollTable } from "../shared/controls.js";
import { makeUnits, tokenLabels, unitOfToken } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits, levelOf } from "../shared/format.js";

const CSV_COLUMNS = [
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
const MAX_LISTED = 10;

/** The state before the reader changes anything: the first direction; tokens below 1 % are unlikely. */
function defaultState(doc) {
  return { direction: doc.directions[0].name, threshold: -4.6, pinned: null };
}

/** A complete state from a requested one; what does not fit the document is replaced by the default. */
export function completeState(doc, requested) {
  const state = defaultState(doc);
  if (!requested || typeof requested !== "object") return state;
  const direction = doc.directions.find((candidate) => candidate.name === requested.direction) ?? doc.directions[0];
  state.direction = direction.name;
  if (Number.isFinite(requested.threshold)) state.threshold = Math.max(doc.lowest, Math.min(0, requested.threshold));
  if (Number.isInteger(requested.pinned) && requested.pinned >= 0 && requested.pinned < direction.log_probs.length)
    state.pinned = requested.pinned;
  return state;
}

/** The part of a state that differs from the defaults. */
export function stateDifference(doc, state) {
  const defaults = defaultState(doc);
  return Object.fromEntries(Object.entries(state).filter(([key, value]) => value !== defaults[key]));
}

/**
 * One direction: its tokens with their numbers, and its units, which can be pointed at: a token, or several
 * that share one character. `order` has the units, the least likely first, by their least likely token.
 * `empty`: a text is empty, and all values are the lowest possible.
 */
export function directionModel(doc, direction) {
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
    shade: `l${levelOf(Math.exp(values[token]), doc.probability_bounds)}`, // l0 for the likeliest to l4
    share: values[token] / values.length,
    special: side.special[token],
    unknown: unknown.has(token),
    impossible: !empty && values[token] <= doc.lowest,
  }));
  rising.forEach((token, index) => (tokens[token].rank = index + 1));
  const units = makeUnits(side, true);
  for (const unit of units) {
    unit.parts = unit.tokens.map((token) => tokens[token]);
    unit.least = unit.parts.reduce((least, part) => (part.rank < least.rank ? part : least));
  }
  const order = [...units].sort((first, second) => first.least.rank - second.least.rank).map((unit) => unit.index);
  return { direction, side, empty, tokens, units, order, rising, unitOf: unitOfToken(units, tokens.length) };
}

/** All shades with what they mean: [[CSS class, text], ...]; `bounds` has the least probability of each. */
export function shadeMeanings(bounds) {
  const texts = bounds.map((bound, index) => `${100 * bound} %${index ? "" : " and more"}`);
  return [...texts, "less"].map((text, index) => [`l${index}`, text]);
}

/** A log-probability as a percentage. */
export function percentText(value) {
  const percent = 100 * Math.exp(value);
  if (percent < 0.001) return "< 0.001 %";
  return `${percent >= 1 ? percent.toFixed(1) : Number(percent.toPrecision(2))} %`;
}

/** All tokens of all directions with exact numbers, as rows of a CSV file: [[names], [values], ...]. */
export function csvRows(doc) {
  const rows = doc.directions.flatMap((direction) => {
    const { side, tokens } = directionModel(doc, direction);
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
  return [CSV_COLUMNS, ...rows];
}

/** The card of a unit. */
export function cardContent(model, unit, { pinned, threshold }) {
  const { least } = unit;
  const kind = unit.special ? "special token" : unit.parts.length > 1 ? `${unit.parts.length} tokens` : "token";
  const fill = el("span", { class: "pair-meter-fill" });
  fill.style.inlineSize = `${100 * Math.exp(least.value)}%`;
  return el(
    "div",
    { class: `pair-facts ${least.shade}` },
    el("p", { class: "pair-facts-kind" }, `${kind}, ${model.side.of} `, pinned ? el("b", { text: "pinned" }) : ""),
    el("h3", { dir: "auto", class: "pair-facts-name", text: unit.label }),
    el(
      "p",
      { class: "pair-meter-row" },
      el("span", { class: "pair-meter", "aria-hidden": "true" }, fill),
      el("b", { "data-fact": "probability", text: percentText(least.value) }),
      "probable",
    ),
    ...warningLines(unit, threshold),
    el(
      "dl",
      { class: "pair-facts-numbers" },
      ...cardLine("log_prob", "Log-probability", fourDigits(least.value)),
      ...cardLine("rank", "Rank of unlikeliness", `${least.rank} of ${model.tokens.length}`),
      ...cardLine("place", "Place in the text", `${least.token + 1} of ${model.tokens.length}`),
      ...cardLine("share", "Adds to the mean", fourDigits(least.share)),
    ),
    unit.parts.length > 1 ? partsTable(unit) : null,
  );
}

/** The card's content while no token is in focus: what the keys do. */
export function cardHint() {
  const keys = [
    ["point, Tab", "a token: its numbers"],
    ["\u2190 \u2192", "the next token"],
    ["\u2191 \u2193", "the next by likelihood"],
    ["click, Enter", "pin it"],
    ["Esc", "unpin"],
  ];
  const items = keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })]);
  return el("dl", { class: "pair-hint" }, ...items);
}

/** The card in one sentence. */
export function tokenSentence(model, unit, threshold) {
  const { least } = unit;
  const marks = markWords(least, threshold).join(", ");
  const numbers = `log-probability ${fourDigits(least.value)}, ${percentText(least.value)}`;
  return `${unit.label}: ${numbers}, rank ${least.rank} of ${model.tokens.length}${marks ? `; ${marks}` : ""}`;
}

/** The least likely tokens as buttons that focus them. */
export function leastLikely(model, threshold, goTo) {
  const heading = el("h2", { text: "Least likely tokens" });
  if (model.empty) {
    const why = "One of the texts is empty: the model was not asked, and every token has the lowest value.";
    return [heading, el("p", { class: "soft", text: why })];
  }
  const below = model.tokens.filter((token) => token.value < threshold).length;
  const items = model.rising.slice(0, MAX_LISTED).map((token) => {
    const facts = model.tokens[token];
    const mark = facts.value < threshold ? " weak" : "";
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "likely-button", onclick: () => goTo(model.unitOf[token]) },
        el("bdi", { class: `pair-sample ${facts.shade}${mark}`, text: facts.label }),
        " ",
        el("span", { text: fourDigits(facts.value) }),
        " ",
        el("span", { class: "soft", text: percentText(facts.value) }),
      ),
    );
  });
  const many = `${below} of ${model.tokens.length} ${model.tokens.length === 1 ? "token is" : "tokens are"}`;
  return [
    heading,
    el("p", { class: "soft", text: `${many} below ${threshold.toFixed(1)} (${percentText(threshold)})` }),
    el("ol", { class: "likely-list" }, ...items),
  ];
}

/** All tokens; `shown()` gives {model, threshold}. */
export function allTokensTable(shown) {
  return foldedTable("All tokens as a table", () => [tokenTable(shown())]);
}

/** The legend of shades and marks; `bounds` has the least probability of each shade. */
export function legendElement(bounds) {
  const item = (kind, text) =>
    el("li", {}, el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "ab" }), text);
  return el(
    "div",
    { class: "pair-legend" },
    el(
      "ul",
      { "aria-label": "Probability of a token" },
      ...shadeMeanings(bounds).map(([shade, text]) => item(shade, text)),
      item("weak", "below the slider"),
      item("unknown", "unknown to the model"),
    ),
  );
}

function tokenTable({ model, threshold }) {
  const caption = `Tokens of the ${model.side.of}, ${model.direction.name}`;
  const columns = ["token", "log-probability", "probability", "rank", "marks"];
  const row = (token) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", { text: token.label })),
      el("td", { text: fourDigits(token.value) }),
      el("td", { text: percentText(token.value) }),
      el("td", { text: token.rank }),
      el("td", { class: "name", text: markWords(token, threshold).join(", ") }),
    );
  return scrollTable(caption, columns, model.tokens.map(row), { text: [0, 4] });
}

function markWords(token, threshold) {
  const marks = [
    token.value < threshold && "unlikely",
    token.impossible && "impossible",
    token.unknown && "unknown",
    token.special && "special",
  ];
  return marks.filter(Boolean);
}

function cardLine(fact, name, value) {
  return [el("dt", { text: name }), el("dd", {}, el("b", { "data-fact": fact, text: value }))];
}

function warningLines(unit, threshold) {
  const marks = [];
  if (unit.least.value < threshold) marks.push(["weak", "Unlikely", `below ${percentText(threshold)}`]);
  if (unit.least.impossible) marks.push(["weak", "Impossible", "the lowest value there is; the model gave it less"]);
  if (unit.unknown) marks.push(["unknown", "Unknown token", "the model's vocabulary does not have it"]);
  return markLines(marks);
}

/** A table of the tokens that share these characters; the card has the numbers of the least likely. */
function partsTable(unit) {
  const row = (token) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", { text: token.label }), ` (${token.token + 1})`),
      el("td", { text: fourDigits(token.value) }),
      el("td", { text: percentText(token.value) }),
      el("td", { text: token.rank }),
    );
  const head = ["token", "log-prob.", "prob.", "rank"].map((name, index) =>
    el("th", { scope: "col", class: index ? null : "name", text: name }),
  );
  return el(
    "table",
    { class: "pair-facts-tokens" },
    el("caption", { text: `${unit.parts.length} tokens at this place; above, the least likely` }),
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...unit.parts.map(row)),
  );
}
