// Scores rows through the server in chunks that fit its limits, and makes the corpus document of all chunks together.
// The server adds up: each request carries the results of the chunks before it. A chunk that the server refuses is
// halved until the faulty row is alone and fails alone. Cancelling keeps what was scored.

import { makeTable } from "../corpus/table.js";
import { countIdf, testDifferences } from "../server/request_series.js";

const FATAL_CODES = ["bad-metric", "bad-layer", "bad-table", "missing-extra", "too-many-metrics", "unknown-model"];
const CHUNK_STATUSES = [413, 422, 500, 504];
const FIRST_CHUNK_ROWS = 8; // rows of the first chunk; later ones take about CHUNK_SECONDS
const CHUNK_SECONDS = 1.5;
const MAX_CHUNK_ROWS = 1000; // of one chunk, so that progress is seen
const OPTIONAL_PARTS = ["statistics", "best_reference"]; // parts of an answer that not every metric gives
const MAX_FAILED_ROWS = 20; // failures before the first success: then all rows would fail

/**
 * Score all rows and return the corpus document; `run` is {api, limits, version, signal, places, problems,
 * onProgress(done), onStep(words)}, where `places` has the position of each row in its file, as in "line 3".
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
  let size = FIRST_CHUNK_ROWS;
  while (done < rows.length && !stopped) {
    const chunk = nextChunk(state, done, size);
    const began = performance.now();
    const before = groups.map((group) => group.results);
    try {
      const parts = [];
      for (const group of groups) parts.push(await scoredChunk(state, group, done, done + chunk));
      parts.forEach((answers) => answers.forEach((answer, index) => state.scored[done + index].push(answer)));
      done += chunk;
      run.onProgress(done, rows.length);
      size = nextSize(chunk, (performance.now() - began) / 1000, state);
    } catch (error) {
      if (done === 0 && error.name !== "AbortError") throw error;
      groups.forEach((group, index) => (group.results = before[index])); // other groups may have scored this chunk
      stopped = error;
    }
  }
  if (done === 0) throw stopped;
  if (stopped) {
    const why = stopped.name === "AbortError" ? "cancelled" : stopped.message;
    const message = `${rows.length - done} of ${rows.length} rows not scored: ${why}`;
    problems.push({ place: `${run.places[done]} and after`, message });
  }
  return corpusDocument(state, done, problems);
}

/** Groups of metrics for one request each: by the IDF table that they need. */
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
      entries: new Map(), // metric -> the server's description, with the signature
      results: [], // of all chunks so far, by system and metric
    })),
  );
}

/** Count the group's IDF table, if it needs one; returns a problem for each text that the server refuses. */
async function countTable(group, rows, { api, signal, places, onStep }) {
  if (!group.idf) return [];
  onStep?.(`Counting the words of all ${group.idf} for IDF`);
  const textsOf = (row) => (group.idf === "sources" ? [row.source ?? ""] : row.references);
  const homes = rows.flatMap((row, index) => textsOf(row).map(() => places[index]));
  const refused = [];
  group.table = await countIdf(api, group.model, rows.flatMap(textsOf), signal, (index, error) =>
    refused.push({
      place: homes[index],
      message: `a text is left out of the IDF table: ${error.message.replace(/^texts\[\d+\]\s*/, "it ")}`,
    }),
  );
  if (!group.table && refused.length) throw new Error(`${refused[0].place}: ${refused[0].message}; no other is left`);
  return refused;
}

/** The number of rows that fit one request: by count, by pairs and by bytes. */
function nextChunk({ rows, systems, groups, run: { limits } }, start, size) {
  const besides = groups.map(({ table, results }) => JSON.stringify([table, results]).length);
  const room = limits.body * 0.9 - Math.max(...besides) - 2000;
  const most = Math.min(size, limits.rows, rows.length - start);
  let pairs = 0;
  let bytes = 0;
  for (let count = 0; count < most; count += 1) {
    const row = rows[start + count];
    pairs += Math.max(1, row.references.length);
    bytes += JSON.stringify(sentRow(row, systems)).length * 3; // a UTF-16 unit is up to three bytes of UTF-8
    if (count > 0 && (pairs > limits.pairs || bytes > room)) return count;
  }
  return most;
}

