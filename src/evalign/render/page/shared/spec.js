// Metric specs such as bertscore(model=minilm, layer=5). They are only written here; the server reads them.

/** The spec of a metric with some options, {name: value}. */
export function writtenSpec(metric, options) {
  const written = Object.entries(options).map(([name, value]) => `${name}=${specValue(value)}`);
  return written.length ? `${metric}(${written.join(", ")})` : metric;
}

function specValue(value) {
  return /^[^\s,()="\\]+$/.test(value) ? value : JSON.stringify(value);
}
