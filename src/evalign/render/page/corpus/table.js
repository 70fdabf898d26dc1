// A corpus document as columns of numbers: values by metric and field, rows by system, rows of the same input, human
// ratings. Documents do not say which rows answer the same input, so the rule of Python's comparison is applied here.

/** The table of one document. */
export function makeTable(doc) {
  const cache = new Map();
  const once = (key, make) => {
    if (!cache.has(key)) cache.set(key, make());
    return cache.get(key);
  };
  const rowsOf = new Map(doc.systems.map((system) => [system, []]));
  doc.rows.forEach((row, index) => rowsOf.get(row.system ?? "")?.push(index));
  const table = {
    doc,
    tie: doc.tie ?? 0, // scores that differ by no more are a tie
    metrics: doc.metrics,
    systems: doc.systems,
    rows: doc.rows,
    problems: doc.problems ?? [],
    rowsOf: (system) => rowsOf.get(system) ?? [],
    values: (metric, field) => once(`v ${metric} ${field}`, () => scoreColumn(doc, metric, field)),
    result: (system, metric) =>
      doc.results.find((result) => result.system === system && result.metric === doc.metrics[metric].metric) ?? null,
    human: () => once("human", () => humanColumn(doc)),
    disagreement: (metric, field) => once(`d ${metric} ${field}`, () => disagreementColumn(table, metric, field)),
    groups: (systems) => once(`g ${JSON.stringify(systems)}`, () => groupedRows(table, systems)),
    pairs: (a, b) => once(`p ${JSON.stringify([a, b])}`, () => pairedRows(table, a, b)),
    alignment: (row, metric) => once("alignments", () => alignmentsOf(doc)).get(`${row} ${metric}`) ?? null,
    failures: () => once("failures", () => failedRows(doc)),
    hasTexts: doc.rows.some((row) => typeof row.candidate === "string"),
  };
  return table;
}

/** The name of a system on the page. */
export function systemLabel(system) {
  return system === "" ? "unnamed system" : system;
}

/**
 * Differences b - a of all pairs with two scores, and wins, losses and ties of b, for systems that the document has no
 * test of.
 */
export function pairedDifferences(table, a, b, metric, field) {
  const values = table.values(metric, field);
  const sign = table.metrics[metric].higher_is_better ? 1 : -1;
  const paired = { differences: [], wins: 0, losses: 0, ties: 0, missing: 0, mean: 0 };
  for (const pair of table.pairs(a, b).pairs) {
    const difference = values[pair[1]] - values[pair[0]];
    if (Number.isNaN(difference)) {
      paired.missing += 1;
      continue;
    }
    paired.differences.push({ pair, difference });
    if (sign * difference > table.tie) paired.wins += 1;
    else if (sign * difference < -table.tie) paired.losses += 1;
    else paired.ties += 1;
    paired.mean += difference;
  }
  paired.mean /= paired.differences.length || 1;
  return paired;
}

function scoreColumn(doc, metric, field) {
  return Float64Array.from(doc.rows, (row) => row.scores[metric]?.[field] ?? NaN);
}

/** Human ratings, NaN for unrated rows; null if there are none at all. */
function humanColumn(doc) {
  const column = Float64Array.from(doc.rows, ({ human }) => (typeof human === "number" ? human : NaN));
  return column.some((value) => !Number.isNaN(value)) ? column : null;
}

/** Percentile rank of each rated row under the metric (0 worst, 100 best) minus its rank by human rating. */
function disagreementColumn(table, metric, field) {
  const sign = table.metrics[metric].higher_is_better ? 1 : -1;
  const [values, human] = [table.values(metric, field), table.human()];
  const column = new Float64Array(table.rows.length).fill(NaN);
  if (!human) return column;
  const rated = Array.from(values.keys()).filter((row) => !Number.isNaN(values[row]) && !Number.isNaN(human[row]));
  const metricRanks = percentiles(rated.map((row) => sign * values[row]));
  const humanRanks = percentiles(rated.map((row) => human[row]));
  rated.forEach((row, index) => {
    column[row] = metricRanks[index] - humanRanks[index];
  });
  return column;
}

/** Rows of two systems that answer the same input; `alone` counts those without a partner. */
function pairedRows(table, a, b) {
  const { how, groups } = table.groups([a, b]);
  const pairs = groups.filter((rows) => rows.length === 2);
  return { how, pairs, alone: groups.length - pairs.length };
}

/** Rows of systems that answer the same input, [rows in the order of the systems]: those with the same id, or else with
    the same references and source, whichever brings more together. */
function groupedRows(table, systems) {
  let best = { how: "", groups: systems.flatMap((system) => table.rowsOf(system).map((row) => [row])) };
  for (const [how, keysOf] of Object.entries({ id: idKeys, text: textKeys })) {
    const keyed = systems.map((system) => keysOf(table, table.rowsOf(system)));
    if (keyed.includes(null)) continue;
    const together = new Map();
    for (const [key, row] of keyed.flatMap((keys) => [...keys])) {
      const whole = JSON.stringify([key, inputKey(table.rows[row])]); // the same id with another input is another row
      if (!together.has(whole)) together.set(whole, []);
      together.get(whole).push(row);
    }
    if (together.size < best.groups.length) best = { how, groups: [...together.values()] };
    if (best.groups.every((rows) => rows.length === systems.length)) break;
  }
  return best;
}

function idKeys(table, rows) {
  const keys = new Map(rows.map((row) => [String(table.rows[row].id), row]));
  return keys.size === rows.length ? keys : null;
}

function textKeys(table, rows) {
  const seen = new Map();
  const keys = new Map();
  for (const row of rows) {
    const key = inputKey(table.rows[row]);
    if (key === "") return null;
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    keys.set(`${times} ${key}`, row);
  }
  return keys;
}

function inputKey(row) {
  if (!row.references?.length && row.source === undefined) return "";
  return JSON.stringify([row.references ?? [], row.source ?? null]);
}

function failedRows(doc) {
  const failures = [];
  doc.rows.forEach((row, index) =>
    row.errors.forEach((error, metric) => {
      if (error) failures.push({ row: index, metric, error });
    }),
  );
  return failures;
}

/** The alignments in the document, by index of row and metric. */
function alignmentsOf(doc) {
  return new Map((doc.alignments?.rows ?? []).map(({ row, metric, alignment }) => [`${row} ${metric}`, alignment]));
}

/** The percentile rank of each value: 0 the lowest, 100 the highest, ties share their mean rank, 50 if alone. */
export function percentiles(values) {
  const order = values.map((_value, index) => index).sort((first, second) => values[first] - values[second]);
  const places = new Array(values.length).fill(50);
  if (values.length < 2) return places;
  for (let start = 0; start < order.length;) {
    let stop = start;
    while (stop < order.length && values[order[stop]] === values[order[start]]) stop += 1;
    for (let index = start; index < stop; index += 1) {
      places[order[index]] = ((start + stop - 1) / 2 / (values.length - 1)) * 100;
    }
    start = stop;
  }
  return places;
}
