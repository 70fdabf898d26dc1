// Reads a chosen file as records, slice by slice, UTF-8 only: JSONL, CSV, TSV, a JSON list, or a document that the page
// saved. In: a File, and what the reader of the page has said of it. Out: {kind, unit, delimiter, header, columns, records,
// problems} or {document}.

import { usualNames } from "./column_names.js";
import { csvReader, guessDelimiter, jsonlReader } from "./csv_reader.js";
import { checkedDocument, isDocument } from "./saved_document.js";

const UPLOAD_LIMIT = 100 * 2 ** 20; // bytes; the rows of such a file fit into the memory of a browser tab
const UPLOAD_SLICE = 2 ** 22;
const UPLOAD_NAMES = new Map([
  ["jsonl", "jsonl"],
  ["ndjson", "jsonl"],
  ["json", "json"],
  ["csv", "csv"],
  ["tsv", "tsv"],
  ["tab", "tsv"],
]);

/**
 * Reads a file; `onProgress(share)` from 0 to 1. Throws an Error with a sentence if nothing can be read at all. `said` may
 * have the `delimiter` of separated values, and as `header` whether their first line names the columns; what it does not
 * say is guessed. The table's `header` is null where nobody knows: then the first line is read as a row.
 * @returns {Promise<any>}
 */
export async function readRecords(file, onProgress = (_share) => {}, signal = undefined, said = {}) {
  if (file.size > UPLOAD_LIMIT) {
    throw new Error(
      `${file.name} has ${Math.round(file.size / 2 ** 20)} MB; this page reads up to ` +
        `${UPLOAD_LIMIT / 2 ** 20} MB. For more, use the command line: evalign score ${file.name} -m bertscore`,
    );
  }
  const head = await sliceText(file, 0, 4096);
  const kind = UPLOAD_NAMES.get(file.name.split(".").pop().toLowerCase()) ?? (/^\s*[{[]/.test(head) ? "json" : "csv");
  if (kind === "json" || (kind === "jsonl" && head.startsWith('{"format"'))) {
    const whole = wholeJson(await decodedFile(file, signal));
    if (whole) return whole;
  }
  const separated = kind === "csv" || kind === "tsv";
  const delimiter = said.delimiter ?? guessDelimiter(head, kind === "tsv" ? "\t" : ",");
  const reader = separated ? csvReader(delimiter) : jsonlReader();
  const table = separated ? separatedTable(said.header) : objectTable();
  for await (const { text, share } of decodedSlices(file, signal)) {
    table.take(reader.push(text));
    onProgress(share);
  }
  table.take(reader.end());
  return { kind: separated ? "csv" : "jsonl", unit: "line", delimiter: separated ? delimiter : null, ...table.done() };
}

/** Where a record stands, for people: "line 3", or "entry 3" of a JSON list. */
export function recordPlace(table, line) {
  return `${table.unit} ${line}`;
}

/** The value of a column in a record; undefined if it has none. */
export function recordValue(table, record, column) {
  if (table.kind !== "csv") return Object.hasOwn(record.value, column) ? record.value[column] : undefined;
  const place = table.columns.indexOf(column);
  return place < 0 ? undefined : record.cells[place];
}

function separatedTable(said) {
  let columns = null;
  let header = said ?? null;
  const records = [];
  const problems = [];
  return {
    take(read) {
      for (const record of read) {
        const place = `line ${record.line}`;
        if (record.error) problems.push({ place, message: record.error });
        else if (columns === null) {
          if (header === null && usualNames(record.cells)) header = true;
          columns = distinctNames(header ? record.cells : record.cells.map(() => ""));
          if (!header) records.push(record);
        } else if (record.cells.length !== columns.length) {
          const first = header ? "header" : "first line";
          problems.push({ place, message: `${fieldCount(record.cells.length)}, the ${first} has ${columns.length}` });
        } else records.push(record);
      }
    },
    done: () => ({ columns: columns ?? [], header, records, problems }),
  };
}

function objectTable(unit = "line") {
  const columns = new Set();
  const records = [];
  const problems = [];
  return {
    take(read) {
      for (const record of read) {
        if (record.error) problems.push({ place: `${unit} ${record.line}`, message: record.error });
        else {
          for (const name of Object.keys(record.value)) columns.add(name);
          records.push(record);
        }
      }
    },
    done: () => ({ columns: [...columns], header: true, records, problems }),
  };
}

/** A list of objects, or a document; nothing if the text is neither (it may still be JSON lines). */
function wholeJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (isDocument(value)) return { document: checkedDocument(value) };
  if (!Array.isArray(value)) return null;
  const table = objectTable("entry");
  table.take(
    value.map((record, place) =>
      record !== null && typeof record === "object" && !Array.isArray(record)
        ? { line: place + 1, value: record }
        : { line: place + 1, error: "expected a JSON object" },
    ),
  );
  return { kind: "jsonl", unit: "entry", delimiter: null, ...table.done() };
}

async function decodedFile(file, signal) {
  const parts = [];
  for await (const { text } of decodedSlices(file, signal)) parts.push(text);
  return parts.join("");
}

/** The text in slices; a byte that is no UTF-8 is named by its line. */
async function* decodedSlices(file, signal) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  for (let start = 0; start < file.size; start += UPLOAD_SLICE) {
    signal?.throwIfAborted();
    const stop = Math.min(start + UPLOAD_SLICE, file.size);
    const bytes = new Uint8Array(await file.slice(start, stop).arrayBuffer());
    let text;
    try {
      text = decoder.decode(bytes, { stream: stop < file.size });
    } catch {
      throw new Error(notUtf8(file, bytes, line, start));
    }
    for (const byte of bytes) if (byte === 10) line += 1;
    yield { text, share: stop / file.size };
  }
}

function notUtf8(file, bytes, line, start) {
  const utf16 = start === 0 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff));
  if (utf16) return `${file.name} is UTF-16, not UTF-8; save it as UTF-8 and open it again.`;
  let at = line;
  for (let from = 0; from < bytes.length; at += 1) {
    const end = bytes.indexOf(10, from);
    const stop = end < 0 ? bytes.length : end;
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(from, stop));
    } catch {
      if (start > 0 && from === 0) {
        from = stop + 1;
        continue;
      } // this line began in the slice before
      break;
    }
    from = stop + 1;
  }
  return `${file.name} is not UTF-8: line ${at} has bytes that are no text in it; save it as UTF-8 and open it again.`;
}

async function sliceText(file, start, stop) {
  return new TextDecoder().decode(await file.slice(start, stop).arrayBuffer());
}

function distinctNames(cells) {
  const seen = new Map();
  return cells.map((cell, place) => {
    const name = cell.trim() || `column ${place + 1}`;
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times > 1 ? `${name} (${times})` : name;
  });
}

function fieldCount(count) {
  return `${count} ${count === 1 ? "field" : "fields"}`;
}
