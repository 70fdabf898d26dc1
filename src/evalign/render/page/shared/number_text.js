// How numbers are shown: scores, differences, p-values and counts as text, and the class that a value is coloured by.

const MINUS = "\u2212";

/** A score of one pair with the digits that the command line prints; never "-0.0000". */
export function fourDigits(value) {
  return (Object.is(value, -0) ? 0 : value).toFixed(4).replace(/^-(0\.0000)$/, "$1");
}

/** The number of the class that a value belongs to: 0 for the best; `bounds` has the least value of each, best first. */
export function classOf(value, bounds) {
  const number = bounds.findIndex((bound) => value >= bound);
  return number < 0 ? bounds.length : number;
}

/** Four digits after the point for scores up to 1, three for log-probabilities, two for scores up to 100 and more. */
export function scoreDigits(metric) {
  const [low, high] = metric.bounds;
  if (high === null || high >= 10) return 2;
  return low !== null && high - low <= 2 ? 4 : 3;
}

/** A number with a minus sign (U+2212); a dash if it is no finite number. */
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
