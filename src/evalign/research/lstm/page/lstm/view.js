// The view of an LSTM document, word by word: all words with their gates and states as a table of bars, the cell at the
// word in focus as a diagram, its numbers, the sentence vector, files.

import { foldedTable, pager, scrollTable } from "../shared/controls.js";
import { checkFormat } from "../shared/document.js";
import { announce, el, onTheme, themeColour } from "../shared/dom.js";
import { countOf } from "../shared/format.js";
import { fileButtons, pictureElement } from "../shared/pictures.js";
import { cellPicture, completeState, csvRows, QUANTITIES, readingSteps, stepSentence } from "./cell.js";

const FORMAT = { "evalign.lstm": 1 };
const READING_ORDER = { forward: "first word to last", backward: "last word to first" };

/** Draw the document into `root`; options {state, onState(state), standalone}. */
export function createView(root, doc, options = {}) {
  if (checkFormat(doc, FORMAT) !== "evalign.lstm") throw new Error("Expected an LSTM document.");
  const view = new LstmView(root, doc, options);
  view.apply(options.state);
  return { state: () => view.set, apply: (state) => view.apply(state), destroy: () => view.destroy() };
}

/** Describe the section: its texts, the request that answers them, and the view of the answer. */
export function createSection() {
  return {
    title: "An LSTM, word by word",
    about: "The gates of a bidirectional LSTM: what it keeps, writes and shows of its memory at every word.",
    texts: [["text", "Text", "The film was not good, but the music was."]],
    button: "Trace the gates",
    route: "lstm",
    draw: createView,
  };
}

class LstmView {
  constructor(root, doc, options) {
    this.root = root;
    this.doc = doc;
    this.options = options;
    this.steps = new Map(doc.directions.map((direction) => [direction.name, readingSteps(doc, direction)]));
    this.set = completeState(doc, {});
    this.build();
    this.stop = onTheme(() => this.draw());
  }

  destroy() {
    this.stop();
    this.root.replaceChildren();
  }

  apply(state) {
    this.set = completeState(this.doc, state);
    this.refresh();
  }

  /** The picture of the word in focus. */
  picture(colours) {
    const steps = this.steps.get(this.set.direction);
    return cellPicture({ doc: this.doc, steps, step: steps[this.set.word], direction: this.set.direction }, colours);
  }

  build() {
    const { doc } = this;
    const shown = {
      title: "An LSTM's cell at one word",
      name: () => `evalign-lstm-${this.set.direction}-${this.set.word + 1}`,
      recipe: () => doc.signature,
      picture: (colours) => this.picture(colours),
      rows: () => csvRows(doc),
    };
    this.shown = shown;
    const head = [
      this.options.standalone ? el("h1", { text: "LSTM gates, word by word" }) : null,
      el("p", { dir: "auto", class: "lstm-text", text: doc.text }),
    ];
    const recipe = el("p", { class: "recipe pair-recipe", text: doc.signature });
    if (!doc.directions[0].words.length) {
      const why = "This text has no words: nothing is read, and its score would be the worst.";
      this.root.replaceChildren(el("div", { class: "pair" }, ...head, el("p", { text: why }), recipe));
      this.refresh = this.draw = () => {};
      return;
    }
    this.switch = this.directionSwitch();
    this.table = el("div", {
      class: "scroll",
      role: "region",
      tabindex: 0,
      "aria-label": "Gates and states of all words",
    });
    this.note = el("p", { class: "soft" });
    this.pager = pager("Words", (word) => this.go(word));
    this.cell = el("div", {
      class: "scroll lstm-cell",
      role: "region",
      tabindex: 0,
      "aria-label": "The cell at this word",
    });
    this.sentence = el("p", { class: "lstm-sentence" });
    this.numbers = foldedTable("All numbers of this word as a table", () => [this.numberTable()]);
    const length = Math.hypot(...doc.vector).toFixed(3);
    const vector =
      `The sentence vector is the ${doc.pooling === "mean" ? "mean" : "maximum"} of all hidden states of both ` +
      `directions: ${countOf(doc.vector.length, "number")}, length ${length}.`;
    this.root.replaceChildren(
      el(
        "div",
        { class: "pair lstm" },
        ...head,
        el("div", { class: "pair-head" }, this.switch.node, fileButtons(shown)),
        el("div", { class: "lstm-place" }, this.pager.node, this.sentence),
        el("div", { class: "lstm-main" }, el("div", {}, this.table, this.note), this.cell),
        this.numbers.node,
        el("p", { text: vector }),
        symbolMeanings(),
        recipe,
      ),
    );
  }

