// The form of one pair: texts and options go to the server, the answer to the pair view; below it all layers of the
// model. A late answer never overwrites a newer one: every request aborts the one before it.

import { linkedRow, showScoredRow } from "../corpus/scored_row.js";
import { htmlFile, specText } from "../server/api.js";
import { decodeAlignment } from "../shared/document.js";
import { announce, byId, download, el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { heatmapImage, valueRange } from "./heatmap.js";
import { mainScore } from "./settings.js";
import { createView as createPairView } from "./view.js";

const TEXT_FIELDS = ["candidate", "reference", "model", "layer"];
const LAYER_NAME = /^(\d+(\+\d+)+|last)$/; // layers of a metric that are no single number
const OPTION_FIELDS = ["model", "layer", "specials", "idf"]; // options of a metric with a field in the form

/** Wire the form; `hooks` has api, examples, onState(form, view), onProblem(sentence), back() to the rows of a file if
    canGoBack(), and what form_fields.js takes. */
export function createForm(hooks) {
  const form = byId("pair-form");
  let view = null;
  let viewState = {};
  let linkedView = null; // the state of the view from an address, for the next answer
  let aligned = null; // the state of the form in the last request
  let scored = null; // the row of a corpus that the form shows
  let doc = null;
  let running = null;

  fillExamples();
  const fields = createFields(hooks, again);
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
  const saving = [
    saveButton("HTML", "Save as one HTML file", () => saved("html", "text/html", () => htmlFile(doc))),
    saveButton("JSON", "Save as JSON", () => saved("json", "application/json", () => JSON.stringify(doc))),
    saveButton("Copy link", "Copy link to this view", copyLink),
  ];

  const layers = layersSection({
    layers: fields.layers,
    chosen: fields.layer,
    align: async (layer, signal) => hooks.api.align(await fields.request({ ...aligned, layer }, "own", signal), signal),
    choose: (layer) => {
      fields.apply({ layer });
      again();
    },
  });

  function fillExamples() {
    const groups = new Map();
    hooks.examples.forEach((example, index) => {
      if (!groups.has(example.kind)) groups.set(example.kind, el("optgroup", { label: example.kind }));
      groups.get(example.kind).append(el("option", { value: index, text: example.name }));
    });
    byId("example").append(...groups.values());
    byId("example").addEventListener("change", showExample);
  }

  function showExample() {
    const example = hooks.examples[byId("example").value];
    byId("example-about").hidden = !example;
    if (!example) return;
    byId("example-about").textContent = example.about;
    scored = null;
    fields.apply({ candidate: example.candidate, reference: example.reference });
    run();
  }

  /** Deselect the example and the row after an edit. */
  function ownTexts() {
    byId("example").value = "";
    byId("example-about").hidden = true;
    scored = null;
    showScored();
  }

  function showScored() {
    showScoredRow(
      byId("pair-row"),
      scored,
      byId("pair-result").hidden ? null : doc,
      hooks.canGoBack() ? hooks.back : null,
    );
  }

  function again() {
    scored = null;
    if (doc || running) run();
  }

  async function run() {
    const current = begun();
    const empty = ["candidate", "reference"].find((id) => !byId(id).value.trim());
    if (empty) {
      refused(new Error(`The ${empty} is empty: there is nothing to align. Write or paste a text.`));
      byId(empty).focus();
      return;
    }
    announce("Aligning …");
    const sent = { ...fields.state(), ...(scored && { scored }) };
    try {
      const answer = await hooks.api.align(await fields.request(sent, "all", current.signal), current.signal);
      if (running !== current) return;
      aligned = sent;
      show(answer);
      const scores = Object.entries(answer.scores).map(([name, value]) => `${name} ${value.toFixed(4)}`);
      announce(`Aligned: ${scores.join(", ")}`);
      ended();
    } catch (error) {
      if (error.name !== "AbortError" && running === current) refused(error);
    }
  }

  /** Abort what runs; returns the AbortController of what runs from now on. */
  function begun() {
    running?.abort();
    running = new AbortController();
    byId("pair-result").setAttribute("aria-busy", "true");
    showError("");
    return running;
  }

  function ended() {
    running = null;
    byId("pair-result").removeAttribute("aria-busy");
  }

  /** Show an error, and hide the picture, which is of other texts. */
  function refused(error) {
    ended();
    byId("pair-result").hidden = true;
    showScored();
    showError(error.message);
    announce(error.message);
  }

  function show(answer) {
    doc = answer;
    byId("pair-result").hidden = false;
    showScored();
    if (view) view.update(doc);
    if (view && linkedView) view.apply(linkedView);
    linkedView = null;
    if (!view)
      view = createPairView(byId("pair-result"), doc, {
        state: viewState,
        onState: (state) => remember(state),
        saving,
        optionsContainer: byId("view-options"),
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

  return {
    /** Show texts, options and view of an address; asks the server only if they differ from what is shown. */
    restore(state, seen) {
      if (!state || typeof state !== "object") return undefined;
      const same = aligned && JSON.stringify(aligned) === JSON.stringify({ ...aligned, scored: undefined, ...state });
      if (same && view) return view.apply(seen ?? {});
      ownTexts();
      const missing = fields.apply(state);
      if (missing.length)
        hooks.onProblem(`This link asks for ${missing.join(" and ")}, which this server does not have; shown without.`);
      scored = linkedRow(state.scored);
      viewState = linkedView = seen ?? {};
      return state.candidate && state.reference ? run() : undefined;
    },
    /** Show the first example if nothing was entered or opened yet. */
    begin() {
      if (doc || running || byId("candidate").value || byId("reference").value) return;
      byId("example").value = "0";
      showExample();
    },
    open(candidate, reference) {
      ownTexts();
      fields.apply({ candidate, reference });
      return run();
    },
    /** A row of a corpus with the metric, options and reference that it was scored with. */
    async openScored(pair) {
      const current = begun();
      ownTexts();
      scored = linkedRow(pair);
      viewState = linkedView = {};
      fields.apply({ candidate: pair.candidate, reference: pair.reference });
      try {
        const [read] = (await hooks.api.specs({ metrics: [pair.metric] }, current.signal)).metrics;
        if (running !== current) return undefined;
        fields.applyMetric(read);
        return await run();
      } catch (error) {
        if (error.name !== "AbortError" && running === current) refused(error);
        return undefined;
      }
    },
    corpusChanged() {
      hooks.idf.clear();
      fields.showIdfTexts();
    },
  };
}

/** Fill the fields; `hooks` has models, metrics, examples, idf (tables), and idfTexts(kind), null if no file is open.
    `changed()` is called when an option changes. */
function createFields(hooks, changed) {
  const metrics = new Map(); // by the text in the select: {name, options}
  hooks.metrics.filter(({ aligns, available }) => aligns && available).forEach(({ name }) => offerMetric({ name }));
  byId("model").replaceChildren(...hooks.models.map(({ name, label }) => el("option", { value: name, text: label })));
  fillLayers();
  showIdfTexts();
  byId("model").addEventListener("change", fillLayers);
  byId("idf").addEventListener("change", () => {
    byId("idf").dataset.kind = "references";
    showIdfTexts();
  });
  for (const id of ["metric", "model", "layer", "specials", "idf"]) byId(id).addEventListener("change", changed);

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

  /** Add an option to a select, unless it has it. */
  function offer(select, value) {
    if (![...select.options].some((option) => option.value === value))
      select.append(el("option", { value, text: value }));
  }

  function offerMetric({ name, options = {} }) {
    const text = specText(name, options);
    offer(byId("metric"), text);
    metrics.set(text, { name, options });
    return text;
  }

  function showIdfTexts() {
    const { kind = "references" } = byId("idf").dataset;
    const texts = hooks.idfTexts(kind);
    byId("idf-label").textContent = texts
      ? `Weigh rare words more (IDF of the ${texts.length} ${kind} opened)`
      : `Weigh rare words more (IDF of the ${hooks.examples.length} examples)`;
  }

  return {
    showIdfTexts,
    state() {
      /** @type {any} */
      const state = Object.fromEntries(TEXT_FIELDS.map((id) => [id, byId(id).value]));
      const idf = byId("idf").checked && (byId("idf").dataset.kind ?? "references");
      return { ...state, specials: byId("specials").checked, idf, metric: metrics.get(byId("metric").value) };
    },
    /** Show the fields of a state, and leave the others; returns what this server does not have, as in "layer 12". */
    apply(state) {
      const missing = [];
      for (const id of TEXT_FIELDS) {
        if (typeof state[id] !== "string") continue;
        if (id === "layer" && LAYER_NAME.test(state[id])) offer(byId(id), state[id]);
        const isOption =
          byId(id).tagName !== "SELECT" || [...byId(id).options].some((option) => option.value === state[id]);
        if (isOption) byId(id).value = state[id];
        else missing.push(`${id} ${state[id]}`);
        if (id === "model") fillLayers();
      }
      if (typeof state.specials === "boolean") byId("specials").checked = state.specials;
      if (state.idf !== undefined) {
        byId("idf").checked = Boolean(state.idf);
        byId("idf").dataset.kind = state.idf === "sources" ? "sources" : "references";
      }
      const { name, options } = state.metric ?? {};
      const isOffered = hooks.metrics.some((metric) => metric.name === name && metric.aligns);
      const written = options && Object.values(options).every((value) => typeof value === "string");
      if (isOffered && written) byId("metric").value = offerMetric({ name, options: { ...options } });
      showIdfTexts();
      return missing;
    },
    /** Show a metric with its options, as the server reads its spec. */
    applyMetric({ name, options, model: chosen, idf }) {
      const otherOptions = Object.entries(options).filter(([option]) => !OPTION_FIELDS.includes(option));
      const specials = options.specials !== "drop";
      const metric = { name, options: Object.fromEntries(otherOptions) };
      this.apply({ model: chosen, layer: options.layer ?? "", specials, idf: idf ?? false, metric });
    },
    layers: () => [...byId("layer").options].map((option) => option.value).filter((value) => /^\d+$/.test(value)),
    layer: () => byId("layer").value || model()?.default_layer,
    /**
     * The request for a pair; a row of a corpus has the IDF option of its metric, so that the signature is the same.
     */
    async request({ candidate, reference, model: chosen, layer, specials, metric, idf, scored }, matchings, signal) {
      const options = { ...metric.options, model: chosen };
      if (layer) options.layer = layer;
      if (!specials) options.specials = "drop";
      if (idf && scored) options.idf = idf;
      const table = idf ? await hooks.idf.table(idf, chosen, signal) : null;
      return { candidate, reference, metric: specText(metric.name, options), idf: table, matchings };
    },
  };
}

/**
 * The folded section with a small heatmap and the score of each layer, side by side. It requests them when it is
 * opened; a click selects a layer. `hooks` has layers() -> names, align(layer, signal) -> document, choose(layer),
 * chosen() -> name.
 */
function layersSection(hooks) {
  const list = el("ul", { class: "pair-layers" });
  const status = el("p", { class: "soft" });
  const summary = el("summary", { text: "All layers of the model" });
  const node = el(
    "details",
    { class: "pair-layers-fold", ontoggle: () => (node.open ? fill() : stop()) },
    summary,
    status,
    list,
  );
  let running = null;

  const stop = () => running?.abort();
  const fill = async () => {
    stop();
    const current = (running = new AbortController());
    const layers = hooks.layers();
    list.replaceChildren();
    try {
      for (const layer of layers) {
        status.textContent = `Computing layer ${layer} of ${layers.at(-1)} \u2026`;
        const doc = await hooks.align(layer, current.signal);
        if (running !== current) return;
        list.append(layerItem(layer, doc, hooks));
      }
      status.textContent = "Every map has its own range of colours, from its least to its greatest similarity.";
    } catch (error) {
      if (error.name !== "AbortError" && running === current) status.textContent = error.message;
    }
  };
  /** Start again for another pair or other options. */
  const reset = () => {
    if (node.open) fill();
    else list.replaceChildren();
  };
  return { node, reset };
}

function layerItem(layer, doc, hooks) {
  const { matrix, columns } = decodeAlignment(doc);
  const { field, value } = mainScore(doc.scores);
  const map = heatmapImage(Array.from(matrix), columns, valueRange(matrix, false));
  map.setAttribute("aria-hidden", "true");
  const text = el("span", {}, `layer ${layer}: ${field} `, el("b", { text: fourDigits(value) }));
  const pressed = String(hooks.chosen() === layer);
  return el(
    "li",
    {},
    el("button", { type: "button", "aria-pressed": pressed, onclick: () => hooks.choose(layer) }, map, text),
  );
}
