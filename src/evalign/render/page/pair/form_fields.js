// The fields of the form of one pair: both texts, metric, model, layer, special tokens, IDF. In and out: a state, which
// addresses hold too; from it the request to the server.

import { byId, el } from "../shared/dom.js";
import { writtenSpec } from "../shared/spec.js";

const FIELDS_TEXTS = ["candidate", "reference", "model", "layer"];
const FIELDS_LAYERS = /^(\d+(\+\d+)+|last)$/; // what a metric may have besides one layer
const FIELDS_OPTIONS = ["model", "layer", "specials", "idf"]; // of a metric: they have fields of their own

/** Fills the fields; `hooks` has models, metrics, examples, idf (tables), and idfTexts(kind), null if no file is open.
    `changed()` is called when an option changes. */
export function pairFields(hooks, changed) {
  const metrics = new Map(); // by what the select shows: {name, options}
  hooks.metrics.filter(({ aligns, available }) => aligns && available).forEach(({ name }) => offerMetric({ name }));
  byId("model").replaceChildren(...hooks.models.map(({ name, label }) => el("option", { value: name, text: label })));
  fillLayers();
  sayIdf();
  byId("model").addEventListener("change", fillLayers);
  byId("idf").addEventListener("change", () => {
    byId("idf").dataset.kind = "references";
    sayIdf();
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

  /** Puts a choice into a select, once. */
  function offer(select, value) {
    if (![...select.options].some((option) => option.value === value))
      select.append(el("option", { value, text: value }));
  }

  function offerMetric({ name, options = {} }) {
    const text = writtenSpec(name, options);
    offer(byId("metric"), text);
    metrics.set(text, { name, options });
    return text;
  }

  function sayIdf() {
    const { kind = "references" } = byId("idf").dataset;
    const texts = hooks.idfTexts(kind);
    byId("idf-label").textContent = texts
      ? `Weigh rare words more (IDF of the ${texts.length} ${kind} opened)`
      : `Weigh rare words more (IDF of the ${hooks.examples.length} examples)`;
  }

  return {
    sayIdf,
    state() {
      /** @type {any} */
      const state = Object.fromEntries(FIELDS_TEXTS.map((id) => [id, byId(id).value]));
      const idf = byId("idf").checked && (byId("idf").dataset.kind ?? "references");
      return { ...state, specials: byId("specials").checked, idf, metric: metrics.get(byId("metric").value) };
    },
    /** Shows what a state has, and leaves the rest as it is; returns what this server does not have, as in "layer 12". */
    apply(state) {
      const missing = [];
      for (const id of FIELDS_TEXTS) {
        if (typeof state[id] !== "string") continue;
        if (id === "layer" && FIELDS_LAYERS.test(state[id])) offer(byId(id), state[id]);
        const known = byId(id).tagName !== "SELECT" || [...byId(id).options].some((one) => one.value === state[id]);
        if (known) byId(id).value = state[id];
        else missing.push(`${id} ${state[id]}`);
        if (id === "model") fillLayers();
      }
      if (typeof state.specials === "boolean") byId("specials").checked = state.specials;
      if (state.idf !== undefined) {
        byId("idf").checked = Boolean(state.idf);
        byId("idf").dataset.kind = state.idf === "sources" ? "sources" : "references";
      }
      const { name, options } = state.metric ?? {};
      const known = hooks.metrics.some((metric) => metric.name === name && metric.aligns);
      const written = options && Object.values(options).every((value) => typeof value === "string");
      if (known && written) byId("metric").value = offerMetric({ name, options: { ...options } });
      sayIdf();
      return missing;
    },
    /** Shows a metric with its options, as the server reads its spec. */
    applyMetric({ name, options, model: chosen, idf }) {
      const own = Object.entries(options).filter(([option]) => !FIELDS_OPTIONS.includes(option));
      const specials = options.specials !== "drop";
      const metric = { name, options: Object.fromEntries(own) };
      this.apply({ model: chosen, layer: options.layer ?? "", specials, idf: idf ?? false, metric });
    },
    layers: () => [...byId("layer").options].map((option) => option.value).filter((value) => /^\d+$/.test(value)),
    layer: () => byId("layer").value || model()?.default_layer,
    /** The request for a pair; a row of a corpus is weighed, and signed, as its metric says. */
    async request({ candidate, reference, model: chosen, layer, specials, metric, idf, scored }, matchings, signal) {
      const options = { ...metric.options, model: chosen };
      if (layer) options.layer = layer;
      if (!specials) options.specials = "drop";
      if (idf && scored) options.idf = idf;
      const table = idf ? await hooks.idf.table(idf, chosen, signal) : null;
      return { candidate, reference, metric: writtenSpec(metric.name, options), idf: table, matchings };
    },
  };
}
