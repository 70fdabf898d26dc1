// The likelihood view: everything about one likelihood document. Score and recipe, directions, the threshold, the text
// that was read and the predicted one with a shade on every token, card, least likely tokens, table, files.

import { controlSlider, flagNotice } from "../shared/controls.js";
import { checkFormat } from "../shared/document.js";
import { announce, el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { fileButtons } from "../shared/picture_files.js";
import { leastLikely, likelyCard, likelyHint, likelyLegend, likelySentence, likelyTable } from "./card.js";
import { likelihoodPicture } from "./picture.js";
import { focusPredicted, markPredicted, predictedEvents, predictedPane, readPane } from "./text_panes.js";
import {
  likelihoodDifference,
  likelihoodModel,
  likelihoodRows,
  likelihoodState,
  likelyPercent,
} from "./token_facts.js";

const LIKELY_SLIDER = { widest: -20, narrowest: -6 }; // where the slider may begin; a token below is always unlikely

/** Draws the document into `root`; options {state, onState(state), standalone}. */
export function likelihoodView(root, doc, options = {}) {
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
    this.models = new Map(doc.directions.map((direction) => [direction.name, likelihoodModel(doc, direction)]));
    this.build();
    this.apply(state);
  }

  state() {
    return likelihoodDifference(this.doc, this.set);
  }

  /** Shows a state as `state()` gives it; what it leaves out is the default. */
  apply(state) {
    this.set = likelihoodState(this.doc, state);
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

  /** The page around the texts, once per document. */
  build() {
    const { doc } = this;
    const shown = {
      title: "How likely every token of a text is",
      name: () => `evalign-likelihood-${this.set.direction}`,
      recipe: () => doc.signature,
      picture: (colours) =>
        likelihoodPicture({ doc, model: this.model(), panes: this.panes, threshold: this.set.threshold }, colours),
      rows: () => likelihoodRows(doc),
    };
    const score = ([field, value]) => [el("dt", { text: field }), el("dd", { text: fourDigits(value) })];
    const scores = Object.entries(doc.scores).map((entry) => el("div", { class: "pair-score score" }, ...score(entry)));
    this.notice = flagNotice();
    this.switch = directionSwitch(doc, (direction) => this.change({ direction, pinned: null }));
    this.slider = this.thresholdSlider();
    this.place = el("div", { class: "likely-stage" });
    this.card = el("section", { class: "pair-card", tabindex: 0, role: "region", "aria-label": "The token in focus" });
    this.list = el("section", { class: "pair-section" });
    this.table = likelyTable(() => ({ model: this.model(), threshold: this.set.threshold }));
    const more = el("div", { class: "pair-more" }, likelyLegend(doc.probability_bounds), this.list, this.table.node);
    const parts = [
      this.options.standalone ? el("h1", { text: "Token probabilities" }) : null,
      el("div", { class: "pair-head" }, el("dl", { class: "pair-scores" }, ...scores), fileButtons(shown)),
      el("p", { class: "recipe pair-recipe", text: doc.signature }),
      this.notice.node,
      this.switch.node,
      el("div", { class: "pair-controls" }, this.slider.node),
      el("div", { class: "pair-main" }, el("div", { class: "pair-place" }, this.place), this.card, more),
    ];
    this.root.replaceChildren(el("div", { class: "pair" }, ...parts));
  }

  thresholdSlider() {
    const least = Math.min(...this.doc.directions.flatMap((direction) => direction.log_probs));
    const { widest, narrowest } = LIKELY_SLIDER;
    const min = Math.max(widest, Math.min(narrowest, Math.floor(least)));
    return controlSlider(
      "Unlikely below",
      { min, max: 0, step: 0.1 },
      (value) => `${value.toFixed(1)} (${likelyPercent(value)})`,
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
    this.place.replaceChildren(this.panes.read.node, this.panes.predicted.node);
  }

  /** Updates everything but the texts. */
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

  /** Pins a token; a second time unpins it. */
  pin(unit) {
    const token = this.model().units[unit].least.token;
    const same = this.pinned() === unit;
    this.set.pinned = same ? null : token;
    announce(same ? "Unpinned" : `Pinned: ${this.said(unit)}`);
    this.point({});
    this.tell();
  }

  /** Unpins the pinned token, else ends the keyboard's focus. */
  escape() {
    if (this.set.pinned === null) return this.point({ keyed: null });
    this.set.pinned = null;
    announce("Unpinned");
    this.point({});
    return this.tell();
  }

  said(unit) {
    const model = this.model();
    return likelySentence(model, model.units[unit], this.set.threshold);
  }

  /** The pinned unit, null if there is none. */
  pinned() {
    return this.set.pinned === null ? null : this.model().place[this.set.pinned];
  }

  /** Card and frames for the present focus. */
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
    this.card.replaceChildren(focus === null ? likelyHint() : likelyCard(model, model.units[focus], facts));
  }
}

/** Radio buttons of all directions, each with its mean; hidden if there is only one. */
function directionSwitch(doc, change) {
  const group = `likely-direction-${Math.random().toString(36).slice(2)}`;
  const inputs = doc.directions.map(({ name }) =>
    el("input", { type: "radio", name: group, value: name, onchange: () => change(name) }),
  );
  const choices = doc.directions.map(({ name, mean }, place) => {
    const said = [el("span", { text: name }), el("b", { text: fourDigits(mean) })];
    return el("label", { class: "pair-choice" }, inputs[place], ...said);
  });
  const legend = el("legend", { text: "Direction, with its mean log-probability" });
  const node = el("fieldset", { class: "pair-matchings", hidden: doc.directions.length < 2 }, legend, ...choices);
  return { node, show: (direction) => inputs.forEach((input) => (input.checked = input.value === direction)) };
}
