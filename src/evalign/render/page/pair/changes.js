// "What changed": two matchings of the same similarities, compared. Cells that only one of them selects become lines,
// tokens whose partner changed become a table, and the difference of the scores is added up from these tokens.

import { scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { isRescaled } from "./focus.js";
import { mergedLines, otherSide, SIDES } from "./matches.js";

const MAX_LISTED = 30;
const SAME_VALUE = 1e-6;

/** Lines (kinds lost, new, kept) and tokens {side, token, from, to, effect}, largest effect first. */
export function changesBetween(decoded, grid, before, after) {
  const cells = (view) => new Map(view.matching.cells.map(([i, j], index) => [i * decoded.columns + j, index]));
  const [old, fresh] = [cells(before), cells(after)];
  const line = (key, kind, view, index) => ({
    kind,
    candidate: grid.unitOf.candidate[Math.floor(key / decoded.columns)],
    reference: grid.unitOf.reference[key % decoded.columns],
    similarity: view.matching.cell_values[index],
  });
  const lines = [];
  for (const [key, index] of old) lines.push(line(key, fresh.has(key) ? "kept" : "lost", before, index));
  for (const [key, index] of fresh) if (!old.has(key)) lines.push(line(key, "new", after, index));
  const count = (kind) => lines.filter((line) => line.kind === kind).length;
  return {
    counts: { lost: count("lost"), new: count("new"), kept: count("kept") },
    lines: mergedLines(lines),
    tokens: changedTokens(decoded, before, after),
  };
}

/** The select of the matching to compare with. */
export function compareChoice(doc, change) {
  const select = el(
    "select",
    { onchange: () => change({ compare: select.value }) },
    el("option", { value: "", text: "nothing" }),
    ...doc.matchings.map((matching) => el("option", { value: matching.name, text: matching.name })),
  );
  const node = el("label", { class: "field pair-compare" }, "Show what changed against", select);
  node.hidden = doc.matchings.length < 2;
  return { node, show: (state) => (select.value = state.compare) };
}

/** The scores of all matchings of the matrix. */
export function scoresTable(doc) {
  const fields = [...new Set(doc.matchings.flatMap((matching) => Object.keys(matching.scores)))];
  const columns = ["matching", ...fields, "cells", "candidate never chosen", "reference never chosen"];
  const rows = doc.matchings.map((matching) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", text: matching.name }),
      ...fields.map((field) => el("td", { text: field in matching.scores ? fourDigits(matching.scores[field]) : "" })),
      el("td", { text: matching.cells.length }),
      ...SIDES.map((side) => el("td", { text: neverChosenCount(doc, matching, side) })),
    ),
  );
  const node = el(
    "section",
    { class: "pair-section", hidden: doc.matchings.length < 2 },
    scrollTable("Scores of all matchings", columns, rows, { style: "pair-scores-table" }),
  );
  const show = (state) =>
    rows.forEach((row, index) => row.classList.toggle("on", doc.matchings[index].name === state.matching));
  return { node, show };
}

/** Sentences and a table about changes from one matching to another. */
export function changesReport(labels, before, after, changes, focus) {
  const [from, to] = [before.matching, after.matching];
  const { lost, kept, new: fresh } = changes.counts;
  const heading = el("h2", {
    text: `What changed from ${from.name} to ${to.name}: ${fresh} new, ${lost} lost, ${kept} kept`,
  });
  if (!lost && !fresh) return [heading, el("p", { text: "Both select the same cells." })];
  const shown = changes.tokens.slice(0, MAX_LISTED);
  const caption =
    shown.length < changes.tokens.length
      ? `The ${shown.length} largest of ${changes.tokens.length} changes`
      : "Tokens that changed, largest effect first";
  const columns = ["token", "text", from.name, "value", to.name, "value", "effect"];
  const rows = shown.map((change) => changeRow(labels, change, focus));
  return [
    heading,
    el(
      "ul",
      { class: "pair-explained" },
      ...scoreSentences(before, after, changes.tokens).map((text) => el("li", { text })),
    ),
    scrollTable(caption, columns, rows, { text: [0, 1, 2, 4], label: "Tokens that changed" }),
  ];
}

