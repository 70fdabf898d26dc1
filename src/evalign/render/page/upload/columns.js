// The columns of a file: which holds what (guessed from usual names, changed by controls), a preview, and rows from
// records by that mapping. The rules are those of Python's reader, but rows without an id are named by their line.

import { labelledSelect, scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";

const USUAL_NAMES = {
  candidate: [
    "candidate",
    "hypothesis",
    "hyp",
    "prediction",
    "output",
    "systemoutput",
    "generated",
    "translation",
    "mt",
    "simplification",
    "summary",
    "response",
    "answer",
    "text",
  ],
  references: ["references", "reference", "refs", "ref", "target", "targets", "gold", "goldstandard", "label"],
  source: ["source", "src", "input", "original", "document", "article"],
  system: ["system", "model", "systemname", "sys", "engine"],
  human: ["human", "score", "rating", "humanscore", "da", "mos", "judgement", "judgment"],
  id: ["id", "uid", "rowid", "segid", "segment", "key", "index"],
};
const ALL_USUAL_NAMES = new Set(Object.values(USUAL_NAMES).flat());
const ROLES = [
  ["candidate", "Candidate (required)"],
  ["source", "Source"],
  ["system", "System"],
  ["human", "Human rating"],
  ["id", "Id"],
];
const PREVIEW_LETTERS = 120; // characters of a text in the preview
const SEPARATORS = [
  [",", "comma"],
  [";", "semicolon"],
  ["\t", "tab"],
  ["|", "pipe |"],
];
const FIRST_LINE_LETTERS = 60; // characters of the first line that are shown

/** Guess a mapping {candidate, references: [..], source, system, human, id} of column names, "" if none fits; of two
    columns without names, the first is taken for the candidate and the second for its reference. */
export function guessColumns(columns, named = true) {
  if (!named && columns.length === 2) {
    return { candidate: columns[0], references: [columns[1]], source: "", system: "", human: "", id: "" };
  }
  const plain = new Map(columns.map((column) => [column, plainName(column)]));
  const used = new Set();
  const exact = (role) => {
    for (const name of USUAL_NAMES[role]) {
      const column = columns.find((header) => plain.get(header) === name && !used.has(header));
      if (column !== undefined) {
        used.add(column);
        return column;
      }
    }
    return "";
  };
  const mapping = { candidate: exact("candidate") };
  const numbered = columns.filter(
    (header) => /^(references?|refs?|targets?|gold)\d*$/.test(plain.get(header)) && !used.has(header),
  );
  for (const column of numbered) used.add(column);
  const single = numbered.length ? "" : exact("references");
  mapping.references = single ? [single] : numbered;
  for (const role of ["source", "system", "human", "id"]) mapping[role] = exact(role);
  if (!mapping.candidate) {
    mapping.candidate =
      columns.find(
        (header) => /candidate|hypothes|predict|output|transl/.test(plain.get(header)) && !used.has(header),
      ) ?? "";
  }
  return mapping;
}

/**
 * Turn all records into {rows, places, problems} by a mapping; `places` has the position of each row, as in "line 3".
 */
export function rowsFrom(table, mapping) {
  const rows = [];
  const places = [];
  const problems = [];
  for (const record of table.records) {
    const place = recordPlace(table, record.line);
    try {
      rows.push(rowFrom(table, record, mapping));
      places.push(place);
    } catch (error) {
      problems.push({ place, message: error.message });
    }
  }
  return { rows, places, problems };
}

function rowFrom(table, record, mapping) {
  const value = (column) => (column ? recordValue(table, record, column) : undefined);
  const candidate = value(mapping.candidate);
  if (typeof candidate !== "string") {
    throw new Error(`${mapping.candidate}: expected a text, found ${typeName(candidate)}`);
  }
  const row = {
    id: nameOf(value(mapping.id)) ?? String(record.line),
    system: nameOf(value(mapping.system)) ?? "",
    candidate,
    references: referencesFrom(table, mapping.references, value),
  };
  const source = value(mapping.source);
  if (typeof source === "string") row.source = source;
  else if (source !== undefined && source !== null) {
    throw new Error(`${mapping.source}: expected a text, found ${typeName(source)}`);
  }
  const human = rating(value(mapping.human));
  if (human !== null) row.human = human;
  return row;
}

/** The references of a row. A column has one text or a list; of several columns empty cells are left out. */
function referencesFrom(table, columns, value) {
  const references = [];
  for (const column of columns) {
    const cell = table.kind === "csv" ? listedCell(value(column)) : value(column);
    if (typeof cell === "string") {
      if (cell !== "" || columns.length === 1) references.push(cell);
    } else if (Array.isArray(cell) && cell.every((text) => typeof text === "string")) references.push(...cell);
    else if (cell !== undefined || columns.length === 1) {
      throw new Error(`${column}: expected a text or a list of texts, found ${typeName(cell)}`);
    }
  }
  return references;
}

/** The list of texts if a cell of CSV is a JSON list, else the cell. */
function listedCell(cell) {
  if (!/^\s*\[\s*(".*)?\]\s*$/s.test(cell)) return cell;
  try {
    const list = JSON.parse(cell);
    return list.every((text) => typeof text === "string") ? list : cell;
  } catch {
    return cell;
  }
}

function rating(value) {
  if (typeof value === "number") return value;
  if (typeof value === "string") return value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : null;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  const aspects = Object.entries(value).filter(([, number]) => typeof number === "number");
  return aspects.length ? Object.fromEntries(aspects) : null;
}

function nameOf(value) {
  if (value === undefined || value === null || value === "") return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function typeName(value) {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value)
    ? "a list"
    : ({ string: "a text", number: "a number", boolean: "true or false" }[typeof value] ?? "an object");
}

/** A header's name for comparison: lower case, letters and digits only. */
function plainName(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** The number of cells with a usual name, which may end in a number. */
export function usualNameCount(cells) {
  return cells.filter((cell) => ALL_USUAL_NAMES.has(plainName(cell).replace(/\d+$/, ""))).length;
}

/**
 * Controls for a mapping; returns {node, value()}.
 * @returns {{ node: HTMLElement, value: () => any }}
 */
export function columnMapping(columns, guess, onChange) {
  const selects = Object.fromEntries(
    ROLES.map(([role, label]) => {
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
      el("div", { class: "row" }, ...ROLES.map(([role]) => selects[role].node)),
      references,
    ),
    value: () => ({
      ...Object.fromEntries(ROLES.map(([role]) => [role, selects[role].select.value])),
      references: boxes.filter((box) => box.checked).map((box) => box.value),
    }),
  };
}

/** The first rows, shortened to a readable length. */
export function previewTable(rows) {
  if (!rows.length)
    return el("p", { class: "error", text: "No row can be read like this: choose the column of the candidates." });
  const has = (name) => rows.some((row) => row[name] !== undefined && row[name] !== "");
  const names = ["id", ...["system"].filter(has), "candidate", "references", ...["source", "human"].filter(has)];
  const cell = (row, name) => {
    const value = name === "references" ? row.references.join(" \u2016 ") : row[name];
    return el("td", { class: "name", dir: "auto", text: shortened(value === undefined ? "" : String(value)) });
  };
  const body = rows.map((row) =>
    el("tr", {}, el("th", { scope: "row", text: shortened(row.id) }), ...names.slice(1).map((name) => cell(row, name))),
  );
  return scrollTable("The first rows as they will be scored", names, body, { id: "u-preview" });
}

function shortened(text) {
  const letters = Array.from(text.slice(0, 2 * PREVIEW_LETTERS));
  return letters.length > PREVIEW_LETTERS ? `${letters.slice(0, PREVIEW_LETTERS).join("")}\u2026` : text;
}

/** Controls of a table of separated values, null for others; `reread({delimiter, header}, id of the control)`. */
export function separatorChoice(table, reread) {
  if (table.kind !== "csv") return null;
  const current = { delimiter: table.delimiter, header: table.header };
  const separator = labelledSelect("Separator", (delimiter) => reread({ ...current, delimiter }, "u-separator"));
  separator.select.id = "u-separator";
  separator.node.firstChild.htmlFor = "u-separator";
  separator.fill(SEPARATORS, table.delimiter);
  const answer = (header, text) => {
    const id = header ? "u-header-yes" : "u-header-no";
    const input = el("input", {
      type: "radio",
      name: "u-header",
      id,
      onchange: () => reread({ ...current, header }, id),
    });
    input.checked = table.header === header;
    return el("label", { class: "check" }, input, text);
  };
  const first = table.header === null ? table.records[0].cells.join(` ${table.delimiter.trim()} `) : "";
  const shown = first.length > FIRST_LINE_LETTERS ? `${first.slice(0, FIRST_LINE_LETTERS)}\u2026` : first;
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

/** The position of a record in its file: "line 3", or "entry 3" of a JSON list. */
function recordPlace(table, line) {
  return `${table.unit} ${line}`;
}

/** The value of a column in a record; undefined if it has none. */
function recordValue(table, record, column) {
  if (table.kind !== "csv") return Object.hasOwn(record.value, column) ? record.value[column] : undefined;
  const index = table.columns.indexOf(column);
  return index < 0 ? undefined : record.cells[index];
}
