// The corpus view of an exported file that carries alignments: the rows, and the pair of a row that is opened.

import { createView as createPairView } from "../pair/view.js";
import { el } from "../shared/dom.js";
import { scoredPair, showScoredRow } from "./scored_row.js";
import { makeTable } from "./table.js";
import { createView as createCorpusView } from "./view.js";

/** Draw the rows, or above them the pair of the row that the state names by {row, metric}. */
export function createView(root, doc, options) {
  const table = makeTable(doc);
  const list = el("div", {});
  const head = el("div", { class: "scored-row", tabindex: -1 });
  const picture = el("div", {});
  const title = el("h1", { class: "out-of-sight", text: "Token matches of one row" });
  const opened = el("div", { hidden: true }, title, head, picture);
  root.replaceChildren(opened, list);
  let pair = null; // {row, metric, reference} of what is shown
  let view = null;
  const tell = (step) => options.onState({ ...corpus.state(), ...(pair && { pair }) }, step);
  const corpus = createCorpusView(list, doc, {
    ...options,
    onState: () => tell(false),
    opens: ({ alignment }) => alignment !== null,
    openPair: (scored) => {
      show(scored);
      tell(true);
    },
  });
  function show(scored) {
    view?.destroy();
    view = null;
    pair = scored && { row: scored.row, metric: scored.column };
    opened.hidden = !scored;
    list.hidden = Boolean(scored);
    if (!scored) return;
    view = createPairView(picture, scored.alignment, {});
    showScoredRow(head, scored, scored.alignment, back);
    scrollTo(0, 0);
    head.focus();
  }
  function back() {
    show(null);
    tell(true);
    corpus.focusRow();
  }
  function linked(state) {
    const { row, metric } = state?.pair ?? {};
    const scored = table.rows[row] && table.metrics[metric] ? scoredPair(table, row, metric) : null;
    show(scored?.alignment ? scored : null);
  }
  linked(options.state);
  return {
    apply(state) {
      corpus.apply(state);
      linked(state);
    },
  };
}
