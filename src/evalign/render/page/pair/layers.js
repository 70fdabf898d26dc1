// All layers of the model for one pair, side by side: a small heatmap and the score of each. In: a function that asks the
// server for one layer. Out: a folded section that asks when it is opened; a click takes the layer.

import { decodeAlignment } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { mainScore } from "./controls.js";
import { heatPixels, heatRange } from "./heatmap.js";

/** The section; `asked` has layers() -> names, align(layer, signal) -> document, choose(layer), chosen() -> name. */
export function layersSection(asked) {
  const list = el("ul", { class: "pair-layers" });
  const said = el("p", { class: "soft" });
  const summary = el("summary", { text: "All layers of the model" });
  const node = el(
    "details",
    { class: "pair-layers-fold", ontoggle: () => (node.open ? fill() : stop()) },
    summary,
    said,
    list,
  );
  let running = null;

  const stop = () => running?.abort();
  const fill = async () => {
    stop();
    const current = (running = new AbortController());
    const layers = asked.layers();
    list.replaceChildren();
    try {
      for (const layer of layers) {
        said.textContent = `Computing layer ${layer} of ${layers.at(-1)} \u2026`;
        const doc = await asked.align(layer, current.signal);
        if (running !== current) return;
        list.append(layerItem(layer, doc, asked));
      }
      said.textContent = "Every map has its own range of colours, from its least to its greatest similarity.";
    } catch (error) {
      if (error.name !== "AbortError" && running === current) said.textContent = error.message;
    }
  };
  /** Another pair, or other options. */
  const reset = () => {
    if (node.open) fill();
    else list.replaceChildren();
  };
  return { node, reset };
}

function layerItem(layer, doc, asked) {
  const { matrix, columns } = decodeAlignment(doc);
  const { field, value } = mainScore(doc.scores);
  const map = heatPixels(Array.from(matrix), columns, heatRange(matrix, false));
  map.setAttribute("aria-hidden", "true");
  const text = el("span", {}, `layer ${layer}: ${field} `, el("b", { text: fourDigits(value) }));
  const pressed = String(asked.chosen() === layer);
  return el(
    "li",
    {},
    el("button", { type: "button", "aria-pressed": pressed, onclick: () => asked.choose(layer) }, map, text),
  );
}
