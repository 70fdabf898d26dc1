// Controls that choose which column holds what, and a preview of the rows as they will be scored.
// In: names of columns and a guess. Out: {candidate, references: [..], source, system, human, id}.

import { labelledSelect, scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";

const MAPPING_ROLES = [
  ["candidate", "Candidate (required)"],
  ["source", "Source"],
  ["system", "System"],
  ["human", "Human rating"],
  ["id", "Id"],
];
const MAPPING_CUT = 120; // characters of a text in the preview

/**
 * Controls for a mapping; returns {node, value()}.
 * @returns {{ node: HTMLElement, value: () => any }}
 */
export function columnMapping(columns, guess, onChange) {
  const selects = Object.fromEntries(
    MAPPING_ROLES.map(([role, label]) => {
      const control = labelledSelect(label, onChange);
      control.fill([["", "(none)"], ...columns.map((column) => [column, column])], guess[role]);
      return [role, control];
    }),
  );
  const boxes = columns.map((column) => {
    const box = el("input", { type: "checkbox", value: column, onchange: onChange });
    box.checked = guess.references.includes(column);
    return box;
  });
  const references = el(
    "fieldset",
    { class: "u-references" },
    el("legend", { text: "References (one column or several; a cell may be a JSON list)" }),
    ...boxes.map((box) => el("label", { class: "check" }, box, el("bdi", { text: box.value }))),
  );
  return {
    node: el(
      "div",
      { class: "u-mapping" },
      el("h3", { text: "Which column is what?" }),
      el("div", { class: "row" }, ...MAPPING_ROLES.map(([role]) => selects[role].node)),
      references,
    ),
    value: () => ({
      ...Object.fromEntries(MAPPING_ROLES.map(([role]) => [role, selects[role].select.value])),
      references: boxes.filter((box) => box.checked).map((box) => box.value),
    }),
  };
}

/** The first rows, cut to a readable length. */
export function previewTable(rows) {
  if (!rows.length)
    return el("p", { class: "error", text: "No row can be read like this: choose the column of the candidates." });
  const has = (name) => rows.some((row) => row[name] !== undefined && row[name] !== "");
  const names = ["id", ...["system"].filter(has), "candidate", "references", ...["source", "human"].filter(has)];
  const cell = (row, name) => {
    const value = name === "references" ? row.references.join(" \u2016 ") : row[name];
    return el("td", { class: "name", dir: "auto", text: cut(value === undefined ? "" : String(value)) });
  };
  const body = rows.map((row) =>
    el("tr", {}, el("th", { scope: "row", text: cut(row.id) }), ...names.slice(1).map((name) => cell(row, name))),
  );
  return scrollTable("The first rows as they will be scored", names, body, { id: "u-preview" });
}

function cut(text) {
  const letters = Array.from(text.slice(0, 2 * MAPPING_CUT));
  return letters.length > MAPPING_CUT ? `${letters.slice(0, MAPPING_CUT).join("")}\u2026` : text;
}