function nextSize(chunk, seconds, state) {
  if (state.halved) {
    state.halved = false;
    return Math.max(1, Math.floor(chunk / 2));
  }
  const fitting = Math.round(chunk * Math.min(2, CHUNK_SECONDS / Math.max(seconds, 0.01)));
  return Math.max(1, Math.min(MAX_CHUNK_ROWS, fitting));
}

/** A row as a request has it; systems are numbers, for the server limits the length of names. */
function sentRow({ id, candidate, references, source, system }, systems) {
  const row = { id: id.slice(0, 300), candidate, references, system: String(systems.indexOf(system)) };
  return source === undefined ? row : { ...row, source };
}

/** Score rows with some metrics of a group, and store the server's results of all rows so far. */
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

/** Score a chunk of rows; returns one answer per row: {scores, flags, errors, statistics} or {error}. */
async function scoredChunk(state, group, start, stop) {
  try {
    return await scoredRows(state, group, state.rows.slice(start, stop), group.metrics);
  } catch (error) {
    throwUnlessPart(error);
    if (stop - start === 1) {
      const alone = await scoredAlone(state, group, state.rows[start]);
      if (alone) return [alone];
      state.failed += 1;
      if (!state.succeeded && state.failed >= Math.min(MAX_FAILED_ROWS, state.rows.length)) throw error;
      return [{ error: rowMessage(error) }];
    }
    state.halved = true;
    const middle = (start + stop) >> 1;
    const first = await scoredChunk(state, group, start, middle);
    return [...first, ...(await scoredChunk(state, group, middle, stop))];
  }
}

/** Score one row metric by metric, for an error of one metric should not fail the others; null if all metrics fail. */
async function scoredAlone(state, group, row) {
  if (group.metrics.length < 2) return null;
  const merged = { scores: [], flags: [], errors: [], statistics: [], best_reference: [] };
  let scored = false;
  for (const metric of group.metrics) {
    let answer = { scores: [null], flags: [[]], errors: [null] };
    try {
      [answer] = await scoredRows(state, group, [row], [metric]);
      scored = true;
    } catch (error) {
      throwUnlessPart(error);
      answer.errors[0] = rowMessage(error);
    }
    for (const part of Object.keys(merged)) merged[part].push(answer[part]?.[0] ?? null);
  }
  return scored ? merged : null;
}

function throwUnlessPart(error) {
  if (!CHUNK_STATUSES.includes(error.status) || FATAL_CODES.includes(error.code)) throw error;
}

/** The server's message without the index of the row in the request. */
function rowMessage(error) {
  return error.message.replace(/^rows\[\d+\]\.?\s*/, "");
}

async function corpusDocument(state, done, problems) {
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

/** The server's description of a metric; if the metric scored no row, that of its spec. */
function metricEntry(group, { metric, fields, main, higher_is_better, bounds }) {
  const described = { metric, signature: metric, fields, main, higher_is_better, bounds };
  return group.entries.get(metric) ?? described;
}

/** The server's result of one system under one metric; rows that it did not score have failed. */
function systemResult(system, rows, { metric, signature }, answered) {
  const found = answered.find((result) => result.metric === metric);
  const { sums: _sums, failed: _failed, ...result } = found ?? { metric, n: 0, scores: {}, flags: {} };
  const failed = rows - result.n;
  return { ...result, system, signature, ...(failed ? { failed } : {}) };
}

function mergedAnswers(answers, groups) {
  const merged = { scores: [], flags: [], errors: [], statistics: [], best_reference: [] };
  answers.forEach((answer, index) =>
    groups[index].metrics.forEach((_metric, column) => {
      merged.scores.push(answer.scores?.[column] ?? null);
      merged.flags.push(answer.flags?.[column] ?? []);
      merged.errors.push(answer.error ?? answer.errors[column]);
      for (const part of OPTIONAL_PARTS) merged[part].push(answer[part]?.[column] ?? null);
    }),
  );
  for (const part of OPTIONAL_PARTS) if (merged[part].every((value) => value === null)) delete merged[part];
  return merged;
}

/** The comparison of the systems; null if the server refuses it, for the reader can request it later. */
async function comparisonOf(doc, { api, signal, onStep }) {
  onStep?.("Testing the differences between the systems");
  try {
    return await testDifferences(api.compare, makeTable(doc), doc.systems[0], signal);
  } catch (error) {
    onStep?.(`The differences were not tested: ${error.message}`);
    return null;
  }
}
