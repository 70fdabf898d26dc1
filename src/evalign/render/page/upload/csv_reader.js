// CSV and TSV by RFC 4180, and JSON lines, as text comes in: quotes, doubled quotes, line breaks inside fields, CRLF,
// LF or CR. A reader takes pieces of a file and gives records {line, cells} or {line, value}; what cannot be read is
// {line, error}, and reading goes on at the next line.

import { usualNames } from "./column_names.js";

const CSV_DELIMITERS = [",", "\t", ";", "|"];
const CSV_GUESSED = 20; // lines that are looked at
const CSV_FIELD = 0; // at the start of a field
const CSV_PLAIN = 1;
const CSV_QUOTED = 2;
const CSV_CLOSED = 3; // after a quote inside quotes: the end of the field, or the first half of a doubled quote
const CSV_BROKEN = 4; // to the end of the line

/** Reads separated values: `push(text)` and at last `end()` give the records that are complete by then. */
export function csvReader(delimiter = ",") {
  let state = CSV_FIELD;
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
    state = CSV_FIELD;
  }

  function endRecord() {
    const blank = state === CSV_FIELD && !cells.length && field === "";
    if (state === CSV_BROKEN) records.push({ line: first, error });
    else if (!blank) {
      endField();
      records.push({ line: first, cells });
    }
    cells = [];
    field = "";
    state = CSV_FIELD;
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

  /** Where the run of ordinary characters that begins here stops. */
  function plainEnd(text, start) {
    for (let place = start; place < text.length; place += 1) {
      const sign = text[place];
      if (sign === delimiter || sign === "\n" || sign === "\r") return place;
    }
    return text.length;
  }

  function quotedEnd(text, start) {
    const stop = text.indexOf('"', start);
    return stop < 0 ? text.length : stop;
  }

  function take(text) {
    for (let place = 0; place < text.length;) {
      const sign = text[place];
      if (state === CSV_QUOTED) {
        const stop = quotedEnd(text, place);
        const run = text.slice(place, stop);
        line += lineBreaks(run, afterReturn);
        if (run) afterReturn = run.endsWith("\r");
        field += run;
        if (stop < text.length) {
          state = CSV_CLOSED;
          afterReturn = false;
        }
        place = stop + 1;
        continue;
      }
      if (sign === "\n" || sign === "\r") {
        newLine(sign);
        place += 1;
        continue;
      }
      afterReturn = false;
      if (state === CSV_BROKEN) place = Math.max(plainEnd(text, place), place + 1);
      else if (sign === delimiter) {
        endField();
        place += 1;
      } else if (state === CSV_CLOSED && sign === '"') {
        field += '"';
        state = CSV_QUOTED;
        place += 1;
      } else if (state === CSV_CLOSED) {
        state = CSV_BROKEN;
        error = `after the closing quote of field ${cells.length + 1} a delimiter or the end of the line must follow`;
      } else if (state === CSV_FIELD && sign === '"') {
        state = CSV_QUOTED;
        place += 1;
      } else {
        const stop = plainEnd(text, place);
        field += text.slice(place, stop);
        state = CSV_PLAIN;
        place = stop;
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
      if (state === CSV_QUOTED) {
        state = CSV_BROKEN;
        error = "a quote that opens here is never closed, so the rest of the file could not be read";
      }
      if (state !== CSV_FIELD || cells.length || field) endRecord();
      return complete();
    },
  };
}

/** Reads JSON lines; every record is an object, NaN and Infinity are errors as in the standard. */
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

/** The delimiter under which a file's first lines look most like a table: the usual names stand in its header, its
    lines have equally many fields, and many that do not begin with a space, as words behind a comma do. `usual` wins if
    nothing speaks for another. */
export function guessDelimiter(head, usual = ",") {
  const signs = [usual, ...CSV_DELIMITERS.filter((sign) => sign !== usual)];
  const judged = signs.map((sign) => {
    const records = firstRecords(head, sign);
    const first = records[0] ?? [];
    const alike = records.filter((cells) => cells.length === first.length).length / (records.length || 1);
    const tight = first.slice(1).filter((cell) => !cell.startsWith(" ")).length;
    return { sign, merits: first.length > 1 ? [usualNames(first), Math.floor(4 * alike), tight] : [0, 0, 0] };
  });
  return judged.reduce((best, tried) => {
    const place = tried.merits.findIndex((merit, at) => merit !== best.merits[at]);
    return place >= 0 && tried.merits[place] > best.merits[place] ? tried : best;
  }).sign;
}

/** The fields of the first lines, none where a line cannot be read; the last one may have been cut off. */
function firstRecords(head, delimiter) {
  const reader = csvReader(delimiter);
  const whole = reader.push(head);
  const records = whole.length > 1 ? whole : [...whole, ...reader.end()];
  return records.slice(0, CSV_GUESSED).map((record) => record.cells ?? []);
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
