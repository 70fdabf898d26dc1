// The card of the unit in focus: its partners and their similarity, what the match adds to the score, the next most
// similar units. Coloured by quality; words and numbers say the same. Also the sentence for the status region.

import { markLines } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { LEVEL_NAMES } from "./legend.js";
import { linesOf, otherSide } from "./match_facts.js";

const CARD_NEAREST = 5;

/** The card's content for a focus {side, index, other}. */
export function pairCard({ decoded, grid, view }, focus, pinned) {
  const unit = grid.units[focus.side][focus.index];
  const facts = view[focus.side][focus.index];
  const kind = unit.special ? "special token" : grid.subwords ? "piece" : "word";
  return el(
    "div",
    { class: `pair-facts ${facts.quality}` },
    el("p", { class: "pair-facts-kind" }, `${focus.side} ${kind} `, pinned ? el("b", { text: "pinned" }) : ""),
    el("h3", { dir: "auto", class: "pair-facts-name", text: unit.label }),
    cardMeter(facts),
    ...cardMarks(decoded, unit, facts),
    focus.other === null ? null : cardAsked(grid, view, focus),
    cardPartners(grid, view, focus),
    cardNumbers(decoded.doc, view, focus, facts),
    unit.tokens.length > 1 ? cardTokens({ decoded, grid, view }, focus.side, unit) : null,
    cardNearest(grid, view, focus),
  );
}

/** The card's content while no word is in focus: what the keys do. */
export function cardHint(long) {
  const keys = [
    ["point, Tab", long ? "a word: its partners and lines" : "a word: its partners"],
    ["\u2190 \u2192", "the next word"],
    ["\u2191 \u2193", "its partner"],
    ["click, Enter", "pin it"],
    ["Esc", "let go"],
  ];
  const items = keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })]);
  return el("dl", { class: "pair-hint" }, ...items);
}

/** The card in one sentence, for the status region. */
export function cardSentence(grid, view, { side, index, other }) {
  const far = otherSide(side);
  const unit = grid.units[side][index];
  const facts = view[side][index];
  const own = cardChosen(view, side, index).map((line) => grid.units[far][line[far]].label);
  let met = own.length ? `meets ${own.slice(0, 3).join(", ")}, ${fourDigits(facts.value)}` : "has no partner";
  if (other !== null) met = `and ${grid.units[far][other].label}, ${fourDigits(pairAt(grid, side, index, other))}`;
  const marks = [facts.weak && "weak match", facts.never && "never chosen", unit.unknown && "unknown token"];
  return [`${unit.label} ${met}`, ...marks.filter(Boolean)].join("; ");
}

/** What a word meets, for the label beside it: {label, value, quality}. */
export function besideWord(grid, view, { side, index, other }) {
  const far = otherSide(side);
  const facts = view[side][index];
  const [first, ...more] = cardChosen(view, side, index);
  const two = (value) => value.toFixed(2);
  if (other !== null)
    return { label: grid.units[far][other].label, value: two(pairAt(grid, side, index, other)), quality: "" };
  if (!first) return { label: "no partner", value: "", quality: "q0" };
  const others = more.length ? ` +${more.length}` : "";
  return { label: grid.units[far][first[far]].label + others, value: two(facts.value), quality: facts.quality };
}

/** The lines of a unit's own choices, best first; in a transport plan all that carry its mass. */
export function cardChosen(view, side, index) {
  const own = side === "candidate" ? "precision" : "recall";
  return linesOf(view, side, index)
    .filter((line) => line.kind === own || line.kind === "flow")
    .reverse();
}

function pairAt(grid, side, index, other) {
  return side === "candidate" ? grid.at(index, other) : grid.at(other, index);
}

function cardMeter(facts) {
  const share = Math.max(0, Math.min(1, facts.value));
  const fill = el("span", { class: "pair-meter-fill" });
  fill.style.inlineSize = `${share * 100}%`;
  const words = facts.partnered ? LEVEL_NAMES[facts.quality] : "no partner";
  return el(
    "p",
    { class: "pair-meter-row" },
    el("span", { class: "pair-meter", "aria-hidden": "true" }, fill),
    el("b", { "data-fact": "value", text: fourDigits(facts.value) }),
    ` ${words}`,
  );
}

function cardMarks(decoded, unit, facts) {
  const marks = [];
  if (facts.weak) {
    const bound = fourDigits(decoded.doc.baseline.value);
    marks.push(["weak", "Weak match", `below ${bound}, which unrelated tokens reach`]);
  }
  if (facts.never) marks.push(["never", "Never chosen", "no token of the other text picked it"]);
  if (unit.unknown) marks.push(["unknown", "Unknown token", "the model's vocabulary does not have it"]);
  return markLines(marks);
}

function cardAsked(grid, view, { side, index, other }) {
  const chosen = linesOf(view, side, index).some((line) => line[otherSide(side)] === other);
  return el(
    "p",
    { class: "pair-facts-asked" },
    "with ",
    el("bdi", { text: grid.units[otherSide(side)][other].label }),
    " ",
    el("b", { "data-fact": "asked", text: fourDigits(pairAt(grid, side, index, other)) }),
    chosen ? ", matched" : ", not matched",
  );
}

