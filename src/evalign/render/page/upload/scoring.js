// Scores rows through the server in chunks that fit its limits, and makes the corpus document of all chunks together.
// The server reads the specs and adds up: each request carries the results of the chunks before it. A chunk that the
// server refuses is halved until the row at fault stands alone and fails alone. Cancelling keeps what was scored.

import { testedComparison } from "../corpus/tested_comparison.js";
import { corpusTable } from "../corpus/table.js";
import { idfTable } from "../server/idf_tables.js";

const SCORING_ALL_FAIL = ["bad-metric", "bad-layer", "bad-table", "missing-extra", "too-many-metrics", "unknown-model"];
const SCORING_PART_FAILS = [413, 422, 500, 504];
const SCORING_FIRST = 8; // rows of the first chunk; later ones take about SCORING_SECONDS
const SCORING_SECONDS = 1.5;
const SCORING_MOST_ROWS = 1000; // of one chunk, so that progress is seen
const SCORING_SOME_HAVE = ["statistics", "best_reference"]; // parts of an answer that not every metric gives
const SCORING_PATIENCE = 20; // rows that fail before any is scored: then all would

/**
 * The corpus document; `run` is {api, limits, version, signal, places, problems, onProgress(done), onStep(words)}, where
 * `places` has where each row begins in its file, as in "line 3".
 */
export async function scoredCorpus(rows, specs, run) {
  const { metrics } = await run.api.specs({ metrics: specs }, run.signal);
  const groups = metricGroups(metrics, run.limits.metrics);
  const problems = [...run.problems];
  for (const group of groups) problems.push(...(await countTable(group, rows, run)));
  const systems = [...new Set(rows.map((row) => row.system))];
  const state = { rows, systems, groups, run, scored: rows.map(() => []), succeeded: false, failed: 0, tie: 0 };
  let stopped = null;
  let done = 0;
  let size = SCORING_FIRST;
  while (done < rows.length && !stopped) {
    const chunk = nextChunk(state, done, size);
    const began = performance.now();
    const before = groups.map((group) => group.results);
    try {
      const parts = [];
      for (const group of groups) parts.push(await scoredChunk(state, group, done, done + chunk));
      parts.forEach((answers) => answers.forEach((answer, place) => state.scored[done + place].push(answer)));
      done += chunk;
      run.onProgress(done, rows.length);
      size = nextSize(chunk, (performance.now() - began) / 1000, state);
    } catch (error) {
      if (done === 0 && error.name !== "AbortError") throw error;
      groups.forEach((group, place) => (group.results = before[place])); // other groups may have scored this chunk
      stopped = error;
    }
  }
  if (done === 0) throw stopped;
  if (stopped) {
    const why = stopped.name === "AbortError" ? "cancelled" : stopped.message;
    const message = `${rows.length - done} of ${rows.length} rows not scored: ${why}`;
    problems.push({ place: `${run.places[done]} and after`, message });
  }
  return finished(state, done, problems);
}

/** Metrics that go in one request: those with an IDF table apart from the others, by the table that they need. */
function metricGroups(metrics, most) {
  const groups = new Map();
  for (const metric of metrics) {
    const key = metric.idf ? `${metric.idf} ${metric.model}` : "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(metric);
  }
  return [...groups.values()].flatMap((members) =>
    Array.from({ length: Math.ceil(members.length / most) }, (_none, part) => ({
      metrics: members.slice(part * most, (part + 1) * most),
      idf: members[0].idf,
      model: members[0].model,
      table: null,
      entries: new Map(), // metric -> how the server described it, signature included
      results: [], // of all chunks so far, by system and metric
    })),
  );
}

/** Counts the group's IDF table, if it needs one; the texts that the server does not take, as problems. */
async function countTable(group, rows, { api, signal, places, onStep }) {
  if (!group.idf) return [];
  onStep?.(`Counting the words of all ${group.idf} for IDF`);
  const textsOf = (row) => (group.idf === "sources" ? [row.source ?? ""] : row.references);
  const homes = rows.flatMap((row, place) => textsOf(row).map(() => places[place]));
  const refused = [];
  group.table = await idfTable(api, group.model, rows.flatMap(textsOf), signal, (place, error) =>
    refused.push({
      place: homes[place],
      message: `a text is left out of the IDF table: ${error.message.replace(/^texts\[\d+\]\s*/, "it ")}`,
    }),
  );
  if (!group.table && refused.length) throw new Error(`${refused[0].place}: ${refused[0].message}; no other is left`);
  return refused;
}

/** How many rows fit: by count, by pairs and by bytes of the request. */
function nextChunk({ rows, systems, groups, run: { limits } }, start, size) {
  const besides = groups.map(({ table, results }) => JSON.stringify([table, results]).length);
  const room = limits.body * 0.9 - Math.max(...besides) - 2000;
  const most = Math.min(size, limits.rows, rows.length - start);
  let pairs = 0;
  let bytes = 0;
  for (let count = 0; count < most; count += 1) {
    const row = rows[start + count];
    pairs += Math.max(1, row.references.length);
    bytes += JSON.stringify(sentRow(row, systems)).length * 3; // a letter is up to three bytes of UTF-8
    if (count > 0 && (pairs > limits.pairs || bytes > room)) return count;
  }
  return most;
}

function nextSize(chunk, seconds, state) {
  if (state.halved) {
    state.halved = false;
    return Math.max(1, Math.floor(chunk / 2));
  }
  const fitting = Math.round(chunk * Math.min(2, SCORING_SECONDS / Math.max(seconds, 0.01)));
  return Math.max(1, Math.min(SCORING_MOST_ROWS, fitting));
}

