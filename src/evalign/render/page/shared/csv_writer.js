// Writes CSV by RFC 4180. The reader is in upload/csv_reader.js, for exported files do not need it. A text that a
// spreadsheet would take for a formula gets an apostrophe before it, which spreadsheets do not show.

const CSV_FORMULA = /^[=+\-@]/;

/** Rows of cells as CSV; null and undefined are empty cells. */
export function csvLines(rows) {
  return rows.map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(value) {
  const plain = String(value ?? "");
  const text = CSV_FORMULA.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
