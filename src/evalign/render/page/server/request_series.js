// Work that takes a series of requests: IDF tables of many texts, tests of many rows, alignments of the rows of a file.
// The server keeps no state, so what its answers have in common is added up here.

const IDF_CHUNK_CHARACTERS = 100000; // at most 6 bytes each in JSON: well below the server's limit
const IDF_CHUNK_TEXTS = 5000;
const TOO_MUCH_TEXT_CODES = ["too-many-tokens", "too-many-texts"];
const BODY_SHARE = 0.8; // of a request's bytes that rows may take
const SUMS_GROWTH = 1.1; // sums of more parts have more digits, and the body has names
const MAX_ALIGNED_ROWS = 200; // of one file: some seconds of work
const MAX_ALIGNMENT_BYTES = 6_000_000;

/**
 * The IDF table of texts (document frequencies), as the server's `idf` fields take it. A text that the server refuses
 * is an error, or, if there is `onRefused(index, error)`, left out.
 */
export async function countIdf(api, model, texts, signal, onRefused = null) {
  let table = null;
  const count = async (start, stop) => {
    try {
      const part = await api.idf({ model, texts: texts.slice(start, stop) }, signal);
      table = table === null ? part : mergedIdf(table, part);
    } catch (error) {
      if (!onRefused || !(error.status === 413 || TOO_MUCH_TEXT_CODES.includes(error.code))) throw error;
      const middle = (start + stop) >> 1;
      if (middle === start) return onRefused(start, error);
      await count(start, middle);
      await count(middle, stop);
    }
  };
  for (const [start, stop] of idfChunks(texts)) await count(start, stop);
  return table;
}

/** One table of the texts of both tables. */
function mergedIdf(first, second) {
  if (first.tokenizer !== second.tokenizer) throw new Error("IDF tables of two tokenizers cannot be merged.");
  const df = { ...first.df };
  for (const [token, count] of Object.entries(second.df)) df[token] = (df[token] ?? 0) + count;
  return { ...first, documents: first.documents + second.documents, df };
}

/** The chunks of the texts: [start, stop] of each. */
function* idfChunks(texts) {
  let start = 0;
  let size = 0;
  for (const [index, text] of texts.entries()) {
    const full = index - start === IDF_CHUNK_TEXTS || size + text.length > IDF_CHUNK_CHARACTERS;
    if (index > start && full) {
      yield [start, index];
      start = index;
      size = 0;
    }
    size += text.length;
  }
  if (start < texts.length) yield [start, texts.length];
}

/**
 * A cache of IDF tables by kind of text ("references", "sources") and model: {table(kind, model, signal), clear()};
 * `textsOf(kind)` returns the texts.
 */
export function idfCache(api, textsOf) {
  const tables = new Map();
  return {
    async table(kind, model, signal) {
      const key = `${kind} ${model}`;
      if (!tables.has(key)) tables.set(key, await countIdf(api, model, textsOf(kind), signal));
      return tables.get(key);
    },
    clear: () => tables.clear(),
  };
}

/** A function like `api.compare` without a limit of rows: more than one request holds go to the server in parts. */
export function makeCompare(api, limits) {
  const room = BODY_SHARE * limits.body;
  return async (body, signal) => {
    const size = JSON.stringify(body).length;
    const longest = Math.max(
      ...body.scores.flatMap(({ values }) => Object.values(values).map((column) => column.length)),
    );
    if (size <= room && longest <= limits.list_entries) return api.compare(body, signal);
    const { scores, ...rest } = body;
    const sums = [];
    for (const entry of scores) {
      const rows = commonRows(entry, body.baseline);
      const most = Math.min(limits.list_entries, Math.max(1, Math.floor((rows.count * room) / size)));
      sums.push({
        ...(await summedParts(api, rows, { ...rest, most, limit: limits.body }, signal)),
        failed: rows.failed,
      });
    }
    return api.compare({ ...rest, sums }, signal);
  };
}

async function summedParts(api, { entry, count }, { samples, seed, most, limit }, signal) {
  let sums = null;
  for (let start = 0; start < count; start += most) {
    const scores = slicedEntry(entry, start, start + most);
    const part = await api.resample({ scores, start, rows: count, samples, seed }, signal);
    sums = sums === null ? part : addedSums(sums, part);
    if (SUMS_GROWTH * JSON.stringify(sums).length > limit) throw tooManySamples();
  }
  return sums;
}

/** The rows that every system has a value for, the baseline first: {entry, count, failed}. */
function commonRows(entry, baseline) {
  const names = Object.keys(entry.values);
  const systems = [...names.filter((name) => name === baseline), ...names.filter((name) => name !== baseline)];
  const all = Array.from(entry.values[systems[0]].keys());
  const rows = all.filter((row) => systems.every((system) => entry.values[system][row] !== null));
  const chosen = (columns) => {
    const selected = Object.create(null);
    for (const system of systems) selected[system] = rows.map((row) => columns[system][row]);
    return selected;
  };
  const common = { ...entry, values: chosen(entry.values) };
  if (entry.statistics) common.statistics = chosen(entry.statistics);
  return { entry: common, count: rows.length, failed: all.length - rows.length };
}

function slicedEntry(entry, start, stop) {
  const slice = (columns) => {
    const part = Object.create(null);
    for (const [system, numbers] of Object.entries(columns)) part[system] = numbers.slice(start, stop);
    return part;
  };
  const part = { ...entry, values: slice(entry.values) };
  if (entry.statistics) part.statistics = slice(entry.statistics);
  return part;
}

