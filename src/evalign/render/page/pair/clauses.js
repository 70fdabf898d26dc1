// Clause by clause: what of the reference is lost (low recall), what in the candidate is extra (low precision), and the
// value of every clause, which Python computed.

import { foldedTable, scrollTable } from "../shared/controls.js";
import { codePoints } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits, levelOf } from "../shared/format.js";
import { LEVEL_NAMES } from "./lines.js";
import { SIDES } from "./matches.js";

const MAX_LISTED = 12;
const LISTS = {
  reference: {
    name: "Lost from the reference",
    field: "recall",
    none: "Nothing is lost",
    all: "every clause of the reference",
  },
  candidate: {
    name: "Extra in the candidate",
    field: "precision",
    none: "Nothing is extra",
    all: "every clause of the candidate",
  },
};

/** The section; show(matching) updates it, and hides it for matchings without precision and recall. */
export function clausesSection(decoded, goTo) {
  const node = el("section", { class: "pair-section pair-clauses", "aria-label": "Clauses" });
  let shown = null;
  const show = (matching) => {
    if (shown === matching) return;
    shown = matching;
    node.hidden = Boolean(matching.masses || decoded.doc.meaningless) || !("clause_values" in matching);
    if (node.hidden) return;
    const lists = ["reference", "candidate"].map((side) => clauseList(decoded, matching, side, goTo));
    node.replaceChildren(el("div", { class: "pair-clause-lists" }, ...lists), clauseTable(decoded, matching).node);
  };
  return { node, show };
}

/** The clauses of a side in order: {text, value, quality, token}, with the index of its first token. */
function clausesOf(decoded, matching, side) {
  const { text, clauses, offsets, special } = decoded[side];
  const [chars, bounds] = [codePoints(text), decoded.doc.similarity_bounds];
  return clauses.map(([start, stop], index) => {
    const value = matching.clause_values[side][index];
    const token = offsets.findIndex(([first], at) => !special[at] && first >= start);
    const quality = value === null ? "none" : `q${bounds.length - levelOf(value, bounds)}`;
    return { text: chars.slice(start, stop).join(""), value, quality, token };
  });
}

/** A list of the lost or extra clauses: nearer to unrelated text than to equal text, the worst first. */
function clauseList(decoded, matching, side, goTo) {
  const { name, field, none, all } = LISTS[side];
  const bound = decoded.doc.similarity_bounds[1];
  const bad = clausesOf(decoded, matching, side).filter(({ value }) => value !== null && value < bound);
  bad.sort((first, second) => first.value - second.value);
  const item = ({ text, value, quality, token }) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "pair-clause", onclick: () => goTo(side, token) },
        el("bdi", { class: `pair-sample ${quality}`, text }),
        " ",
        el("b", { text: fourDigits(value) }),
      ),
    );
  const left = bad.length - MAX_LISTED;
  return el(
    "div",
    { class: `pair-clauses-${side}` },
    el("h2", { text: `${name} (${field} below ${bound.toFixed(2)})` }),
    bad.length
      ? el("ol", {}, ...bad.slice(0, MAX_LISTED).map(item))
      : el("p", { class: "soft", text: `${none}: ${all} reaches ${bound.toFixed(2)}.` }),
    left > 0 ? el("p", { class: "soft", text: `and ${left} more` }) : null,
  );
}

function clauseTable(decoded, matching) {
  return foldedTable("All clauses", () => {
    const rows = SIDES.flatMap((side) =>
      clausesOf(decoded, matching, side).map(({ text, value, quality }) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, el("bdi", { text })),
          el("td", { class: "name", text: side }),
          el("td", { class: "name", text: LISTS[side].field }),
          el("td", { text: value === null ? "" : fourDigits(value) }),
          el("td", { class: "name", text: LEVEL_NAMES[quality] ?? "" }),
        ),
      ),
    );
    const columns = ["clause", "text", "field", "value", "level"];
    return [scrollTable("Every clause and what it is worth", columns, rows, { text: [0, 1, 2, 4] })];
  });
}
