// The view of one pair, from an alignment document. First the texts and the lines between them; beside them scores,
// matchings and the card of the word in focus; below them legend, clauses, changes between matchings, heatmap and
// tables.

import { flagNotice } from "../shared/controls.js";
import { decodeAlignment } from "../shared/document.js";
import { announce, el, focusAgain, focusKey, onTheme } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { fileButtons, printedPicture } from "../shared/pictures.js";
import { changesBetween, changesReport, compareChoice, scoresTable } from "./changes.js";
import { clausesSection } from "./clauses.js";
import { cardContent, cardHint, labelBesideWord, WordFocus } from "./focus.js";
import { heatmapSection } from "./heatmap.js";
import { allLines, legendElement, legendEntries, litUnits, viewSentence, visibleLines } from "./lines.js";
import { makeGrid, matchingFacts, matchRows, matchTable } from "./matches.js";
import { greyColours, textsPicture } from "./picture.js";
import { completeState, lineControls, mainScore, matchingSwitch, stateDifference } from "./settings.js";
import { drawnLines, makeStage } from "./stage.js";

/**
 * Draw the document into `root`; options {state, onState(state), standalone, saving: more buttons, optionsContainer: an
 * element for the folded options, where the page has one, more: elements below the heatmap}.
 */
export function createView(root, doc, options = {}) {
  const view = new PairView(root, options);
  view.update(doc, options.state);
  return {
    update: (next) => view.update(next, view.stateFor(next)),
    state: () => view.state(),
    apply: (state) => view.apply(state),
    destroy: () => view.destroy(),
  };
}

