// The word in focus: the one with the keyboard's focus, else the pinned one, else the one under the pointer. Its card
// lists partners, similarity, contribution to the score, and the next most similar words; a sentence says the same.

import { markLines } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { LEVEL_NAMES } from "./lines.js";
import { linesOf, otherSide } from "./matches.js";
import { pinnedFocus } from "./settings.js";

const NEAREST_LISTED = 5;

/**
 * A focus {side, index, other}, where `other` is a unit of the opposite text or null. The host has grid(), facts(),
 * stage(), pinned() and setPinned(token), repaint() for the next frame, changed() when the state has changed.
 */
export class WordFocus {
  constructor(host) {
    this.host = host;
    this.clear();
  }

  clear() {
    this.hovered = this.keyed = null;
  }

  current() {
    return this.keyed ?? this.pinned() ?? this.hovered;
  }

  pinned() {
    return pinnedFocus(this.host.grid(), this.host.pinned());
  }

  /** Return whether the card shows the pinned word. */
  shownPinned() {
    return this.keyed === null && this.host.pinned() !== null;
  }

  hover(side, index, other = null) {
    this.hovered = { side, index, other };
    this.keyed = null;
    this.host.repaint();
  }

  leave() {
    this.hovered = null;
    this.host.repaint();
  }

  blur() {
    this.keyed = null;
    this.host.repaint();
  }

  key(side, index, other = null) {
    this.keyed = { side, index, other };
    this.hovered = null;
    announce(focusSentence(this.host.grid(), this.host.facts(), this.keyed));
    this.reveal(this.keyed);
    this.host.repaint();
  }

  /** Pin a word or a pair of words; a second time unpins it. */
  pin(side, index, other = null) {
    const now = this.pinned();
    const same = now && now.side === side && now.index === index && now.other === other;
    const token = (of, position) => this.host.grid().units[of][position].tokens[0];
    const more = other === null ? {} : { other: token(otherSide(side), other) };
    this.host.setPinned(same ? null : { side, token: token(side, index), ...more });
    const focus = { side, index, other };
    announce(same ? "Unpinned" : `Pinned: ${focusSentence(this.host.grid(), this.host.facts(), focus)}`);
    if (!same) this.reveal(focus);
    this.host.repaint();
    this.host.changed();
  }

  /** Unpin the pinned word, else ends the keyboard's focus. */
  escape() {
    if (this.host.pinned()) {
      this.host.setPinned(null);
      announce("Unpinned");
      this.host.changed();
    } else {
      this.keyed = null;
    }
    this.host.repaint();
  }

  goToPartner(side, index) {
    const partner = this.partnerOf({ side, index, other: null });
    if (partner !== null) this.goTo(otherSide(side), partner);
  }

  goTo(side, index) {
    this.host.stage().focusUnit(side, index);
    this.key(side, index);
  }

  /** The best partner of a unit: of those it chose, else of those that chose it, else the most similar unit. */
  partnerOf({ side, index, other }) {
    if (other !== null) return other;
    const view = this.host.facts();
    const line = chosenLines(view, side, index)[0] ?? linesOf(view, side, index).at(-1);
    return line ? line[otherSide(side)] : (this.host.grid().nearest(side, index)[0]?.index ?? null);
  }

  reveal(focus) {
    const partner = this.partnerOf(focus);
    if (partner !== null) this.host.stage().reveal(otherSide(focus.side), partner);
    this.host.stage().reveal(focus.side, focus.index);
  }
}

/** The card's content for a focus {side, index, other}. */
export function cardContent({ decoded, grid, view }, focus, pinned) {
  const unit = grid.units[focus.side][focus.index];
  const facts = view[focus.side][focus.index];
  const kind = unit.special ? "special token" : grid.subwords ? "piece" : "word";
  return el(
    "div",
    { class: `pair-facts ${facts.quality}` },
    el("p", { class: "pair-facts-kind" }, `${focus.side} ${kind} `, pinned ? el("b", { text: "pinned" }) : ""),
    el("h3", { dir: "auto", class: "pair-facts-name", text: unit.label }),
    similarityMeter(facts),
    ...unitMarks(decoded, unit, facts),
    focus.other === null ? null : askedPair(grid, view, focus),
    partnerLists(grid, view, focus),
    numberList(decoded.doc, view, focus, facts),
    unit.tokens.length > 1 ? pieceTable({ decoded, grid, view }, focus.side, unit) : null,
    nearestList(grid, view, focus),
  );
}

/** The card's content while no word is in focus: what the keys do. */
export function cardHint(long) {
  const keys = [
    ["point, Tab", long ? "a word: its partners and lines" : "a word: its partners"],
    ["\u2190 \u2192", "the next word"],
    ["\u2191 \u2193", "its partner"],
    ["click, Enter", "pin it"],
    ["Esc", "unpin"],
  ];
  const items = keys.flatMap(([key, what]) => [el("dt", { text: key }), el("dd", { text: what })]);
  return el("dl", { class: "pair-hint" }, ...items);
}

