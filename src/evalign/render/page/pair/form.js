// The form of one pair: texts and options go to the server, the answer to the pair view. A late answer never
// overwrites a newer one: every request ends the one before it.

import { el, announce, download } from "../shared/dom.js";
import { pairView } from "./view.js";
import { idfTable } from "../server/idf_tables.js";
import { htmlFile } from "../server/html_export.js";

const PAIR_FIELDS = ["candidate", "reference", "model", "layer"];

/** Wires the form; `hooks` has api, models, examples, onState(form, view), and corpusTexts() for IDF, if a file is open. */
export function pairForm(hooks) {
  const find = (id) => document.getElementById(id);
  const form = find("pair-form");
  const tables = new Map();
  let view = null;
  let viewState = {};
  let wanted = null; // a view that came with an address, for the next answer
  let aligned = null; // the form as it was sent
  let doc = null;
  let running = null;

  fillExamples();
  fillModels();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  for (const id of ["candidate", "reference"]) {
    find(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    });
    find(id).addEventListener("input", ownTexts);
  }
  find("model").addEventListener("change", () => {
    fillLayers();
    again();
  });
  for (const id of ["layer", "specials", "idf"]) find(id).addEventListener("change", again);
  const saving = [
    saveButton("HTML", "Save as one HTML file", () => saved("html", "text/html", () => htmlFile(doc))),
    saveButton("JSON", "Save as JSON", () => saved("json", "application/json", () => JSON.stringify(doc))),
    saveButton("Copy link", "Copy link to this view", copyLink),
  ];

  function fillExamples() {
    const groups = new Map();
    hooks.examples.forEach((example, place) => {
      if (!groups.has(example.kind)) groups.set(example.kind, el("optgroup", { label: example.kind }));
      groups.get(example.kind).append(el("option", { value: place, text: example.name }));
    });
    find("example").append(...groups.values());
    find("example").addEventListener("change", () => {
      const example = hooks.examples[find("example").value];
      find("example-about").hidden = !example;
      if (!example) return;
      find("example-about").textContent = example.about;
      apply({ candidate: example.candidate, reference: example.reference });
      run();
    });
  }

  /** What is written by hand is no example any more. */
  function ownTexts() {
    find("example").value = "";
    find("example-about").hidden = true;
  }

  function fillModels() {
    find("model").replaceChildren(...hooks.models.map((one) => el("option", { value: one.name, text: one.label })));
    fillLayers();
  }

  function fillLayers() {
    const model = hooks.models.find((one) => one.name === find("model").value);
    const numbers = Array.from({ length: (model?.layers ?? 0) + 1 }, (_, layer) => String(layer));
    find("layer").replaceChildren(
      el("option", { value: "", text: model ? `tuned (${model.default_layer})` : "tuned" }),
      ...numbers.map((layer) => el("option", { value: layer, text: layer === "0" ? "0 (before any context)" : layer })),
    );
  }

  function formState() {
    const state = Object.fromEntries(PAIR_FIELDS.map((id) => [id, find(id).value]));
    return { ...state, specials: find("specials").checked, idf: find("idf").checked };
  }

  function apply(state) {
    for (const id of PAIR_FIELDS) {
      if (typeof state[id] !== "string") continue;
      const known = find(id).tagName !== "SELECT" || [...find(id).options].some((one) => one.value === state[id]);
      if (known) find(id).value = state[id];
      if (id === "model") fillLayers();
    }
    for (const id of ["specials", "idf"]) if (typeof state[id] === "boolean") find(id).checked = state[id];
    sayIdf();
  }

  function sayIdf() {
    const texts = hooks.corpusTexts();
    find("idf-label").textContent = texts
      ? `Weigh rare words more (IDF of the ${texts.length} references opened)`
      : `Weigh rare words more (IDF of the ${hooks.examples.length} examples)`;
  }

  function spec() {
    const state = formState();
    const options = [`model=${JSON.stringify(state.model)}`];
    if (state.layer !== "") options.push(`layer=${state.layer}`);
    if (!state.specials) options.push("specials=drop");
    return `bertscore(${options.join(", ")})`;
  }

  async function table(signal) {
    if (!find("idf").checked) return null;
    const texts = hooks.corpusTexts() ?? hooks.examples.map((example) => example.reference);
    const key = `${find("model").value} ${texts.length} ${texts[0]}`;
    if (!tables.has(key)) tables.set(key, await idfTable(hooks.api, find("model").value, texts, signal));
    return tables.get(key);
  }

  function again() {
    if (doc || running) run();
  }

  async function run() {
    showError("");
    for (const id of ["candidate", "reference"]) {
      if (find(id).value.trim()) continue;
      showError(`The ${id} is empty: there is nothing to align. Write or paste a text.`);
      find(id).focus();
      return;
    }
    running?.abort();
    const current = new AbortController();
    running = current;
    announce("Aligning …");
    find("pair-result").setAttribute("aria-busy", "true");
    const sent = formState();
    try {
      const { candidate, reference } = sent;
      const body = { candidate, reference, metric: spec(), idf: await table(current.signal), matchings: "all" };
      const answer = await hooks.api.align(body, current.signal);
      if (running !== current) return;
      aligned = sent;
      show(answer);
      const scores = Object.entries(answer.scores).map(([name, value]) => `${name} ${value.toFixed(4)}`);
      announce(`Aligned: ${scores.join(", ")}`);
    } catch (error) {
      if (error.name === "AbortError" || running !== current) return;
      showError(error.message);
      announce(error.message);
    } finally {
      if (running === current) {
        running = null;
        find("pair-result").removeAttribute("aria-busy");
      }
    }
  }

  function show(answer) {
    doc = answer;
    if (view) view.update(doc);
    if (view && wanted) view.apply(wanted);
    wanted = null;
    if (!view)
      view = pairView(find("pair-result"), doc, { state: viewState, onState: (state) => remember(state), saving });
    remember(view.state());
  }

  function remember(state) {
    viewState = state;
    hooks.onState(aligned, viewState);
  }

  function showError(message) {
    find("pair-error").textContent = message;
    find("pair-error").hidden = !message;
  }

  function saveButton(text, label, onclick) {
    return el("button", { type: "button", text, "aria-label": label, onclick });
  }

  async function saved(ending, type, content) {
    try {
      download(`evalign-pair.${ending}`, new Blob([await content()], { type }));
      announce(`evalign-pair.${ending} was saved.`);
    } catch (error) {
      showError(error.message);
    }
  }

  async function copyLink() {
    if (!hooks.onState(aligned, viewState)) {
      showError("These texts are too long for a link; save the HTML file instead.");
      return;
    }
    try {
      await navigator.clipboard.writeText(location.href);
      announce("The link was copied. It holds the texts and the view.");
    } catch {
      announce("The link stands in the address bar; it holds the texts and the view.");
    }
  }

  sayIdf();
  return {
    /** Texts, options and view of an address; what is shown already is not asked for again. */
    restore(state, seen) {
      if (!state || typeof state !== "object") return undefined;
      const same = aligned && JSON.stringify(aligned) === JSON.stringify({ ...aligned, ...state });
      if (same && view) return view.apply(seen ?? {});
      ownTexts();
      apply(state);
      viewState = wanted = seen ?? {};
      return state.candidate && state.reference ? run() : undefined;
    },
    open(candidate, reference) {
      ownTexts();
      apply({ candidate, reference });
      return run();
    },
    corpusChanged() {
      tables.clear();
      sayIdf();
    },
  };
}
