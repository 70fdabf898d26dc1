// How numbers are written in the views of one pair of texts: the same digits as on the command line.

/** Numbers as the whole project prints them. */
export function fourDigits(value) {
  return (Object.is(value, -0) ? 0 : value).toFixed(4).replace(/^-(0\.0000)$/, "$1");
}
