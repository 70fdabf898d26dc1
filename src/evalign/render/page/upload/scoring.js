// Scores rows through the server in chunks that fit its limits, and makes the corpus document of all chunks together.
// A chunk that the server refuses is halved until the row at fault stands alone and fails alone. Cancelling keeps what
// was scored. Means, counts and sums are made here; pooled scores (BLEU) and tests come from the server.

import { exactSum } from "../corpus/statistics.js";
import { corpusTable } from "../corpus/table.js";
import { testedComparison } from "../corpus/tested_comparison.js";
import { idfTable } from "../server/idf_tables.js";

const RUN_ALL_FAIL = ["bad-metric", "bad-layer", "bad-table", "missing-extra", "too-many-metrics", "unknown-model"];
const RUN_PART_FAILS = [413, 422, 500, 504];
const RUN_FIRST = 8; // rows of the first chunk; later ones take about RUN_SECONDS
const RUN_SECONDS = 1.5;
const RUN_PROBE = { candidate: "a", references: ["a"], source: "a" }; // what every metric takes
const RUN_PATIENCE = 20; // rows that fail before any is scored: then all would

/** The corpus document; `run` is {api, limits, metrics, version, signal, lines, problems, onProgress(done),
    onStep(words)}, where `lines` has the line of each row. */
export async function scoredCorpus(rows, specs, run) {
  const groups = metricGroups(specs, run.metrics, run.limits.metrics ?? 16);
  const problems = [...run.problems];
  for (const group of groups) problems.push(...(await fitTable(group, rows, run)));
  const state = { rows, groups, run, scored: rows.map(() => []), succeeded: false, failed: 0 };
  let stopped = null;
  let done = 0;
  let size = RUN_FIRST;
  while (done < rows.length && !stopped) {
    const chunk = nextChunk(rows, done, size, run.limits, Math.max(...groups.map((group) => group.bytes)));
    const began = performance.now();
    try {
      const parts = [];
      for (const group of groups) parts.push(await scoredChunk(state, group, done, done + chunk));
      parts.forEach((answers) => answers.forEach((answer, place) => state.scored[done + place].push(answer)));
      done += chunk;
      run.onProgress(done, rows.length);
      size = nextSize(chunk, (performance.now() - began) / 1000, state);
    } catch (error) {
      if (done === 0 && error.name !== "AbortError") throw error;
      stopped = error;
    }
  }
  if (done === 0) throw stopped;
  if (stopped) {
    const why = stopped.name === "AbortError" ? "cancelled" : stopped.message;
    problems.push({
      place: `row ${done + 1} and after`,
      message: `${rows.length - done} of ${rows.length} rows not scored: ${why}`,
    });
  }
  return finished(state, done, problems);
}