/** The card in one sentence, for the status region. */
function focusSentence(grid, view, { side, index, other }) {
  const far = otherSide(side);
  const unit = grid.units[side][index];
  const facts = view[side][index];
  const partners = chosenLines(view, side, index).map((line) => grid.units[far][line[far]].label);
  let matchText = partners.length
    ? `matched with ${partners.slice(0, 3).join(", ")}, ${fourDigits(facts.value)}`
    : "has no partner";
  if (other !== null)
    matchText = `and ${grid.units[far][other].label}, ${fourDigits(similarityOf(grid, side, index, other))}`;
  const marks = [facts.weak && "weak match", facts.never && "never chosen", unit.unknown && "unknown token"];
  return [`${unit.label} ${matchText}`, ...marks.filter(Boolean)].join("; ");
}

/** The label next to a word in focus: {label, value, quality} of its partner. */
export function labelBesideWord(grid, view, { side, index, other }) {
  const far = otherSide(side);
  const facts = view[side][index];
  const [first, ...more] = chosenLines(view, side, index);
  const two = (value) => value.toFixed(2);
  if (other !== null)
    return { label: grid.units[far][other].label, value: two(similarityOf(grid, side, index, other)), quality: "" };
  if (!first) return { label: "no partner", value: "", quality: "q0" };
  const others = more.length ? ` +${more.length}` : "";
  return { label: grid.units[far][first[far]].label + others, value: two(facts.value), quality: facts.quality };
}

/** The lines to the partners that a unit chose, best first; in a transport plan all that carry its mass. */
function chosenLines(view, side, index) {
  const field = side === "candidate" ? "precision" : "recall";
  return linesOf(view, side, index)
    .filter((line) => line.kind === field || line.kind === "flow")
    .reverse();
}

function similarityOf(grid, side, index, other) {
  return side === "candidate" ? grid.at(index, other) : grid.at(other, index);
}

function similarityMeter(facts) {
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

function unitMarks(decoded, unit, facts) {
  const marks = [];
  if (facts.weak) {
    const bound = fourDigits(decoded.doc.baseline.value);
    marks.push(["weak", "Weak match", `below ${bound}, which unrelated tokens reach`]);
  }
  if (facts.never) marks.push(["never", "Never chosen", "no token of the other text picked it"]);
  if (unit.unknown) marks.push(["unknown", "Unknown token", "the model's vocabulary does not have it"]);
  return markLines(marks);
}

function askedPair(grid, view, { side, index, other }) {
  const chosen = linesOf(view, side, index).some((line) => line[otherSide(side)] === other);
  return el(
    "p",
    { class: "pair-facts-asked" },
    "with ",
    el("bdi", { text: grid.units[otherSide(side)][other].label }),
    " ",
    el("b", { "data-fact": "asked", text: fourDigits(similarityOf(grid, side, index, other)) }),
    chosen ? ", matched" : ", not matched",
  );
}

function unitName({ label, number }) {
  return el("span", {}, el("bdi", { text: label }), number ? el("span", { class: "soft", text: ` ${number}` }) : "");
}

/** Lists of the partners that a unit chose, and of those that chose it. */
function partnerLists(grid, view, { side, index }) {
  const far = otherSide(side);
  const chosen = chosenLines(view, side, index);
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
      unitName(grid.names[far][line[far]]),
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

/** Weight and contributions to the scores. Contributions to F1 sum to F1 over both texts. */
function numberList(doc, view, { side, index }, facts) {
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
  const notes = isRescaled(view) ? [el("p", { class: "soft", text: "before rescaling with the baseline" })] : [];
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

/** Return whether the document's scores differ from the plain weighted means. */
export function isRescaled(view) {
  return ["precision", "recall"].some((field) => {
    const score = view.matching.scores[field];
    return score !== undefined && Math.abs(score - view.raw[field]) > 1e-4;
  });
}

function pieceTable({ decoded, grid, view }, side, unit) {
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
        ...["piece", "partner", "similarity", "weight"].map((name, index) =>
          el("th", { scope: "col", class: index ? null : "name", text: name }),
        ),
      ),
    ),
    el("tbody", {}, ...unit.tokens.map(row)),
  );
}

/** The most similar units that were not chosen. */
function nearestList(grid, view, { side, index }) {
  const far = otherSide(side);
  const chosen = new Set(chosenLines(view, side, index).map((line) => line[far]));
  const others = grid
    .nearest(side, index)
    .filter((unit) => !chosen.has(unit.index))
    .slice(0, NEAREST_LISTED);
  if (!others.length) return null;
  return el(
    "div",
    {},
    el("h4", { text: "Next most similar" }),
    el(
      "ol",
      { class: "pair-facts-list", "data-fact": "nearest" },
      ...others.map((unit) =>
        el("li", {}, unitName(grid.names[far][unit.index]), el("span", { text: fourDigits(unit.similarity) })),
      ),
    ),
  );
}
