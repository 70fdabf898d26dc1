// The alignments of a corpus document's rows, asked from the server one by one, so that a saved file can show them.
// In: the document and its rows in the order of the list. Out: the document with `alignments`.

const ALIGNED_ROWS = 200; // of one file: some seconds of work
const ALIGNED_BYTES = 6_000_000;

/** `pairs` are what `scoredPair` gives; `align(pair)` gives a document, `onProgress(done, all)` is told. */
export async function withAlignments(doc, pairs, align, onProgress) {
  const rows = [];
  const wanted = new Set(pairs.map(({ row }) => row));
  const taken = new Set();
  let bytes = 0;
  let end = "";
  for (const pair of pairs) {
    const { row, column: metric } = pair;
    if (!taken.has(row) && taken.size === ALIGNED_ROWS) {
      end = `${ALIGNED_ROWS} rows`;
      break;
    }
    const alignment = pair.alignment ?? (await alignedOrNone(align, pair));
    if (!alignment) continue;
    bytes += JSON.stringify(alignment).length;
    if (bytes > ALIGNED_BYTES) {
      end = `${ALIGNED_BYTES / 1e6} MB of them`;
      break;
    }
    rows.push({ row, metric, alignment });
    taken.add(row);
    onProgress(taken.size, Math.min(wanted.size, ALIGNED_ROWS));
  }
  return { ...doc, alignments: { rows, about: aboutAlignments(wanted.size, taken.size, end) } };
}

/** Aligns a row's pair as its metric scored it; `idf` has the tables of the corpus. */
export function alignedAs(api, idf) {
  const specs = new Map();
  return async ({ candidate, reference, metric }) => {
    if (!specs.has(metric)) specs.set(metric, (await api.specs({ metrics: [metric] })).metrics[0]);
    const { idf: kind, model } = specs.get(metric);
    const table = kind ? await idf.table(kind, model) : null;
    return api.align({ candidate, reference, metric, idf: table, matchings: "own" });
  };
}

/** Null where the server does not take the pair, such as an empty or a too long text. */
async function alignedOrNone(align, pair) {
  try {
    return await align(pair);
  } catch (error) {
    if (error.status === 422 || error.status === 413) return null;
    throw error;
  }
}

function aboutAlignments(all, shown, end) {
  if (!all) return "None of these metrics matches tokens, so no row has an alignment to show.";
  if (!end && shown === all) return `This file holds the alignments of all its rows that have one: ${shown} rows.`;
  const why = end ? `the first of the list as it was sorted, for it takes ${end}` : "the server took no others";
  return `This file holds the alignments of ${shown} of ${all} rows: ${why}.`;
}