/** The spec with an option more. */
export function specWith(spec, key, value) {
  const written = /^[^\s,()="\\]+$/.test(value) ? value : `"${value.replace(/(["\\])/g, "\\$1")}"`;
  return spec.includes("(") ? spec.replace(/\)\s*$/, `, ${key}=${written})`) : `${spec}(${key}=${written})`;
}

/** Metrics that go in one request: those that need an IDF table by themselves, each with its model. */
function metricGroups(specs, metrics, most) {
  const groups = new Map();
  for (const spec of specs) {
    const texts = /\bidf\s*=\s*"?(references|sources)\b/.exec(spec)?.[1];
    const key = texts ? `${texts} ${modelOf(spec, metrics)}` : "";
    if (!groups.has(key)) groups.set(key, { texts, model: texts ? modelOf(spec, metrics) : null, specs: [] });
    groups.get(key).specs.push(spec);
  }
  return [...groups.values()].flatMap((group) => {
    const parts = [];
    for (let start = 0; start < group.specs.length; start += most) {
      parts.push({
        ...group,
        specs: group.specs.slice(start, start + most),
        names: null,
        entries: new Map(),
        table: null,
        bytes: 0,
      });
    }
    return parts;
  });
}

function modelOf(spec, metrics) {
  const named = /\bmodel\s*=\s*(?:"([^"]*)"|([^\s,()="\\]+))/.exec(spec);
  if (named) return named[1] ?? named[2];
  const name = spec.trim().split(/[\s(]/, 1)[0];
  return (
    metrics.find((one) => one.name === name)?.options.find((option) => option.name === "model")?.default ?? "minilm"
  );
}

/** Counts the group's IDF table, if it needs one; the texts that the server does not take, as problems. */
async function fitTable(group, rows, { api, signal, lines, onStep }) {
  if (!group.texts) return [];
  onStep?.(`Counting the words of all ${group.texts} for IDF`);
  const textsOf = (row) => (group.texts === "sources" ? [row.source ?? ""] : row.references);
  const homes = rows.flatMap((row, place) => textsOf(row).map(() => lines[place]));
  const refused = [];
  group.table = await idfTable(api, group.model, rows.flatMap(textsOf), signal, (place, error) =>
    refused.push({
      place: `line ${homes[place]}`,
      message: `a text is left out of the IDF table: ${error.message.replace(/^texts\[\d+\]\s*/, "it ")}`,
    }),
  );
  if (!group.table && refused.length) throw new Error(`${refused[0].place}: ${refused[0].message}; no other is left`);
  group.bytes = JSON.stringify(group.table).length;
  return refused;
}

/** How many rows fit: by count, by pairs and by bytes of the request. */
function nextChunk(rows, start, wanted, limits, table) {
  const room = (limits.body ?? 2 ** 20) * 0.9 - table - 2000;
  const most = Math.min(wanted, limits.rows ?? Infinity, rows.length - start);
  let pairs = 0;
  let bytes = 0;
  for (let count = 0; count < most; count += 1) {
    const row = rows[start + count];
    pairs += Math.max(1, row.references.length);
    bytes += JSON.stringify(sentRow(row)).length * 3; // a letter is up to three bytes of UTF-8
    if (count > 0 && (pairs > (limits.pairs ?? Infinity) || bytes > room)) return count;
  }
  return most;
}

function nextSize(chunk, seconds, state) {
  if (state.halved) {
    state.halved = false;
    return Math.max(1, Math.floor(chunk / 2));
  }
  return Math.max(1, Math.min(1000, Math.round(chunk * Math.min(2, RUN_SECONDS / Math.max(seconds, 0.01)))));
}

function sentRow(row) {
  return {
    id: row.id.slice(0, 300),
    candidate: row.candidate,
    references: row.references,
    ...(row.source === undefined ? {} : { source: row.source }),
  };
}

/** One answer per row: {scores, flags, errors, statistics} or {error}. */
async function scoredChunk(state, group, start, stop) {
  const { api, signal } = state.run;
  const body = { rows: state.rows.slice(start, stop).map(sentRow), metrics: group.specs, idf: group.table };
  try {
    const answer = await api.score(body, signal);
    takeEntries(group, answer.metrics);
    state.succeeded = true;
    return answer.rows;
  } catch (error) {
    if (!RUN_PART_FAILS.includes(error.status) || RUN_ALL_FAIL.includes(error.code)) throw error;
    if (stop - start === 1) {
      const alone = await scoredAlone(state, group, start);
      if (alone) return [alone];
      state.failed += 1;
      if (!state.succeeded && state.failed >= Math.min(RUN_PATIENCE, state.rows.length)) throw error;
      return [{ error: rowMessage(error) }];
    }
    state.halved = true;
    const middle = (start + stop) >> 1;
    return [...(await scoredChunk(state, group, start, middle)), ...(await scoredChunk(state, group, middle, stop))];
  }
}

/** Metrics as the server names them: the columns of every answer. Two specs may be one metric, or one spec several. */
function takeEntries(group, entries) {
  group.names ??= entries.map((entry) => entry.metric);
  for (const entry of entries) {
    const signature = commonSignature(group.entries.get(entry.metric)?.signature, entry.signature);
    group.entries.set(entry.metric, { ...entry, signature });
  }
}

/** A row that one metric cannot take may be fine for the others; null if no metric takes it. */
async function scoredAlone(state, group, row) {
  const { api, signal } = state.run;
  const asked = { rows: [sentRow(state.rows[row])], idf: group.table };
  if (!group.names) {
    group.probe = (await api.score({ ...asked, rows: [RUN_PROBE], metrics: group.specs }, signal)).metrics;
    group.names = group.probe.map((entry) => entry.metric);
  }
  if (group.names.length < 2) return null;
  const found = { scores: [], flags: [], errors: [], statistics: [] };
  let taken = false;
  for (const name of group.names) {
    try {
      const answer = await api.score({ ...asked, metrics: [name] }, signal);
      takeEntries(group, answer.metrics);
      taken = true;
      for (const part of ["scores", "flags", "errors"]) found[part].push(answer.rows[0][part][0]);
      found.statistics.push(answer.rows[0].statistics?.[0] ?? null);
    } catch (error) {
      if (!RUN_PART_FAILS.includes(error.status) || RUN_ALL_FAIL.includes(error.code)) throw error;
      found.scores.push(null);
      found.flags.push([]);
      found.errors.push(rowMessage(error));
      found.statistics.push(null);
    }
  }
  return taken ? found : null;
}

/** The server's sentence without the place that the row had in the request. */
function rowMessage(error) {
  return error.message.replace(/^rows\[\d+\]\.?\s*/, "");
}

/** Chunks differ only in how many references their rows had: `refs:1` in one, `refs:2` in another, is `refs:var`. */
function commonSignature(one, other) {
  if (one === undefined || one === other) return other;
  const parts = other.split("|");
  return one
    .split("|")
    .map((part, place) => (part === parts[place] ? part : `${part.split(":")[0]}:var`))
    .join("|");
}

async function finished(state, done, problems) {
  const { groups, run } = state;
  const metrics = groups.flatMap((group) =>
    group.names.map((name) => group.entries.get(name) ?? group.probe.find((entry) => entry.metric === name)),
  ); // of a metric that took no row only the probe tells
  const rows = state.rows
    .slice(0, done)
    .map((row, index) => ({ ...row, ...mergedAnswers(state.scored[index], groups) }));
  const systems = [...new Set(rows.map((row) => row.system))];
  const results = [];
  for (const system of systems) {
    const own = rows.filter((row) => row.system === system);
    for (const [place, metric] of metrics.entries()) {
      const { result, pooled } = systemResult(system, own, place, metric);
      if (pooled) await addCorpusScore(result, pooled, run, problems);
      results.push(result);
    }
  }
  const doc = {
    format: "evalign.corpus",
    version: 1,
    evalign: run.version,
    metrics,
    systems,
    results,
    rows,
    problems,
    comparison: null,
  };
  if (systems.length > 1 && !run.signal?.aborted) doc.comparison = await comparisonOf(doc, run);
  return doc;
}

function mergedAnswers(answers, groups) {
  const merged = { scores: [], flags: [], errors: [], statistics: [] };
  answers.forEach((answer, place) =>
    groups[place].names.forEach((_name, metric) => {
      merged.scores.push(answer.scores?.[metric] ?? null);
      merged.flags.push(answer.flags?.[metric] ?? []);
      merged.errors.push(answer.error ?? answer.errors[metric]);
      merged.statistics.push(answer.statistics?.[metric] ?? null);
    }),
  );
  if (merged.statistics.every((one) => one === null)) delete merged.statistics;
  return merged;
}

/** Means over the rows that were scored, and the sums of their statistics where the metric pools. */
function systemResult(system, rows, place, metric) {
  const scored = rows.filter((row) => row.scores[place]);
  const scores = {};
  for (const field of scored.length ? metric.fields : []) {
    scores[field] = exactSum(scored.map((row) => row.scores[place][field])) / scored.length;
  }
  const flags = {};
  for (const flag of scored.flatMap((row) => row.flags[place])) flags[flag] = (flags[flag] ?? 0) + 1;
  const result = { system, metric: metric.metric, signature: metric.signature, n: scored.length, scores, flags };
  const failed = rows.length - scored.length;
  if (failed) result.failed = failed;
  const numbers = scored.map((row) => row.statistics?.[place]).filter(Boolean);
  if (!numbers.length) return { result, pooled: null };
  const totals = numbers[0].map((_number, column) => exactSum(numbers.map((some) => some[column])));
  return { result, pooled: { metric: metric.metric, totals, rows: numbers.length } };
}

async function addCorpusScore(result, pooled, { api }, problems) {
  try {
    result.corpus = (await api.pool(pooled)).corpus;
  } catch (error) {
    problems.push({
      place: `${result.metric} of all rows`,
      message: `only the mean of the rows is shown: ${error.message}`,
    });
  }
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
