// The exported file and the notebook: draws the document that lies in the page itself, and asks nobody for anything.
// Which view draws it is said by pair/standalone.js, corpus/standalone.js and likelihood/standalone.js, so that a file holds no code it does not need.

import { checkFormat } from "./document.js";
import { announce, el } from "./dom.js";
import { readFragment, writeFragment } from "./url_state.js";

/** Draws the page's own document by `draw(root, doc, options)`, with the state of the address. */
export function startView(draw) {
  const root = document.getElementById("view");
  try {
    const doc = JSON.parse(document.getElementById("evalign-document").textContent);
    checkFormat(doc);
    root.replaceChildren();
    const options = { standalone: true, state: readFragment()?.view, onState: (view) => writeFragment({ view }) };
    const view = draw(root, doc, options);
    addEventListener("hashchange", () => view.apply(readFragment()?.view ?? {}));
    viewReportsHeight();
  } catch (error) {
    root.replaceChildren(el("p", { class: "error", role: "alert", text: error.message }));
    announce(error.message);
  }
}

/** In a notebook's frame the one around it must know how high this is. */
function viewReportsHeight() {
  if (parent === window) return;
  const report = () => parent.postMessage({ evalignHeight: document.documentElement.offsetHeight }, "*");
  new ResizeObserver(report).observe(document.body);
  report();
}
