// Reads a chosen file as records, slice by slice, UTF-8 only: JSONL, CSV, TSV, a JSON list, or a document that the page
// saved. CSV is RFC 4180: quotes, doubled quotes, line breaks inside fields, CRLF, LF or CR; a line that cannot be read
// is an error of its own, and reading goes on after it.

import { checkedDocument, isDocument } from "../shared/document.js";
import { usualNameCount } from "./columns.js";

const MAX_FILE_BYTES = 100 * 2 ** 20; // the rows of such a file fit into the memory of a browser tab
const SLICE_BYTES = 2 ** 22;
const FILE_TYPES = new Map([
  ["jsonl", "jsonl"],
  ["ndjson", "jsonl"],
  ["json", "json"],
  ["csv", "csv"],
  ["tsv", "tsv"],
  ["tab", "tsv"],
]);
const DELIMITERS = [",", "\t", ";", "|"];
const GUESSED_LINES = 20; // of the file, from which the separator is guessed
const FIELD_START = 0; // at the start of a field
const PLAIN_FIELD = 1;
const QUOTED_FIELD = 2;
const QUOTE_CLOSED = 3; // after a quote inside a quoted field: the end of the field, or the first half of a doubled quote
const BROKEN_LINE = 4; // to the end of the line

/**
 * Read a file; `onProgress(share)` from 0 to 1. Throws an Error with a sentence if nothing can be read at all. `choices` may
 * have the `delimiter` of separated values, and as `header` whether their first line names the columns; what they do not
 * say is guessed. The table's `header` is null if neither is clear: then the first line is read as a row.
 * @returns {Promise<any>}
 */