function cardName({ label, number }) {
  return el("span", {}, el("bdi", { text: label }), number ? el("span", { class: "soft", text: ` ${number}` }) : "");
}

/** The units that it chose, and those that chose it. */
function cardPartners(grid, view, { side, index }) {
  const far = otherSide(side);
  const chosen = cardChosen(view, side, index);
  const flows = Boolean(view.matching.masses);
  const choosing = flows
    ? []
    : linesOf(view, side, index)
        .filter((line) => !chosen.includes(line))
        .reverse();
  const item = (line) =>
    el(
      "li",
      {},
      cardName(grid.names[far][line[far]]),
      line.mass === undefined ? "" : el("span", { class: "soft", text: `mass ${fourDigits(line.mass)}` }),
      el("b", { "data-fact": "similarity", text: fourDigits(line.similarity) }),
    );
  const list = (fact, lines) =>
    el(
      "ul",
      { class: "pair-facts-list", "data-fact": fact },
      ...lines.slice(0, 6).map(item),
      lines.length > 6 ? el("li", { text: `and ${lines.length - 6} more` }) : null,
    );
  return el(
    "div",
    { class: "pair-facts-partners" },
    el("h4", {
      text: flows ? "Carries mass to or from" : chosen.length > 1 ? "Best partners of its pieces" : "Best partner",
    }),
    chosen.length ? list("partners", chosen) : el("p", { class: "soft", text: "none" }),
    choosing.length ? el("h4", { text: "Chosen by" }) : null,
    choosing.length ? list("choosing", choosing) : null,
  );
}

/** Weight, and what the unit adds to the scores. Parts of F1 sum to F1 over both texts. */
function cardNumbers(doc, view, { side, index }, facts) {
  const rows = [["weight", doc.weighting === "idf" ? "IDF weight" : "Weight", fourDigits(facts.weight)]];
  if (view.matching.masses) {
    const carried = linesOf(view, side, index).reduce((all, line) => all + line.mass, 0);
    rows[0] = ["mass", "Mass, of 1", fourDigits(carried)];
  } else {
    const field = side === "candidate" ? "precision" : "recall";
    const whole = view.raw[field];
    const part = whole > 0 ? ` (${((100 * facts.share) / whole).toFixed(1)} %)` : "";
    rows.push(["share", `Adds to ${field}`, fourDigits(facts.share), part]);
    rows.push(["f1", "Adds to F1", fourDigits(facts.share * view.intoF1[side])]);
  }
  const notes = cardRescaled(view) ? [el("p", { class: "soft", text: "before rescaling with the baseline" })] : [];
  return el(
    "div",
    {},
    el(
      "dl",
      { class: "pair-facts-numbers" },
      ...rows.flatMap(([fact, name, value, more]) => [
        el("dt", { text: name }),
        el("dd", {}, el("b", { "data-fact": fact, text: value }), more ?? ""),
      ]),
    ),
    ...notes,
  );
}

/** Whether the document's scores are not the plain weighted means. */
export function cardRescaled(view) {
  return ["precision", "recall"].some((field) => {
    const score = view.matching.scores[field];
    return score !== undefined && Math.abs(score - view.raw[field]) > 1e-4;
  });
}

function cardTokens({ decoded, grid, view }, side, unit) {
  const far = otherSide(side);
  const { matching } = view;
  const row = (token) => {
    const partner = matching[`${side}_partners`][token];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", { text: grid.labels[side][token] })),
      el("td", {}, partner < 0 ? "none" : el("bdi", { text: grid.labels[far][partner] })),
      el("td", { text: fourDigits(matching[`${side}_values`][token]) }),
      el("td", { text: fourDigits(decoded[side].weights[token]) }),
    );
  };
  return el(
    "table",
    { class: "pair-facts-tokens" },
    el("caption", { text: `${unit.tokens.length} pieces` }),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ...["piece", "partner", "similarity", "weight"].map((name, place) =>
          el("th", { scope: "col", class: place ? null : "name", text: name }),
        ),
      ),
    ),
    el("tbody", {}, ...unit.tokens.map(row)),
  );
}

/** The most similar units that were not chosen. */
function cardNearest(grid, view, { side, index }) {
  const far = otherSide(side);
  const chosen = new Set(cardChosen(view, side, index).map((line) => line[far]));
  const others = grid
    .nearest(side, index)
    .filter((unit) => !chosen.has(unit.index))
    .slice(0, CARD_NEAREST);
  if (!others.length) return null;
  return el(
    "div",
    {},
    el("h4", { text: "Next most similar" }),
    el(
      "ol",
      { class: "pair-facts-list", "data-fact": "nearest" },
      ...others.map((unit) =>
        el("li", {}, cardName(grid.names[far][unit.index]), el("span", { text: fourDigits(unit.similarity) })),
      ),
    ),
  );
}