/** Sentences about the difference of each common score, and its causes. */
function scoreSentences(before, after, tokens) {
  const [from, to] = [before.matching.scores, after.matching.scores];
  const rescaled = isRescaled(before) || isRescaled(after);
  const sentences = [];
  SIDES.forEach((side, index) => {
    const field = ["precision", "recall"][index];
    if (!(field in from && field in to)) return;
    const changes = tokens.filter((change) => change.side === side);
    const without = changes.filter((change) => change.to.partner < 0 && change.from.partner >= 0);
    const worse = changes.filter((change) => change.effect < -SAME_VALUE && change.to.partner >= 0);
    const better = changes.filter((change) => change.effect > SAME_VALUE);
    const parts = [
      [without, "without a partner now"],
      [worse, "with a less similar one"],
      [better, "with a more similar one"],
    ]
      .filter(([list]) => list.length)
      .map(
        ([list, what]) => `${list.length} ${side} ${list.length > 1 ? "tokens" : "token"} ${what} (${effectSum(list)})`,
      );
    const because = parts.length ? `: ${parts.join(", ")}` : ": no token of its text changed its value";
    const raw = rescaled ? ", before rescaling" : "";
    sentences.push(`${field} ${stepText(from[field], to[field])}${because}${raw}.`);
  });
  if ("f1" in from && "f1" in to) sentences.push(`f1 ${stepText(from.f1, to.f1)}, from these two.`);
  if (!sentences.length) {
    sentences.push(
      "One of the two has no precision and recall: transport turns the cost of the whole plan into one score. " +
        "Only the cells can be compared, not the scores.",
    );
  }
  return sentences;
}

/** All tokens whose partner or value differs, with the effect on precision or recall. */
function changedTokens(decoded, before, after) {
  const changed = [];
  for (const side of SIDES) {
    const [partners, values] = [`${side}_partners`, `${side}_values`];
    decoded[side].pieces.forEach((_piece, token) => {
      const from = { partner: before.matching[partners][token], value: before.matching[values][token] };
      const to = { partner: after.matching[partners][token], value: after.matching[values][token] };
      if (from.partner === to.partner && Math.abs(from.value - to.value) < SAME_VALUE) return;
      changed.push({ side, token, from, to, effect: after.shares[side][token] - before.shares[side][token] });
    });
  }
  return changed.sort((first, second) => Math.abs(second.effect) - Math.abs(first.effect));
}

function changeRow(labels, change, focus) {
  const far = labels[otherSide(change.side)];
  const partner = ({ partner: token }) =>
    token < 0 ? el("span", { class: "soft", text: "none" }) : el("bdi", { text: far[token] });
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el(
        "button",
        { type: "button", class: "pair-word-button", onclick: () => focus(change.side, change.token) },
        el("bdi", { text: labels[change.side][change.token] }),
      ),
    ),
    el("td", { class: "name", text: change.side }),
    el("td", { class: "name" }, partner(change.from)),
    el("td", { text: fourDigits(change.from.value) }),
    el("td", { class: "name" }, partner(change.to)),
    el("td", { text: fourDigits(change.to.value) }),
    el("td", { text: signedText(change.effect) }),
  );
}

function neverChosenCount(doc, matching, side) {
  return matching.never_chosen[side].filter((token) => !doc[side].special[token]).length;
}

function effectSum(tokens) {
  return signedText(tokens.reduce((sum, change) => sum + change.effect, 0));
}

function stepText(from, to) {
  return `${fourDigits(from)} to ${fourDigits(to)} (${signedText(to - from)})`;
}

function signedText(value) {
  const text = fourDigits(Math.abs(value));
  return text === "0.0000" ? text : `${value < 0 ? "\u2212" : "+"}${text}`;
}
