// Comparisons of any size: what fits into one request goes there at once; of more rows the server makes sums part by part,
// which are added up here and sent back for the result. In: the body of /api/compare with scores. Out: its answer.

const COMPARED_SHARE = 0.8; // of a request's bytes that rows may take
const COMPARED_GROWTH = 1.1; // sums of more parts have more digits, and there are names besides

/** A function like `api.compare` that no number of rows is too large for. */
export function comparer(api, limits) {
  const room = COMPARED_SHARE * limits.body;
  return async (body, signal) => {
    const size = JSON.stringify(body).length;
    const longest = Math.max(...body.scores.flatMap(({ values }) => Object.values(values).map((own) => own.length)));
    if (size <= room && longest <= limits.list_entries) return api.compare(body, signal);
    const { scores, ...rest } = body;
    const sums = [];
    for (const entry of scores) {
      const rows = comparedRows(entry, body.baseline);
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
    if (COMPARED_GROWTH * JSON.stringify(sums).length > limit) throw tooMany();
  }
  return sums;
}

/** The rows that every system has a value of, the baseline's first: {entry, count, failed}. */
function comparedRows(entry, baseline) {
  const names = Object.keys(entry.values);
  const systems = [...names.filter((name) => name === baseline), ...names.filter((name) => name !== baseline)];
  const all = Array.from(entry.values[systems[0]].keys());
  const rows = all.filter((row) => systems.every((system) => entry.values[system][row] !== null));
  const chosen = (columns) => {
    const taken = Object.create(null);
    for (const system of systems) taken[system] = rows.map((row) => columns[system][row]);
    return taken;
  };
  const kept = { ...entry, values: chosen(entry.values) };
  if (entry.statistics) kept.statistics = chosen(entry.statistics);
  return { entry: kept, count: rows.length, failed: all.length - rows.length };
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
  const pairs = first.pairs.map((pair, place) => {
    const more = second.pairs[place];
    const counts = ["wins", "losses", "ties", "differing"].map((name) => [name, pair[name] + more[name]]);
    return { ...pair, ...Object.fromEntries(counts), swapped: addedRows(pair.swapped, more.swapped) };
  });
  return { ...first, rows: first.rows + second.rows, systems, pairs };
}

function addedRows(first, second) {
  return first.map((numbers, place) => addedNumbers(numbers, second[place]));
}

function addedNumbers(first, second) {
  return first.map((number, place) => number + second[place]);
}

/** As the server refuses too much work: fewer samples may fit. */
function tooMany() {
  const message = "The sums of so many samples and systems are more than one request may hold.";
  return Object.assign(new Error(message), { code: "too-many-resamples" });
}
