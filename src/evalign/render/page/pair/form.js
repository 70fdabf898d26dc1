// The form of one pair: texts and options go to the server, the answer to the pair view. A late answer never
// overwrites a newer one: every request aborts the one before it.

import { htmlFile } from "../server/html_export.js";
import { idfTable } from "../server/idf_tables.js";
import { announce, byId, download, el } from "../shared/dom.js";
import { writtenSpec } from "../shared/spec.js";
import { layersSection } from "./layers.js";
import { pairView } from "./view.js";

const PAIR_FIELDS = ["candidate", "reference", "model", "layer"];

/** Wires the form; `hooks` has api, models, examples, onState(form, view), onProblem(sentence), and corpusTexts() for IDF, if a file is open. */
export function pairForm(hooks) {
  const form = byId("pair-form");
  const tables = new Map();
  let view = null;
  let viewState = {};
  let linkedView = null; // a view that came with an address, for the next answer
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
    byId(id).addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
    });
    byId(id).addEventListener("input", ownTexts);
  }
  byId("model").addEventListener("change", () => {
    fillLayers();
    again();
  });
  for (const id of ["layer", "specials", "idf"]) byId(id).addEventListener("change", again);
  const saving = [
    saveButton("HTML", "Save as one HTML file", () => saved("html", "text/html", () => htmlFile(doc))),
    saveButton("JSON", "Save as JSON", () => saved("json", "application/json", () => JSON.stringify(doc))),
    saveButton("Copy link", "Copy link to this view", copyLink),
  ];

  const layers = layersSection({
    layers: () => [...byId("layer").options].map((option) => option.value).filter(Boolean),
    chosen: () => byId("layer").value || model()?.default_layer,
    align: async (layer, signal) => hooks.api.align(await body({ ...aligned, layer }, "own", signal), signal),
    choose: (layer) => {
      byId("layer").value = layer;
      run();
    },
  });

  function fillExamples() {
    const groups = new Map();
    hooks.examples.forEach((example, place) => {
      if (!groups.has(example.kind)) groups.set(example.kind, el("optgroup", { label: example.kind }));
      groups.get(example.kind).append(el("option", { value: place, text: example.name }));
    });
    byId("example").append(...groups.values());
    byId("example").addEventListener("change", showExample);
  }

  function showExample() {
    const example = hooks.examples[byId("example").value];
    byId("example-about").hidden = !example;
    if (!example) return;
    byId("example-about").textContent = example.about;
    apply({ candidate: example.candidate, reference: example.reference });
    run();
  }

  /** After an edit, no example is chosen any more. */
  function ownTexts() {
    byId("example").value = "";
    byId("example-about").hidden = true;
  }

  function fillModels() {
    byId("model").replaceChildren(
      ...hooks.models.map((model) => el("option", { value: model.name, text: model.label })),
    );
    fillLayers();
  }

  function model() {
    return hooks.models.find((served) => served.name === byId("model").value);
  }

  function fillLayers() {
    const numbers = Array.from({ length: (model()?.layers ?? 0) + 1 }, (_, layer) => String(layer));
    byId("layer").replaceChildren(
      el("option", { value: "", text: model() ? `tuned (${model().default_layer})` : "tuned" }),
      ...numbers.map((layer) => el("option", { value: layer, text: layer === "0" ? "0 (before any context)" : layer })),
    );
  }

  function formState() {
    /** @type {any} */
    const state = Object.fromEntries(PAIR_FIELDS.map((id) => [id, byId(id).value]));
    return { ...state, specials: byId("specials").checked, idf: byId("idf").checked };
  }

  /** Puts a state into the form; returns what this server does not have, as in "layer 12". */
  function apply(state) {
    const missing = [];
    for (const id of PAIR_FIELDS) {
      if (typeof state[id] !== "string") continue;
      const known = byId(id).tagName !== "SELECT" || [...byId(id).options].some((one) => one.value === state[id]);
      if (known) byId(id).value = state[id];
      else missing.push(`${id} ${state[id]}`);
      if (id === "model") fillLayers();
    }
    for (const id of ["specials", "idf"]) if (typeof state[id] === "boolean") byId(id).checked = state[id];
    sayIdf();
    return missing;
  }

  function sayIdf() {
    const texts = hooks.corpusTexts();
    byId("idf-label").textContent = texts
      ? `Weigh rare words more (IDF of the ${texts.length} references opened)`
      : `Weigh rare words more (IDF of the ${hooks.examples.length} examples)`;
  }

  /** The request for a pair as the form has it. */
  async function body({ candidate, reference, model: name, layer, specials }, matchings, signal) {
    const options = { model: name, ...(layer && { layer }), ...(!specials && { specials: "drop" }) };
    return { candidate, reference, metric: writtenSpec("bertscore", options), idf: await table(signal), matchings };
  }

  async function table(signal) {
    if (!byId("idf").checked) return null;
    const texts = hooks.corpusTexts() ?? hooks.examples.map((example) => example.reference);
    const key = `${byId("model").value} ${texts.length} ${texts[0]}`;
    if (!tables.has(key)) tables.set(key, await idfTable(hooks.api, byId("model").value, texts, signal));
    return tables.get(key);
  }

  function again() {
    if (doc || running) run();
  }

  async function run() {
    showError("");
    for (const id of ["candidate", "reference"]) {
      if (byId(id).value.trim()) continue;
      showError(`The ${id} is empty: there is nothing to align. Write or paste a text.`);
      byId(id).focus();
      return;
    }
    running?.abort();
    const current = new AbortController();
    running = current;
    announce("Aligning …");
    byId("pair-result").setAttribute("aria-busy", "true");
    const sent = formState();
    try {
      const answer = await hooks.api.align(await body(sent, "all", current.signal), current.signal);
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
        byId("pair-result").removeAttribute("aria-busy");
      }
    }
  }

  function show(answer) {
    doc = answer;
    if (view) view.update(doc);
    if (view && linkedView) view.apply(linkedView);
    linkedView = null;
    if (!view)
      view = pairView(byId("pair-result"), doc, {
        state: viewState,
        onState: (state) => remember(state),
        saving,
        optionsPlace: byId("view-options"),
        more: [layers.node],
      });
    layers.reset();
    remember(view.state());
  }

  function remember(state) {
    viewState = state;
    hooks.onState(aligned, viewState);
  }

  function showError(message) {
    byId("pair-error").textContent = message;
    byId("pair-error").hidden = !message;
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
    /** Shows texts, options and view of an address; asks the server only if they differ from what is shown. */
    restore(state, seen) {
      if (!state || typeof state !== "object") return undefined;
      const same = aligned && JSON.stringify(aligned) === JSON.stringify({ ...aligned, ...state });
      if (same && view) return view.apply(seen ?? {});
      ownTexts();
      const missing = apply(state);
      if (missing.length)
        hooks.onProblem(`This link asks for ${missing.join(" and ")}, which this server does not have; shown without.`);
      viewState = linkedView = seen ?? {};
      return state.candidate && state.reference ? run() : undefined;
    },
    /** Nobody has written or opened anything yet: the first example shows what the page is for. */
    begin() {
      if (doc || running || byId("candidate").value || byId("reference").value) return;
      byId("example").value = "0";
      showExample();
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
