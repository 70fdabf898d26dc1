// Writes CSV by RFC 4180. The reader is in upload/csv_reader.js, for exported files do not need it.

/** Rows of cells as CSV; null and undefined are empty cells. */
export function csvLines(rows) {
  return rows.map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(value) {
  const text = String(value ?? "");
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
