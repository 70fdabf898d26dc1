// The tab "Inside models": a form for the token probabilities of a model that generates text, and the sections that
// installed packages add. The views are those of the exported files.

import { createView as createLikelihoodView } from "../likelihood/view.js";
import { PLUGGED_SECTIONS } from "../plugged_sections.js";
import { htmlFile } from "../server/api.js";
import { labelledSelect } from "../shared/controls.js";
import { announce, download, el } from "../shared/dom.js";

const PAIR_EXAMPLE = {
  candidate: "The old bridge was closed on Monday.",
  reference: "On Monday the old bridge was shut.",
  source: "",
};
const DIRECTIONS = [
  ["f", "both ways"],
  ["reference-to-candidate", "candidate, after the reference (precision)"],
  ["candidate-to-reference", "reference, after the candidate (recall)"],
  ["source-to-candidate", "candidate, after the source (faithfulness)"],
];

/** Draw all sections; `likelihood` is {models, reason} as the server describes it. */
export function createPanel(root, { api, likelihood }) {
  const plugged = PLUGGED_SECTIONS.map((createSection) => pluggedSection(api, createSection()));
  root.replaceChildren(...plugged, likelihoodSection(api, likelihood));
}

/** Draw a section of a package: {title, about, texts: [[field of the request, label, example]], button, route, draw}. */
function pluggedSection(api, { title, about, texts, button, route, draw }) {
  const fields = texts.map(([name, label, example]) => [name, textField(`inside-${route}-${name}`, label, example)]);
  return resultSection({
    title,
    about,
    controls: fields.map(([, field]) => field.node),
    button,
    ask: (signal) =>
      api.plugged(route, Object.fromEntries(fields.map(([name, field]) => [name, field.value()])), signal),
    draw,
  });
}

function likelihoodSection(api, { models, reason }) {
  const about = "A model that generates text reads one text and predicts the other, token by token (BARTScore).";
  const title = "How likely every token is";
  if (reason) return resultSection({ title, about, controls: [el("p", { class: "inside-reason", text: reason })] });
  const texts = Object.entries(PAIR_EXAMPLE).map(([name, text]) => {
    const label = { candidate: "Candidate", reference: "Reference", source: "Source, for faithfulness" }[name];
    return { name, control: textField(`inside-${name}`, label, text) };
  });
  const model = labelledSelect("Model", () => {});
  model.fill(
    models.map((name) => [name, name]),
    models[0],
  );
  const direction = labelledSelect("What is predicted", () => {});
  direction.fill(DIRECTIONS, "f");
  return resultSection({
    title,
    about,
    controls: [
      el("div", { class: "app-texts" }, ...texts.map(({ control }) => control.node)),
      el("div", { class: "row" }, models.length > 1 ? model.node : null, direction.node),
    ],
    button: "Predict the tokens",
    ask: (signal) => {
      const entered = texts.map(({ name, control }) => [name, control.value()]).filter(([, text]) => text.trim());
      const body = { candidate: "", ...Object.fromEntries(entered), model: model.select.value };
      return api.likelihood({ ...body, direction: direction.select.value }, signal);
    },
    draw: createLikelihoodView,
  });
}

/** A heading, a form and its result; only the answer to the last request is shown. */
function resultSection({ title, about, controls, button = "", ask = null, draw = null }) {
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
      const container = el("div", {});
      view?.destroy();
      view = draw(container, doc, {});
      result.replaceChildren(container, saveButton(doc));
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

function textField(id, label, text) {
  const area = el("textarea", { id, rows: 2, dir: "auto", spellcheck: "false" });
  area.value = text;
  return { node: el("div", { class: "field" }, el("label", { for: id, text: label }), area), value: () => area.value };
}
