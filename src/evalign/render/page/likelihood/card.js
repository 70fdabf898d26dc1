// What the likelihood view says in words and numbers: the card of the token in focus, the list of the least likely, the
// table of all, the legend. In: the model of one direction. Out: elements; every text in them is data.

import { foldedTable, markLines, scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { likelyPercent, likelyShades } from "./token_facts.js";

const LIKELY_LISTED = 10;

/** The card of a unit. */
export function likelyCard(model, unit, { pinned, threshold }) {
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
      el("b", { "data-fact": "probability", text: likelyPercent(least.value) }),
      "probable",
    ),
    ...cardWarnings(unit, threshold),
    el(
      "dl",
      { class: "pair-facts-numbers" },
      ...cardLine("log_prob", "Log-probability", fourDigits(least.value)),
      ...cardLine("rank", "Rank of unlikeliness", `${least.rank} of ${model.tokens.length}`),
      ...cardLine("place", "Place in the text", `${least.token + 1} of ${model.tokens.length}`),
      ...cardLine("share", "Adds to the mean", fourDigits(least.share)),
    ),
    unit.parts.length > 1 ? cardParts(unit) : null,
  );
}

/** The card's content while no token is in focus: what the keys do. */
export function likelyHint() {
  const keys = [
    ["point, Tab", "a token: its numbers"],
    ["\u2190 \u2192", "the next token"],
    ["\u2191 \u2193", "the next by likelihood"],
    ["click, Enter", "pin it"],
    ["Esc", "let go"],
  ];
  const items = keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })]);
  return el("dl", { class: "pair-hint" }, ...items);
}

/** The card in one sentence. */
export function likelySentence(model, unit, threshold) {
  const { least } = unit;
  const marks = likelyMarks(least, threshold).join(", ");
  const numbers = `log-probability ${fourDigits(least.value)}, ${likelyPercent(least.value)}`;
  return `${unit.label}: ${numbers}, rank ${least.rank} of ${model.tokens.length}${marks ? `; ${marks}` : ""}`;
}

/** The least likely tokens as buttons that lead to their places. */
export function leastLikely(model, threshold, goTo) {
  const heading = el("h2", { text: "Least likely tokens" });
  if (model.empty) {
    const why = "One of the texts is empty: the model was not asked, and every token has the lowest value.";
    return [heading, el("p", { class: "soft", text: why })];
  }
  const below = model.tokens.filter((token) => token.value < threshold).length;
  const items = model.rising.slice(0, LIKELY_LISTED).map((token) => {
    const facts = model.tokens[token];
    const mark = facts.value < threshold ? " weak" : "";
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "likely-button", onclick: () => goTo(model.place[token]) },
        el("bdi", { class: `pair-sample ${facts.shade}${mark}`, text: facts.label }),
        " ",
        el("span", { text: fourDigits(facts.value) }),
        " ",
        el("span", { class: "soft", text: likelyPercent(facts.value) }),
      ),
    );
  });
  const many = `${below} of ${model.tokens.length} ${model.tokens.length === 1 ? "token is" : "tokens are"}`;
  return [
    heading,
    el("p", { class: "soft", text: `${many} below ${threshold.toFixed(1)} (${likelyPercent(threshold)})` }),
    el("ol", { class: "likely-list" }, ...items),
  ];
}

/** All tokens; `shown()` gives {model, threshold}. */
export function likelyTable(shown) {
  return foldedTable("All tokens as a table", () => [tokenTable(shown())]);
}

/** What shades and marks mean; `bounds` has the least probability of each shade. */
export function likelyLegend(bounds) {
  const item = (kind, text) =>
    el("li", {}, el("span", { class: `pair-sample ${kind}`, "aria-hidden": "true", text: "ab" }), text);
  return el(
    "div",
    { class: "pair-legend" },
    el(
      "ul",
      { "aria-label": "Probability of a token" },
      ...likelyShades(bounds).map(([shade, text]) => item(shade, text)),
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
      el("td", { text: likelyPercent(token.value) }),
      el("td", { text: token.rank }),
      el("td", { class: "name", text: likelyMarks(token, threshold).join(", ") }),
    );
  return scrollTable(caption, columns, model.tokens.map(row), { text: [0, 4] });
}

function likelyMarks(token, threshold) {
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

function cardWarnings(unit, threshold) {
  const marks = [];
  if (unit.least.value < threshold) marks.push(["weak", "Unlikely", `below ${likelyPercent(threshold)}`]);
  if (unit.least.impossible) marks.push(["weak", "Impossible", "the lowest value there is; the model gave it less"]);
  if (unit.unknown) marks.push(["unknown", "Unknown token", "the model's vocabulary does not have it"]);
  return markLines(marks);
}

/** Tokens that share these characters or have none of their own; the card's numbers are those of the least likely. */
function cardParts(unit) {
  const row = (token) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", { text: token.label }), ` (${token.token + 1})`),
      el("td", { text: fourDigits(token.value) }),
      el("td", { text: likelyPercent(token.value) }),
      el("td", { text: token.rank }),
    );
  const head = ["token", "log-prob.", "prob.", "rank"].map((name, place) =>
    el("th", { scope: "col", class: place ? null : "name", text: name }),
  );
  return el(
    "table",
    { class: "pair-facts-tokens" },
    el("caption", { text: `${unit.parts.length} tokens at this place; above, the least likely` }),
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...unit.parts.map(row)),
  );
}
