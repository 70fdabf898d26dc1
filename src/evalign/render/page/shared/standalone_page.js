// The exported file and the notebook: draws the document that is embedded in the page, without any request. The entry
// modules (standalone.js of each view) say which view draws it, so that a file holds only the code that it needs.

import { checkFormat } from "./document.js";
import { announce, el } from "./dom.js";
import { fragmentProblem, readFragment, writeFragment } from "./url_state.js";

/** Draws the page's own document by `draw(root, doc, options)`, with the state of the address. */
export function startView(draw) {
  const root = document.getElementById("view");
  try {
    const doc = JSON.parse(document.getElementById("evalign-document").textContent);
    checkFormat(doc);
    root.replaceChildren();
    const options = {
      standalone: true,
      state: readFragment()?.view,
      onState: (view, step = false) => writeFragment({ view }, step),
    };
    const problem = el("p", { class: "error", role: "alert", hidden: true });
    const check = () => {
      problem.textContent = fragmentProblem();
      problem.hidden = !problem.textContent;
    };
    const view = draw(root, doc, options);
    root.prepend(problem);
    check();
    addEventListener("hashchange", () => {
      check();
      view.apply(readFragment()?.view ?? {});
    });
    viewReportsHeight();
  } catch (error) {
    root.replaceChildren(el("p", { class: "error", role: "alert", text: error.message }));
    announce(error.message);
  }
}

/** Inside a notebook's frame: tells the notebook the height of the page. */
function viewReportsHeight() {
  if (parent === window) return;
  const report = () => parent.postMessage({ evalignHeight: document.documentElement.offsetHeight }, "*");
  new ResizeObserver(report).observe(document.body);
  report();
}