class PairView {
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.stage = null;
    this.set = null;
    this.focus = new WordFocus({
      grid: () => this.grid(),
      facts: () => this.facts(),
      stage: () => this.stage,
      repaint: () => this.soon(),
      changed: () => this.tell(),
      pinned: () => this.set.pinned,
      setPinned: (pinned) => (this.set.pinned = pinned),
    });
    this.stopTheme = onTheme(() => this.redraw());
    root.evalignLines = () => drawnLines(this.stage);
  }

  /** Show a new document; what fits of the state stays. */
  update(doc, state = {}) {
    this.decoded = decodeAlignment(doc);
    this.doc = doc;
    this.grids = new Map();
    this.views = new Map();
    const focused = focusKey(this.root);
    this.build();
    this.apply(state);
    focusAgain(this.root, focused);
  }

  state() {
    return stateDifference(this.doc, this.set);
  }

  /** The current state for another document; a word stays pinned only if both texts have the same tokens. */
  stateFor(next) {
    const pieces = (doc) => JSON.stringify([doc.candidate.pieces, doc.reference.pieces]);
    return pieces(next) === pieces(this.doc) ? this.state() : { ...this.state(), pinned: null };
  }

  /** Show a state as `state()` gives it; what it leaves out is the default. */
  apply(state) {
    this.set = completeState(this.doc, state);
    this.newStage();
    this.refresh();
  }

  destroy() {
    this.stage?.destroy();
    this.heat.stop();
    this.printed.stop();
    this.stopTheme();
    cancelAnimationFrame(this.frame);
    delete this.root.evalignLines;
    this.root.replaceChildren();
  }

  /** Build the page around the stage, once per document. */
  build() {
    const change = (part) => this.change(part);
    const shown = {
      title: "Token matches of two texts",
      name: () => `evalign-pair-${this.set.matching}`,
      recipe: () => this.facts().matching.signature,
      picture: (colours) => this.picture(colours),
      rows: () => matchRows(this.matches()),
    };
    this.sentence = el("p", { class: "pair-sentence" });
    this.scores = el("dl", { class: "pair-scores" });
    this.recipe = el("p", { class: "recipe pair-recipe" });
    this.notice = flagNotice();
    this.switch = matchingSwitch(this.doc, change);
    this.compare = compareChoice(this.doc, change);
    this.controls = lineControls(this.lowest(), change);
    this.stageBox = el("div", { class: "pair-place" });
    this.card = el("section", { class: "pair-card", tabindex: 0, role: "region", "aria-label": "The word in focus" });
    this.legend = el("div", {});
    this.changes = el("section", { class: "pair-section" });
    this.clauses = clausesSection(this.decoded, (side, token) => this.goToToken(side, token));
    this.allScores = scoresTable(this.doc);
    this.table = matchTable(() => this.matches());
    this.heat?.stop();
    this.heat = heatmapSection(
      this.focus,
      () => ({ grid: this.grid(), view: this.facts() }),
      (open) => open !== this.set.heatmap && this.change({ heatmap: open }),
    );
    this.printed?.stop();
    this.printed = printedPicture(shown);
    const files = el("div", { class: "pair-files" }, fileButtons(shown, this.options.saving), this.recipe);
    const controls = el("div", { class: "pair-controls" }, this.compare.node, ...this.controls.nodes);
    const more = [...(this.options.more ?? []), this.allScores.node, this.table.node];
    const layout = pageLayout(this.doc, this.options, {
      notices: [this.notice.node],
      first: [this.sentence, this.stageBox, this.printed.node],
      aside: [this.scores, this.switch.node, foldedOptions(controls, this.options.optionsContainer), this.card],
      below: [this.legend, this.changes, this.clauses.node, files, this.heat.node, ...more],
    });
    this.root.replaceChildren(layout);
  }

  /** The lower end of the threshold's slider. */
  lowest() {
    const lowest = this.decoded.matrix.reduce((low, value) => Math.min(low, value), 0);
    return Math.floor(lowest * 20) / 20;
  }

  grid() {
    const key = this.set.subwords;
    if (!this.grids.has(key)) this.grids.set(key, makeGrid(this.decoded, key));
    return this.grids.get(key);
  }

  /** The values of one matching for words or pieces, whichever are shown. */
  facts(name = this.set.matching) {
    const key = `${this.set.subwords} ${name}`;
    if (!this.views.has(key)) {
      const matching = this.doc.matchings.find((solved) => solved.name === name);
      this.views.set(key, matchingFacts(this.decoded, this.grid(), matching));
    }
    return this.views.get(key);
  }

  matches() {
    return { decoded: this.decoded, grid: this.grid(), view: this.facts() };
  }

  /** The values that decide which lines are drawn. */
  shown() {
    const { set, changed } = this;
    return { set, changed, grid: this.grid(), view: this.facts(), long: this.stage.long };
  }

  /** The kind of lines that are drawn: prf, flow or changes. */
  mode() {
    return this.changed ? "changes" : this.facts().matching.masses ? "flow" : "prf";
  }

  change(part) {
    const { subwords, matching } = this.set;
    Object.assign(this.set, part);
    if (this.set.subwords !== subwords) this.newStage();
    this.refresh();
    this.tell();
    if (this.set.matching === matching) return;
    const main = mainScore(this.facts().matching.scores);
    announce(`${this.set.matching}: ${main.field} ${fourDigits(main.value)}`);
  }

  tell() {
    this.options.onState?.(this.state());
  }

  newStage() {
    const { focus } = this;
    focus.clear();
    this.stage?.destroy();
    this.stage = makeStage(this.decoded, this.grid(), {
      hover: (side, index) => focus.hover(side, index),
      leave: () => focus.leave(),
      key: (side, index) => focus.key(side, index),
      blur: () => focus.blur(),
      pin: (side, index) => focus.pin(side, index),
      partner: (side, index) => focus.goToPartner(side, index),
      escape: () => focus.escape(),
    });
    this.stageBox.replaceChildren(this.stage.node);
  }

  /** Update everything but the texts of the stage. */
  refresh() {
    const view = this.facts();
    const { scores, signature, flags, opposites, masses } = view.matching;
    this.stage.mark(view);
    this.switch.show(this.set);
    this.compare.show(this.set);
    this.controls.show(this.set, Boolean(masses));
    this.allScores.show(this.set);
    this.clauses.show(view.matching);
    this.notice.show(flags, opposites);
    this.recipe.textContent = signature;
    const score = ([field, value]) => [el("dt", { text: field }), el("dd", { text: fourDigits(value) })];
    const boxes = Object.entries(scores).map((entry) =>
      el("div", { class: `pair-score ${entry[0]}` }, ...score(entry)),
    );
    this.scores.replaceChildren(...boxes);
    this.showChanges(view);
    this.heat.node.open = this.set.heatmap;
    this.heat.draw();
    this.table.refresh();
    this.repaint();
  }

  showChanges(view) {
    this.changed = null;
    if (this.set.compare && this.set.compare !== this.set.matching) {
      const before = this.facts(this.set.compare);
      this.changed = changesBetween(this.decoded, this.grid(), before, view);
      this.changes.replaceChildren(
        ...changesReport(this.grid().labels, before, view, this.changed, (side, token) => this.goToToken(side, token)),
      );
    }
    this.changes.hidden = this.changed === null;
    this.sentence.textContent = viewSentence(this.mode(), view, this.set.compare, this.stage.long);
    this.legend.replaceChildren(legendElement(this.mode(), this.doc, this.set.topk));
  }

  goToToken(side, token) {
    this.focus.goTo(side, this.grid().unitOf[side][token]);
  }

  /** Redraw in the colours of the theme. */
  redraw() {
    this.stage.redraw();
    this.heat.draw();
  }

  soon() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.repaint());
  }

  /** Draw lines, dimming, card and heatmap frames of the current focus. */
  repaint() {
    const focus = this.focus.current();
    const lines = visibleLines(this.shown(), focus);
    const beside = focus && labelBesideWord(this.grid(), this.facts(), focus);
    this.stage.paint({ lines, focus, lit: litUnits(lines, focus), beside });
    this.stage.select(this.focus.pinned());
    this.heat.highlight(focus);
    const pinned = this.focus.shownPinned();
    this.card.replaceChildren(focus ? cardContent(this.matches(), focus, pinned) : cardHint(this.stage.long));
  }

  /** The picture for files: with a pinned word its lines, else all lines, also where the page shows none. */
  picture(colours) {
    const focus = this.focus.pinned();
    const { halves, boxes } = this.stage;
    const lines = allLines(this.shown(), focus);
    const { about, ...entries } = legendEntries(this.mode(), this.doc);
    const legend = { ...entries, about: this.doc.meaningless ?? about };
    const seen = this.doc.meaningless ? greyColours(colours) : colours;
    const [view, { units }] = [this.facts(), this.grid()];
    const bounds = this.doc.similarity_bounds;
    return textsPicture({ halves, boxes, view, units, lines, bounds, focused: focus !== null, legend, colours: seen });
  }
}

/** The view's element; `parts` has lists of elements: notices, first, aside, below. */
function pageLayout({ meaningless }, { standalone }, parts) {
  return el(
    "div",
    { class: `pair${meaningless ? " meaningless" : ""}` },
    standalone ? el("h1", { text: "Token matches" }) : null,
    meaningless ? el("p", { class: "pair-notice", role: "note", text: meaningless }) : null,
    ...parts.notices,
    el(
      "div",
      { class: "pair-main" },
      el("div", { class: "pair-first" }, ...parts.first),
      el("div", { class: "pair-aside" }, ...parts.aside),
      el("div", { class: "pair-more" }, ...parts.below),
    ),
  );
}

/** The folded options; null if the page has a container for them, which is filled instead. */
function foldedOptions(controls, container) {
  if (!container) return el("details", { class: "pair-options" }, el("summary", { text: "Options" }), controls);
  container.replaceChildren(controls);
  return null;
}
