// The view of a likelihood document: score and signature, directions, the threshold, the text that was read and the
// predicted one with a shade on every token, card, least likely tokens, table, files.

import { flagNotice, labelledSlider } from "../shared/controls.js";
import { checkFormat } from "../shared/document.js";
import { announce, el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { fileButtons } from "../shared/pictures.js";
import { focusPredicted, markPredicted, predictedEvents, predictedPane, readPane, textsPicture } from "./texts.js";
import {
  allTokensTable,
  cardContent,
  cardHint,
  completeState,
  csvRows,
  directionModel,
  leastLikely,
  legendElement,
  percentText,
  stateDifference,
  tokenSentence,
} from "./tokens.js";

const SLIDER_RANGE = { widest: -20, narrowest: -6 }; // the lower end of the slider; a token below is always unlikely

/** Draw the document into `root`; options {state, onState(state), standalone}. */
export function createView(root, doc, options = {}) {
  const view = new LikelihoodView(root, options);
  view.update(doc, options.state);
  return {
    update: (next) => view.update(next, view.state()),
    state: () => view.state(),
    apply: (state) => view.apply(state),
    destroy: () => view.destroy(),
  };
}

class LikelihoodView {
  constructor(root, options) {
    this.root = root;
    this.options = options;
  }

  update(doc, state = {}) {
    if (checkFormat(doc) !== "evalign.likelihood") throw new Error("Expected a likelihood document.");
    this.doc = doc;
    this.models = new Map(doc.directions.map((direction) => [direction.name, directionModel(doc, direction)]));
    this.build();
    this.apply(state);
  }

  state() {
    return stateDifference(this.doc, this.set);
  }

  /** Show a state as `state()` gives it; what it leaves out is the default. */
  apply(state) {
    this.set = completeState(this.doc, state);
    this.newPanes();
    this.refresh();
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.root.replaceChildren();
  }

  model() {
    return this.models.get(this.set.direction);
  }

  /** Build the page around the texts, once per document. */
  build() {
    const { doc } = this;
    const shown = {
      title: "How likely every token of a text is",
      name: () => `evalign-likelihood-${this.set.direction}`,
      recipe: () => doc.signature,
      picture: (colours) =>
        textsPicture({ doc, model: this.model(), panes: this.panes, threshold: this.set.threshold }, colours),
      rows: () => csvRows(doc),
    };
    const score = ([field, value]) => [el("dt", { text: field }), el("dd", { text: fourDigits(value) })];
    const scores = Object.entries(doc.scores).map((entry) => el("div", { class: "pair-score score" }, ...score(entry)));
    this.notice = flagNotice();
    this.switch = directionSwitch(doc, (direction) => this.change({ direction, pinned: null }));
    this.slider = this.thresholdSlider();
    this.stageBox = el("div", { class: "likely-stage" });
    this.card = el("section", { class: "pair-card", tabindex: 0, role: "region", "aria-label": "The token in focus" });
    this.list = el("section", { class: "pair-section" });
    this.table = allTokensTable(() => ({ model: this.model(), threshold: this.set.threshold }));
    const more = el("div", { class: "pair-more" }, legendElement(doc.probability_bounds), this.list, this.table.node);
    const parts = [
      this.options.standalone ? el("h1", { text: "Token probabilities" }) : null,
      el("div", { class: "pair-head" }, el("dl", { class: "pair-scores" }, ...scores), fileButtons(shown)),
      el("p", { class: "recipe pair-recipe", text: doc.signature }),
      this.notice.node,
      this.switch.node,
      el("div", { class: "pair-controls" }, this.slider.node),
      el("div", { class: "pair-main" }, el("div", { class: "pair-place" }, this.stageBox), this.card, more),
    ];
    this.root.replaceChildren(el("div", { class: "pair" }, ...parts));
  }

  thresholdSlider() {
    const least = Math.min(...this.doc.directions.flatMap((direction) => direction.log_probs));
    const { widest, narrowest } = SLIDER_RANGE;
    const min = Math.max(widest, Math.min(narrowest, Math.floor(least)));
    return labelledSlider(
      "Unlikely below",
      { min, max: 0, step: 0.1 },
      (value) => `${value.toFixed(1)} (${percentText(value)})`,
      (threshold) => this.change({ threshold }),
    );
  }

  change(part) {
    const { direction } = this.set;
    Object.assign(this.set, part);
    if (this.set.direction !== direction) this.newPanes();
    this.refresh();
    this.tell();
    if (this.set.direction === direction) return;
    announce(`${this.set.direction}: mean log-probability ${fourDigits(this.model().direction.mean)}`);
  }

  tell() {
    this.options.onState?.(this.state());
  }

  newPanes() {
    const model = this.model();
    this.hovered = this.keyed = null;
    this.panes = { read: readPane(model.direction.read), predicted: predictedPane(model) };
    predictedEvents(this.panes.predicted, model.order, {
      hover: (unit) => this.point({ hovered: unit, keyed: null }),
      leave: () => this.point({ hovered: null }),
      blur: () => this.point({ keyed: null }),
      key: (unit) => this.key(unit),
      pin: (unit) => this.pin(unit),
      escape: () => this.escape(),
    });
    this.stageBox.replaceChildren(this.panes.read.node, this.panes.predicted.node);
  }

  /** Update everything but the texts. */
  refresh() {
    const { threshold } = this.set;
    const model = this.model();
    markPredicted(this.panes.predicted, model, threshold);
    this.notice.show(model.direction.flags);
    this.switch.show(this.set.direction);
    this.slider.show(threshold);
    this.list.replaceChildren(...leastLikely(model, threshold, (unit) => this.goTo(unit)));
    this.table.refresh();
    this.repaint();
  }

  point(part) {
    Object.assign(this, part);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.repaint());
  }

  key(unit) {
    this.point({ keyed: unit, hovered: null });
    announce(this.said(unit));
  }

  goTo(unit) {
    focusPredicted(this.panes.predicted.spans, unit);
    this.key(unit);
  }

  /** Pin a token; a second time unpins it. */
  pin(unit) {
    const token = this.model().units[unit].least.token;
    const same = this.pinned() === unit;
    this.set.pinned = same ? null : token;
    announce(same ? "Unpinned" : `Pinned: ${this.said(unit)}`);
    this.point({});
    this.tell();
  }

  /** Unpin the pinned token, else ends the keyboard's focus. */
  escape() {
    if (this.set.pinned === null) return this.point({ keyed: null });
    this.set.pinned = null;
    announce("Unpinned");
    this.point({});
    return this.tell();
  }

  said(unit) {
    const model = this.model();
    return tokenSentence(model, model.units[unit], this.set.threshold);
  }

  /** The pinned unit, null if there is none. */
  pinned() {
    return this.set.pinned === null ? null : this.model().unitOf[this.set.pinned];
  }

  /** Draw card and frames of the current focus. */
  repaint() {
    const pinned = this.pinned();
    const focus = this.keyed ?? pinned ?? this.hovered;
    this.panes.predicted.spans.forEach((span, index) => {
      span.classList.toggle("main", index === focus);
      span.setAttribute("aria-selected", String(index === pinned));
    });
    this.card.classList.toggle("filled", focus !== null);
    const { threshold } = this.set;
    const model = this.model();
    const facts = { threshold, pinned: focus === pinned };
    this.card.replaceChildren(focus === null ? cardHint() : cardContent(model, model.units[focus], facts));
  }
}

/** Radio buttons of all directions, each with its mean; hidden if there is only one. */
function directionSwitch(doc, change) {
  const group = `likely-direction-${Math.random().toString(36).slice(2)}`;
  const inputs = doc.directions.map(({ name }) =>
    el("input", { type: "radio", name: group, value: name, onchange: () => change(name) }),
  );
  const choices = doc.directions.map(({ name, mean }, index) => {
    const label = [el("span", { text: name }), el("b", { text: fourDigits(mean) })];
    return el("label", { class: "pair-choice" }, inputs[index], ...label);
  });
  const legend = el("legend", { text: "Direction, with its mean log-probability" });
  const node = el("fieldset", { class: "pair-matchings", hidden: doc.directions.length < 2 }, legend, ...choices);
  return { node, show: (direction) => inputs.forEach((input) => (input.checked = input.value === direction)) };
}