/** Sums of two parts of the rows, number by number. */
function addedSums(first, second) {
  const systems = Object.create(null);
  for (const [name, { total, drawn }] of Object.entries(first.systems)) {
    const more = second.systems[name];
    systems[name] = { total: addedNumbers(total, more.total), drawn: addedRows(drawn, more.drawn) };
  }
  const pairs = first.pairs.map((pair, index) => {
    const more = second.pairs[index];
    const counts = ["wins", "losses", "ties", "differing"].map((name) => [name, pair[name] + more[name]]);
    return { ...pair, ...Object.fromEntries(counts), swapped: addedRows(pair.swapped, more.swapped) };
  });
  return { ...first, rows: first.rows + second.rows, systems, pairs };
}

function addedRows(first, second) {
  return first.map((numbers, index) => addedNumbers(numbers, second[index]));
}

function addedNumbers(first, second) {
  return first.map((number, index) => number + second[index]);
}

/** The error by which the server refuses too much work: fewer samples may fit. */
function tooManySamples() {
  const message = "The sums of so many samples and systems are more than one request may hold.";
  return Object.assign(new Error(message), { code: "too-many-resamples" });
}

/** Test all systems against a baseline on the server, metric by metric so that no request is too large. */
export async function testDifferences(compare, table, baseline, signal) {
  const order = [baseline, ...table.systems.filter((system) => system !== baseline)];
  const { how, groups } = table.groups(order);
  const common = groups.filter((rows) => rows.length === order.length);
  if (!common.length) throw new Error("No input was answered by all systems: nothing to compare.");
  const together = new Map(order.map((system, index) => [system, common.map((rows) => rows[index])]));
  const comparisons = await testWithFewerSamples(compare, together, { table, baseline, signal });
  const results = comparisons.flatMap((comparison) => comparison.results);
  return { ...comparisons[0], results, paired_by: how };
}

/** Repeat the test with fewer resamples if the server refuses the work; the comparison has their number. */
async function testWithFewerSamples(compare, together, { table, baseline, signal }) {
  for (const samples of [1000, 300, 100]) {
    try {
      const comparisons = [];
      for (const index of table.metrics.keys()) {
        const scores = [metricScores(table, index, together)];
        comparisons.push((await compare({ scores, baseline, samples }, signal)).comparison);
      }
      return comparisons;
    } catch (error) {
      if (error.code !== "too-many-resamples" || samples === 100) throw error;
    }
  }
  return [];
}

/** Every system's values of one metric in the common order of rows; a system may have any name, also `__proto__`. */
function metricScores(table, index, together) {
  const metric = table.metrics[index];
  const column = table.values(index, metric.main);
  const entry = { metric: metric.metric, signature: metric.signature, values: Object.create(null) };
  const pooled = table.rows.some((row) => row.statistics?.[index]);
  if (pooled) entry.statistics = Object.create(null);
  for (const [system, rows] of together) {
    entry.values[system] = rows.map((row) => (Number.isNaN(column[row]) ? null : column[row]));
    if (pooled) entry.statistics[system] = rows.map((row) => table.rows[row].statistics?.[index] ?? null);
  }
  return entry;
}

/**
 * The document with the alignments of `pairs` (see `scoredPair`); `align(pair)` returns one, `onProgress(done, all)` is
 * called after each row.
 */
export async function withAlignments(doc, pairs, align, onProgress) {
  const rows = [];
  const wanted = new Set(pairs.map(({ row }) => row));
  const aligned = new Set();
  let bytes = 0;
  let end = "";
  for (const pair of pairs) {
    const { row, column: metric } = pair;
    if (!aligned.has(row) && aligned.size === MAX_ALIGNED_ROWS) {
      end = `${MAX_ALIGNED_ROWS} rows`;
      break;
    }
    const alignment = pair.alignment ?? (await alignOrNull(align, pair));
    if (!alignment) continue;
    bytes += JSON.stringify(alignment).length;
    if (bytes > MAX_ALIGNMENT_BYTES) {
      end = `${MAX_ALIGNMENT_BYTES / 1e6} MB of them`;
      break;
    }
    rows.push({ row, metric, alignment });
    aligned.add(row);
    onProgress(aligned.size, Math.min(wanted.size, MAX_ALIGNED_ROWS));
  }
  return { ...doc, alignments: { rows, about: alignmentsNote(wanted.size, aligned.size, end) } };
}

/** A function that aligns a row's pair as its metric scored it; `idf` is the cache of IDF tables. */
export function rowAligner(api, idf) {
  const specs = new Map();
  return async ({ candidate, reference, metric }) => {
    if (!specs.has(metric)) specs.set(metric, (await api.specs({ metrics: [metric] })).metrics[0]);
    const { idf: kind, model } = specs.get(metric);
    const table = kind ? await idf.table(kind, model) : null;
    return api.align({ candidate, reference, metric, idf: table, matchings: "own" });
  };
}

/** Align a pair; null if the server refuses it, for example because a text is empty or too long. */
async function alignOrNull(align, pair) {
  try {
    return await align(pair);
  } catch (error) {
    if (error.status === 422 || error.status === 413) return null;
    throw error;
  }
}

function alignmentsNote(all, shown, end) {
  if (!all) return "None of these metrics matches tokens, so no row has an alignment to show.";
  if (!end && shown === all) return `This file has the alignments of all rows that can be aligned: ${shown} rows.`;
  const why = end ? `the first of the sorted list, because of the limit of ${end}` : "the server accepted no more";
  return `This file has the alignments of ${shown} of ${all} rows: ${why}.`;
}
