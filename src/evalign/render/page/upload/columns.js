// Which column of a file holds what: a guess from the usual names, and rows from records by such a mapping. A record that
// cannot become a row is reported with its line; the others are read. The rules are those of Python's reader, but for
// rows without an id: they are called by the line that they begin in, where a reader finds them.

import { COLUMN_NAMES, plainName } from "./column_names.js";
import { recordPlace, recordValue } from "./read_file.js";

/** A mapping {candidate, references: [..], source, system, human, id} of column names, "" where nothing fits; of two
    columns without names, the first is taken for the candidate and the second for its reference. */
export function guessColumns(columns, named = true) {
  if (!named && columns.length === 2) {
    return { candidate: columns[0], references: [columns[1]], source: "", system: "", human: "", id: "" };
  }
  const plain = new Map(columns.map((column) => [column, plainName(column)]));
  const taken = new Set();
  const exact = (role) => {
    for (const name of COLUMN_NAMES[role]) {
      const column = columns.find((header) => plain.get(header) === name && !taken.has(header));
      if (column !== undefined) {
        taken.add(column);
        return column;
      }
    }
    return "";
  };
  const mapping = { candidate: exact("candidate") };
  const numbered = columns.filter(
    (header) => /^(references?|refs?|targets?|gold)\d*$/.test(plain.get(header)) && !taken.has(header),
  );
  for (const column of numbered) taken.add(column);
  const single = numbered.length ? "" : exact("references");
  mapping.references = single ? [single] : numbered;
  for (const role of ["source", "system", "human", "id"]) mapping[role] = exact(role);
  if (!mapping.candidate) {
    mapping.candidate =
      columns.find(
        (header) => /candidate|hypothes|predict|output|transl/.test(plain.get(header)) && !taken.has(header),
      ) ?? "";
  }
  return mapping;
}

/** {rows, places, problems} of all records under a mapping; `places` has where each row begins, as in "line 3". */
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
    throw new Error(`${mapping.candidate}: expected a text, found ${kindOf(candidate)}`);
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
    throw new Error(`${mapping.source}: expected a text, found ${kindOf(source)}`);
  }
  const human = rating(value(mapping.human));
  if (human !== null) row.human = human;
  return row;
}

/** A column holds one text or a list; of several columns empty cells are left out, so that rows may have fewer. */
function referencesFrom(table, columns, value) {
  const references = [];
  for (const column of columns) {
    const cell = table.kind === "csv" ? listedCell(value(column)) : value(column);
    if (typeof cell === "string") {
      if (cell !== "" || columns.length === 1) references.push(cell);
    } else if (Array.isArray(cell) && cell.every((text) => typeof text === "string")) references.push(...cell);
    else if (cell !== undefined || columns.length === 1) {
      throw new Error(`${column}: expected a text or a list of texts, found ${kindOf(cell)}`);
    }
  }
  return references;
}

/** A cell of CSV that is a JSON list of texts is that list. */
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

function kindOf(value) {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  return Array.isArray(value)
    ? "a list"
    : ({ string: "a text", number: "a number", boolean: "true or false" }[typeof value] ?? "an object");
}
