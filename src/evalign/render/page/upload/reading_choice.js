// How a file of separated values is read: by which sign, and whether its first line names the columns. What the file
// itself does not tell is asked. In: the table as it was read. Out: controls.

import { labelledSelect } from "../shared/controls.js";
import { el } from "../shared/dom.js";

const READING_SEPARATORS = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "pipe |"],
];
const READING_CUT = 60; // characters of the first line that are shown

/** Controls of a table of separated values, null for others; `reread({delimiter, header}, id of the control)`. */
export function readingChoice(table, reread) {
  if (table.kind !== "csv") return null;
  const said = { delimiter: table.delimiter, header: table.header };
  const separator = labelledSelect("Separator", (delimiter) => reread({ ...said, delimiter }, "u-separator"));
  separator.select.id = "u-separator";
  separator.node.firstChild.htmlFor = "u-separator";
  separator.fill(READING_SEPARATORS, table.delimiter);
  const answer = (header, text) => {
    const id = header ? "u-header-yes" : "u-header-no";
    const input = el("input", { type: "radio", name: "u-header", id, onchange: () => reread({ ...said, header }, id) });
    input.checked = table.header === header;
    return el("label", { class: "check" }, input, text);
  };
  const first = table.header === null ? table.records[0].cells.join(` ${table.delimiter.trim()} `) : "";
  const shown = first.length > READING_CUT ? `${first.slice(0, READING_CUT)}\u2026` : first;
  return el(
    "div",
    { class: "row u-reading" },
    separator.node,
    el(
      "fieldset",
      { class: table.header === null ? "u-asked" : null },
      el("legend", { text: "Does the first line name the columns?" }),
      table.header === null
        ? el("p", {}, "None of the usual names stands in it: ", el("bdi", {}, el("q", { text: shown })))
        : null,
      answer(true, "Yes, it is a header"),
      answer(false, "No, it is a row"),
    ),
  );
}