export async function readRecords(file, onProgress = (_share) => {}, signal = undefined, choices = {}) {
  if (file.size > MAX_FILE_BYTES) {
    throw new Error(
      `${file.name} has ${Math.round(file.size / 2 ** 20)} MB; this page reads up to ` +
        `${MAX_FILE_BYTES / 2 ** 20} MB. For more, use the command line: evalign score ${file.name} -m bertscore`,
    );
  }
  const head = await sliceText(file, 0, 4096);
  const kind = FILE_TYPES.get(file.name.split(".").pop().toLowerCase()) ?? (/^\s*[{[]/.test(head) ? "json" : "csv");
  if (kind === "json" || (kind === "jsonl" && head.startsWith('{"format"'))) {
    const whole = wholeJson(await decodedFile(file, signal));
    if (whole) return whole;
  }
  const separated = kind === "csv" || kind === "tsv";
  const delimiter = choices.delimiter ?? guessDelimiter(head, kind === "tsv" ? "\t" : ",");
  const reader = separated ? csvReader(delimiter) : jsonlReader();
  const table = separated ? separatedTable(choices.header) : objectTable();
  for await (const { text, share } of decodedSlices(file, signal)) {
    table.take(reader.push(text));
    onProgress(share);
  }
  table.take(reader.end());
  return { kind: separated ? "csv" : "jsonl", unit: "line", delimiter: separated ? delimiter : null, ...table.done() };
}

function separatedTable(hasHeader) {
  let columns = null;
  let header = hasHeader ?? null;
  const records = [];
  const problems = [];
  return {
    take(read) {
      for (const record of read) {
        const place = `line ${record.line}`;
        if (record.error) problems.push({ place, message: record.error });
        else if (columns === null) {
          if (header === null && usualNameCount(record.cells)) header = true;
          columns = distinctNames(header ? record.cells : record.cells.map(() => ""));
          if (!header) records.push(record);
        } else if (record.cells.length !== columns.length) {
          const first = header ? "header" : "first line";
          problems.push({
            place,
            message: `${fieldCount(record.cells.length)}, the ${first} has ${columns.length}`,
          });
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

/** The table of a JSON list, or a document; null if the text is neither (it may still be JSON lines). */
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
    value.map((record, index) =>
      record !== null && typeof record === "object" && !Array.isArray(record)
        ? { line: index + 1, value: record }
        : { line: index + 1, error: "expected a JSON object" },
    ),
  );
  return { kind: "jsonl", unit: "entry", delimiter: null, ...table.done() };
}

async function decodedFile(file, signal) {
  const parts = [];
  for await (const { text } of decodedSlices(file, signal)) parts.push(text);
  return parts.join("");
}

/** The text in slices; throws an Error with the line of a byte that is not UTF-8. */
async function* decodedSlices(file, signal) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  for (let start = 0; start < file.size; start += SLICE_BYTES) {
    signal?.throwIfAborted();
    const stop = Math.min(start + SLICE_BYTES, file.size);
    const bytes = new Uint8Array(await file.slice(start, stop).arrayBuffer());
    let text;
    try {
      text = decoder.decode(bytes, { stream: stop < file.size });
    } catch {
      throw new Error(encodingProblem(file, bytes, line, start));
    }
    for (const byte of bytes) if (byte === 10) line += 1;
    yield { text, share: stop / file.size };
  }
}

function encodingProblem(file, bytes, line, start) {
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
  return cells.map((cell, index) => {
    const name = cell.trim() || `column ${index + 1}`;
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times > 1 ? `${name} (${times})` : name;
  });
}

function fieldCount(count) {
  return `${count} ${count === 1 ? "field" : "fields"}`;
}

/** Read separated values: `push(text)` and at last `end()` give the records that are complete by then. */
export function csvReader(delimiter = ",") {
  let state = FIELD_START;
  let field = "";
  let cells = [];
  let line = 1;
  let first = 1; // the line where the record began
  let afterReturn = false;
  let error = "";
  let records = [];

  function endField() {
    cells.push(field);
    field = "";
    state = FIELD_START;
  }

  function endRecord() {
    const blank = state === FIELD_START && !cells.length && field === "";
    if (state === BROKEN_LINE) records.push({ line: first, error });
    else if (!blank) {
      endField();
      records.push({ line: first, cells });
    }
    cells = [];
    field = "";
    state = FIELD_START;
  }

  function newLine(sign) {
    if (sign === "\n" && afterReturn) {
      afterReturn = false;
      first = line;
      return;
    }
    endRecord();
    line += 1;
    first = line;
    afterReturn = sign === "\r";
  }

  /** The end of the run of ordinary characters that begins here. */
  function plainEnd(text, start) {
    for (let index = start; index < text.length; index += 1) {
      const sign = text[index];
      if (sign === delimiter || sign === "\n" || sign === "\r") return index;
    }
    return text.length;
  }

  function quotedEnd(text, start) {
    const stop = text.indexOf('"', start);
    return stop < 0 ? text.length : stop;
  }

  function take(text) {
    for (let index = 0; index < text.length;) {
      const sign = text[index];
      if (state === QUOTED_FIELD) {
        const stop = quotedEnd(text, index);
        const run = text.slice(index, stop);
        line += lineBreaks(run, afterReturn);
        if (run) afterReturn = run.endsWith("\r");
        field += run;
        if (stop < text.length) {
          state = QUOTE_CLOSED;
          afterReturn = false;
        }
        index = stop + 1;
        continue;
      }
      if (sign === "\n" || sign === "\r") {
        newLine(sign);
        index += 1;
        continue;
      }
      afterReturn = false;
      if (state === BROKEN_LINE) index = Math.max(plainEnd(text, index), index + 1);
      else if (sign === delimiter) {
        endField();
        index += 1;
      } else if (state === QUOTE_CLOSED && sign === '"') {
        field += '"';
        state = QUOTED_FIELD;
        index += 1;
      } else if (state === QUOTE_CLOSED) {
        state = BROKEN_LINE;
        error = `after the closing quote of field ${cells.length + 1} a delimiter or the end of the line must follow`;
      } else if (state === FIELD_START && sign === '"') {
        state = QUOTED_FIELD;
        index += 1;
      } else {
        const stop = plainEnd(text, index);
        field += text.slice(index, stop);
        state = PLAIN_FIELD;
        index = stop;
      }
    }
  }

  function complete() {
    const complete = records;
    records = [];
    return complete;
  }

  return {
    push(text) {
      take(text);
      return complete();
    },
    end() {
      if (state === QUOTED_FIELD) {
        state = BROKEN_LINE;
        error = "a quote that opens here is never closed, so the rest of the file could not be read";
      }
      if (state !== FIELD_START || cells.length || field) endRecord();
      return complete();
    },
  };
}

/** Read JSON lines; every record is an object, NaN and Infinity are errors as in the standard. */
export function jsonlReader() {
  let rest = "";
  let line = 0;
  function records(lines) {
    const complete = [];
    for (const text of lines) {
      line += 1;
      if (text.trim() !== "") complete.push({ line, ...jsonRecord(text) });
    }
    return complete;
  }
  return {
    push(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      return records(lines);
    },
    end() {
      const last = rest;
      rest = "";
      return records([last]);
    },
  };
}

/** The delimiter under which a file's first lines look most like a table: its header has usual names, its
    lines have equally many fields, and many that do not begin with a space, as words behind a comma do. `usual` wins if
    nothing speaks for another. */
export function guessDelimiter(head, usual = ",") {
  const signs = [usual, ...DELIMITERS.filter((sign) => sign !== usual)];
  const rated = signs.map((sign) => {
    const records = firstRecords(head, sign);
    const first = records[0] ?? [];
    const alike = records.filter((cells) => cells.length === first.length).length / (records.length || 1);
    const tight = first.slice(1).filter((cell) => !cell.startsWith(" ")).length;
    return { sign, merits: first.length > 1 ? [usualNameCount(first), Math.floor(4 * alike), tight] : [0, 0, 0] };
  });
  return rated.reduce((best, tried) => {
    const index = tried.merits.findIndex((merit, at) => merit !== best.merits[at]);
    return index >= 0 && tried.merits[index] > best.merits[index] ? tried : best;
  }).sign;
}

/** The fields of the first lines, none where a line cannot be read; the last one may have been cut off. */
function firstRecords(head, delimiter) {
  const reader = csvReader(delimiter);
  const whole = reader.push(head);
  const records = whole.length > 1 ? whole : [...whole, ...reader.end()];
  return records.slice(0, GUESSED_LINES).map((record) => record.cells ?? []);
}

function jsonRecord(text) {
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return { value };
    const kind = Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
    return { error: `expected a JSON object, found ${kind}` };
  } catch (error) {
    return { error: `not JSON (${error.message})` };
  }
}

/** Line breaks in a quoted run: CRLF is one, also where its halves came in two pieces. */
function lineBreaks(run, afterReturn) {
  const breaks = run.match(/\r\n|\r|\n/g)?.length ?? 0;
  return afterReturn && run.startsWith("\n") ? breaks - 1 : breaks;
}