/** Systems go by number: the server bounds the length of their names. */
function sentRow({ id, candidate, references, source, system }, systems) {
  const row = { id: id.slice(0, 300), candidate, references, system: String(systems.indexOf(system)) };
  return source === undefined ? row : { ...row, source };
}

/** Scores rows with some metrics of a group, and keeps what the server says of all rows so far. */
async function scoredRows(state, group, rows, metrics) {
  const names = metrics.map(({ metric }) => metric);
  const earlier = group.results.filter(({ metric }) => names.includes(metric));
  const body = { rows: rows.map((row) => sentRow(row, state.systems)), metrics: names, idf: group.table, earlier };
  const answer = await state.run.api.score(body, state.run.signal);
  for (const entry of answer.metrics) group.entries.set(entry.metric, entry);
  group.results = [...group.results.filter(({ metric }) => !names.includes(metric)), ...answer.results];
  state.tie = answer.tie;
  state.succeeded = true;
  return answer.rows;
}

/** One answer per row: {scores, flags, errors, statistics} or {error}. */
async function scoredChunk(state, group, start, stop) {
  try {
    return await scoredRows(state, group, state.rows.slice(start, stop), group.metrics);
  } catch (error) {
    throwUnlessPart(error);
    if (stop - start === 1) {
      const alone = await scoredAlone(state, group, state.rows[start]);
      if (alone) return [alone];
      state.failed += 1;
      if (!state.succeeded && state.failed >= Math.min(SCORING_PATIENCE, state.rows.length)) throw error;
      return [{ error: rowMessage(error) }];
    }
    state.halved = true;
    const middle = (start + stop) >> 1;
    const first = await scoredChunk(state, group, start, middle);
    return [...first, ...(await scoredChunk(state, group, middle, stop))];
  }
}

/** A row that one metric cannot take may be fine for the others; null if no metric takes it. */
async function scoredAlone(state, group, row) {
  if (group.metrics.length < 2) return null;
  const merged = { scores: [], flags: [], errors: [], statistics: [], best_reference: [] };
  let taken = false;
  for (const metric of group.metrics) {
    let answer = { scores: [null], flags: [[]], errors: [null] };
    try {
      [answer] = await scoredRows(state, group, [row], [metric]);
      taken = true;
    } catch (error) {
      throwUnlessPart(error);
      answer.errors[0] = rowMessage(error);
    }
    for (const part of Object.keys(merged)) merged[part].push(answer[part]?.[0] ?? null);
  }
  return taken ? merged : null;
}

function throwUnlessPart(error) {
  if (!SCORING_PART_FAILS.includes(error.status) || SCORING_ALL_FAIL.includes(error.code)) throw error;
}

/** The server's sentence without the place that the row had in the request. */
function rowMessage(error) {
  return error.message.replace(/^rows\[\d+\]\.?\s*/, "");
}

async function finished(state, done, problems) {
  const { groups, run } = state;
  const rows = state.rows
    .slice(0, done)
    .map((row, index) => ({ ...row, ...mergedAnswers(state.scored[index], groups) }));
  const systems = [...new Set(rows.map((row) => row.system))];
  const metrics = groups.flatMap((group) => group.metrics.map((metric) => metricEntry(group, metric)));
  const results = systems.flatMap((system) => {
    const count = rows.filter((row) => row.system === system).length;
    const number = String(state.systems.indexOf(system));
    const answered = groups.flatMap((group) => group.results).filter((result) => result.system === number);
    return metrics.map((metric) => systemResult(system, count, metric, answered));
  });
  const about = { format: "evalign.corpus", version: 1, evalign: run.version, tie: state.tie };
  const doc = { ...about, metrics, systems, results, rows, problems, comparison: null };
  if (systems.length > 1 && !run.signal?.aborted) doc.comparison = await comparisonOf(doc, run);
  return doc;
}

/** What the server said of a metric with its scores; of one that took no row, what it said of its spec. */
function metricEntry(group, { metric, fields, main, higher_is_better, bounds }) {
  const described = { metric, signature: metric, fields, main, higher_is_better, bounds };
  return group.entries.get(metric) ?? described;
}

/** The server's result of one system under one metric; rows of the system that it never took have failed. */
function systemResult(system, rows, { metric, signature }, answered) {
  const found = answered.find((result) => result.metric === metric);
  const { sums: _sums, failed: _failed, ...result } = found ?? { metric, n: 0, scores: {}, flags: {} };
  const failed = rows - result.n;
  return { ...result, system, signature, ...(failed ? { failed } : {}) };
}

function mergedAnswers(answers, groups) {
  const merged = { scores: [], flags: [], errors: [], statistics: [], best_reference: [] };
  answers.forEach((answer, place) =>
    groups[place].metrics.forEach((_metric, column) => {
      merged.scores.push(answer.scores?.[column] ?? null);
      merged.flags.push(answer.flags?.[column] ?? []);
      merged.errors.push(answer.error ?? answer.errors[column]);
      for (const part of SCORING_SOME_HAVE) merged[part].push(answer[part]?.[column] ?? null);
    }),
  );
  for (const part of SCORING_SOME_HAVE) if (merged[part].every((value) => value === null)) delete merged[part];
  return merged;
}

/** Tests of the differences; without them the page can still ask later, so a refusal is no failure. */
async function comparisonOf(doc, { api, signal, onStep }) {
  onStep?.("Testing the differences between the systems");
  try {
    return await testedComparison(api.compare, corpusTable(doc), doc.systems[0], signal);
  } catch (error) {
    onStep?.(`The differences were not tested: ${error.message}`);
    return null;
  }
}
