// The form of one pair: texts and options go to the server, the answer to the pair view. A late answer never
// overwrites a newer one: every request aborts the one before it.

import { htmlFile } from "../server/html_export.js";
import { announce, byId, download, el } from "../shared/dom.js";
import { pairFields } from "./form_fields.js";
import { layersSection } from "./layers.js";
import { scoredRow, showScoredRow } from "./scored_row.js";
import { pairView } from "./view.js";

/** Wires the form; `hooks` has api, examples, onState(form, view), onProblem(sentence), back() to the rows of a file if
    canGoBack(), and what form_fields.js takes. */
export function pairForm(hooks) {
  const form = byId("pair-form");
  let view = null;
  let viewState = {};
  let linkedView = null; // a view that came with an address, for the next answer
  let aligned = null; // the form as it was sent
  let scored = null; // the row of a corpus that the form shows, as it was scored
  let doc = null;
  let running = null;

  fillExamples();
  const fields = pairFields(hooks, again);
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
    scored = null;
    fields.apply({ candidate: example.candidate, reference: example.reference });
    run();
  }

  /** After an edit, no example is chosen and no row is open any more. */
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

  /** Aborts what runs; returns the AbortController of what runs from now on. */
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

  /** The picture of other texts would stand below the error: it goes. */
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

  return {
    /** Shows texts, options and view of an address; asks the server only if they differ from what is shown. */
    restore(state, seen) {
      if (!state || typeof state !== "object") return undefined;
      const same = aligned && JSON.stringify(aligned) === JSON.stringify({ ...aligned, scored: undefined, ...state });
      if (same && view) return view.apply(seen ?? {});
      ownTexts();
      const missing = fields.apply(state);
      if (missing.length)
        hooks.onProblem(`This link asks for ${missing.join(" and ")}, which this server does not have; shown without.`);
      scored = scoredRow(state.scored);
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
      fields.apply({ candidate, reference });
      return run();
    },
    /** A row of a corpus with the metric, options and reference that it was scored with. */
    async openScored(pair) {
      const current = begun();
      ownTexts();
      scored = scoredRow(pair);
      viewState = linkedView = {};
      try {
        const [read] = (await hooks.api.specs({ metrics: [pair.metric] }, current.signal)).metrics;
        if (running !== current) return undefined;
        fields.apply({ candidate: pair.candidate, reference: pair.reference });
        fields.applyMetric(read);
        return await run();
      } catch (error) {
        if (error.name !== "AbortError" && running === current) refused(error);
        return undefined;
      }
    },
    corpusChanged() {
      hooks.idf.clear();
      fields.sayIdf();
    },
  };
}
