// Numbers as text (scores, differences, p-values, counts), the level that a value is coloured by, and rows as CSV.

const MINUS = "\u2212";
const FORMULA_START = /^[=+\-@]/;

/** A score of one pair with four digits, as on the command line; never "-0.0000". */
export function fourDigits(value) {
  return (Object.is(value, -0) ? 0 : value).toFixed(4).replace(/^-(0\.0000)$/, "$1");
}

/** The level of a value: 0 for the best; `bounds` has the least value of each level, best first. */
export function levelOf(value, bounds) {
  const number = bounds.findIndex((bound) => value >= bound);
  return number < 0 ? bounds.length : number;
}

/** Four digits after the point for scores up to 1, three for log-probabilities, two for scores up to 100 and more. */
export function scoreDigits(metric) {
  const [low, high] = metric.bounds;
  if (high === null || high >= 10) return 2;
  return low !== null && high - low <= 2 ? 4 : 3;
}

/** A number with a minus sign (U+2212); a dash if it is not finite. */
export function numberText(value, digits, signed = false) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "\u2013";
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return signed ? `\u00b1${text}` : text;
  return (value < 0 ? MINUS : signed ? "+" : "") + text;
}

/** "p = 0.003", never "p = 0". */
export function pText(value) {
  if (value < 0.001) return "p\u00a0<\u00a00.001";
  return `p\u00a0=\u00a0${value.toFixed(value < 0.1 ? 3 : 2)}`;
}

/** 12345 as "12,345". */
export function countText(count) {
  return count.toLocaleString("en");
}

/** "1 row", "2 rows". */
export function countOf(count, singular, plural = `${singular}s`) {
  return `${countText(count)} ${count === 1 ? singular : plural}`;
}

/** Rows of cells as CSV; null and undefined are empty cells. */
export function csvText(rows) {
  return rows.map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");
}

function csvCell(value) {
  const plain = String(value ?? "");
  const text = FORMULA_START.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
