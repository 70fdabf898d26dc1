// Inside models: what an LSTM does at every word of a text, and how likely a model that generates text finds every token
// of a pair. In: {api, likelihood: {models, reason} as the server says it}. The views are those of the exported files.

import { likelihoodView } from "../likelihood/view.js";
import { lstmView } from "../lstm/view.js";
import { htmlFile } from "../server/html_export.js";
import { labelledSelect } from "../shared/controls.js";
import { announce, download, el } from "../shared/dom.js";

const INSIDE_LSTM = "The film was not good, but the music was.";
const INSIDE_PAIR = {
  candidate: "The old bridge was closed on Monday.",
  reference: "On Monday the old bridge was shut.",
  source: "",
};
const INSIDE_DIRECTIONS = [
  ["f", "both ways"],
  ["reference-to-candidate", "candidate, after the reference (precision)"],
  ["candidate-to-reference", "reference, after the candidate (recall)"],
  ["source-to-candidate", "candidate, after the source (faithfulness)"],
];

/** Draws both sections. */
export function insidePanel(root, { api, likelihood }) {
  root.replaceChildren(lstmSection(api), likelihoodSection(api, likelihood));
}

function lstmSection(api) {
  const text = insideText("inside-lstm", "Text", INSIDE_LSTM);
  return insideSection({
    title: "An LSTM, word by word",
    about: "The gates of a bidirectional LSTM: what it keeps, writes and shows of its memory at every word.",
    controls: [text.node],
    button: "Trace the gates",
    ask: (signal) => api.lstm({ text: text.value() }, signal),
    draw: lstmView,
  });
}

function likelihoodSection(api, { models, reason }) {
  const about = "A model that generates text reads one text and predicts the other, token by token (BARTScore).";
  const title = "How likely every token is";
  if (reason) return insideSection({ title, about, controls: [el("p", { class: "inside-reason", text: reason })] });
  const texts = Object.entries(INSIDE_PAIR).map(([name, text]) => {
    const label = { candidate: "Candidate", reference: "Reference", source: "Source, for faithfulness" }[name];
    return { name, control: insideText(`inside-${name}`, label, text) };
  });
  const model = labelledSelect("Model", () => {});
  model.fill(
    models.map((name) => [name, name]),
    models[0],
  );
  const direction = labelledSelect("What is predicted", () => {});
  direction.fill(INSIDE_DIRECTIONS, "f");
  return insideSection({
    title,
    about,
    controls: [
      el("div", { class: "app-texts" }, ...texts.map(({ control }) => control.node)),
      el("div", { class: "row" }, models.length > 1 ? model.node : null, direction.node),
    ],
    button: "Predict the tokens",
    ask: (signal) => {
      const given = texts.map(({ name, control }) => [name, control.value()]).filter(([, text]) => text.trim());
      const body = { candidate: "", ...Object.fromEntries(given), model: model.select.value };
      return api.likelihood({ ...body, direction: direction.select.value }, signal);
    },
    draw: likelihoodView,
  });
}

/** A heading, a form and its result; a later answer takes the place of an earlier one, also where it comes first. */
function insideSection({ title, about, controls, button = "", ask = null, draw = null }) {
  const error = el("p", { class: "error", role: "alert", hidden: true });
  const result = el("div", {});
  let running = null;
  let view = null;
  async function run() {
    running?.abort();
    const current = new AbortController();
    running = current;
    error.hidden = true;
    result.setAttribute("aria-busy", "true");
    announce(`${title} \u2026`);
    try {
      const doc = await ask(current.signal);
      if (running !== current) return;
      const place = el("div", {});
      view?.destroy();
      view = draw(place, doc, {});
      result.replaceChildren(place, saveButton(doc));
      announce(`${title}: the result is below.`);
    } catch (failure) {
      if (running !== current || failure.name === "AbortError") return;
      error.textContent = failure.message;
      error.hidden = false;
    } finally {
      if (running === current) result.removeAttribute("aria-busy");
    }
  }
  function saveButton(doc) {
    const save = async () => {
      const name = `${doc.format.replace(".", "-")}.html`;
      try {
        download(name, new Blob([await htmlFile(doc)], { type: "text/html" }));
        announce(`${name} was saved.`);
      } catch (failure) {
        error.textContent = failure.message;
        error.hidden = false;
      }
    };
    return el("button", { type: "button", text: "Save as one HTML file", onclick: save });
  }
  const submit = (event) => {
    event.preventDefault();
    run();
  };
  return el(
    "section",
    { class: "panel inside", "aria-label": title },
    el("h2", { text: title }),
    el("p", { class: "soft", text: about }),
    ask
      ? el("form", { onsubmit: submit }, ...controls, el("button", { type: "submit", class: "main", text: button }))
      : controls[0],
    error,
    result,
  );
}

function insideText(id, label, text) {
  const area = el("textarea", { id, rows: 2, dir: "auto", spellcheck: "false" });
  area.value = text;
  return { node: el("div", { class: "field" }, el("label", { for: id, text: label }), area), value: () => area.value };
}