  directionSwitch() {
    const group = `lstm-direction-${Math.random().toString(36).slice(2)}`;
    const inputs = this.doc.directions.map(({ name }) =>
      el("input", {
        type: "radio",
        name: group,
        value: name,
        onchange: () => this.change({ direction: name, word: 0 }),
      }),
    );
    const choices = inputs.map((input) =>
      el("label", { class: "pair-choice" }, input, `${input.value}: ${READING_ORDER[input.value]}`),
    );
    const legend = el("legend", { text: "Direction of reading" });
    const show = (direction) => inputs.forEach((input) => (input.checked = input.value === direction));
    return { node: el("fieldset", { class: "pair-matchings" }, legend, ...choices), show };
  }

  change(part) {
    this.set = completeState(this.doc, { ...this.set, ...part });
    this.refresh();
    this.options.onState?.(this.set);
    announce(this.sentence.textContent);
  }

  /** Show another word; if the focus is in the table, it moves to that word. */
  go(word) {
    const along = this.table.contains(document.activeElement) && document.activeElement !== this.table;
    this.change({ word });
    if (along) this.table.querySelector("[aria-pressed=true]").focus();
  }

  refresh() {
    const steps = this.steps.get(this.set.direction);
    this.switch.show(this.set.direction);
    this.table.replaceChildren(this.wordTable(steps));
    this.pager.update(this.set.word, steps.length, `word ${this.set.word + 1} of ${steps.length}`);
    this.sentence.textContent = stepSentence(steps[this.set.word], this.set.direction);
    const unknown = steps.some(({ known }) => !known) ? " * is not in the vocabulary: read by its letter groups." : "";
    this.note.textContent = `Gates by their mean, states by their length, in the order of reading.${unknown}`;
    this.numbers.refresh();
    this.draw();
  }

  draw() {
    this.cell.replaceChildren(pictureElement(this.shown, themeColour));
  }

  /** Words across, quantities down: each number with a bar. */
  wordTable(steps) {
    const longest = Math.max(
      ...steps.flatMap(({ summary }) => [summary.cell, summary.written, summary.candidate, summary.hidden]),
    );
    const head = steps.map((step) => {
      const chosen = step.index === this.set.word;
      const button = el("button", {
        type: "button",
        "aria-pressed": String(chosen),
        tabindex: chosen ? 0 : -1,
        onclick: () => this.go(step.index),
        onkeydown: (event) => this.key(event, steps.length),
      });
      button.append(el("bdi", { text: step.word }), step.known ? "" : "*");
      return el("th", { scope: "col", class: chosen ? "lstm-now" : null }, button);
    });
    const rows = QUANTITIES.map(({ key, sign, name, gate }) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, el("b", { text: `${sign} ` }), name),
        ...steps.map(({ summary, index }) => {
          const bar = el("span", { class: `lstm-bar${gate ? "" : " lstm-length"}`, "aria-hidden": "true" });
          bar.style.inlineSize = `${100 * (gate ? summary[key] : summary[key] / (longest || 1))}%`;
          return el("td", { class: index === this.set.word ? "lstm-now" : null }, summary[key].toFixed(2), bar);
        }),
      ),
    );
    return el(
      "table",
      { class: "lstm-words" },
      el("caption", { class: "out-of-sight", text: `Gates and states at every word, ${this.set.direction}` }),
      el("thead", {}, el("tr", {}, el("td", {}), ...head)),
      el("tbody", {}, ...rows),
    );
  }

  key(event, count) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const target = step ? this.set.word + step : { Home: 0, End: count - 1 }[event.key];
    if (target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.go(Math.max(0, Math.min(count - 1, target)));
  }

  numberTable() {
    const step = this.steps.get(this.set.direction)[this.set.word];
    const columns = ["number", ...QUANTITIES.map(({ sign }) => sign)];
    const rows = step.values.cell.map((_value, at) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", text: at + 1 }),
        ...QUANTITIES.map(({ key }) => el("td", { text: step.values[key][at].toFixed(4) })),
      ),
    );
    return scrollTable(`The ${countOf(rows.length, "number")} of each gate and state at ${step.word}`, columns, rows);
  }
}

/** A folded explanation of the letters in the formulas. */
function symbolMeanings() {
  const items = QUANTITIES.flatMap(({ name, formula }) => [el("dt", { text: name }), el("dd", { text: formula })]);
  const about =
    "x is the word's vector, h and c what the word before left; \u03c3 squeezes into 0 to 1, \u2218 multiplies number by " +
    "number. Each gate has weights W, U, b of its own.";
  return el(
    "details",
    { class: "pair-table" },
    el("summary", { text: "What the letters mean" }),
    el("dl", { class: "lstm-meanings" }, ...items),
    el("p", { text: about }),
  );
}
