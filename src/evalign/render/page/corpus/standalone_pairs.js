// The entry of an exported corpus report that carries alignments: the rows, and the pair of a row that is opened.

import { showScoredRow } from "../pair/scored_row.js";
import { pairView } from "../pair/view.js";
import { el } from "../shared/dom.js";
import { startView } from "../shared/standalone_page.js";
import { scoredPair } from "./scored_pair.js";
import { corpusTable } from "./table.js";
import { corpusView } from "./view.js";

startView(corpusWithPairs);

/** Draws the rows, or above them the pair of the row that the state names by {row, metric}. */
function corpusWithPairs(root, doc, options) {
  const table = corpusTable(doc);
  const list = el("div", {});
  const head = el("div", { class: "scored-row", tabindex: -1 });
  const picture = el("div", {});
  const title = el("h1", { class: "out-of-sight", text: "Token matches of one row" });
  const opened = el("div", { hidden: true }, title, head, picture);
  root.replaceChildren(opened, list);
  let pair = null; // {row, metric, reference} of what is shown
  let view = null;
  const tell = (step) => options.onState({ ...corpus.state(), ...(pair && { pair }) }, step);
  const corpus = corpusView(list, doc, {
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
    view = pairView(picture, scored.alignment, {});
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
