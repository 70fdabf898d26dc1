// Has the server test the differences between systems. In: the corpus table. Out: a comparison as Python writes it.

/** Has the server test all systems against a baseline, metric by metric so that no request grows too large. */
export async function testedComparison(compare, table, baseline, signal) {
  const order = [baseline, ...table.systems.filter((system) => system !== baseline)];
  const { how, groups } = table.groups(order);
  const common = groups.filter((rows) => rows.length === order.length);
  if (!common.length) throw new Error("No input was answered by all systems: nothing to compare.");
  const together = new Map(order.map((system, place) => [system, common.map((rows) => rows[place])]));
  const comparisons = await testedWith(compare, together, { table, baseline, signal });
  const results = comparisons.flatMap((comparison) => comparison.results);
  return { ...comparisons[0], results, paired_by: how };
}

/** Asks again with fewer resamples of every metric if the server refuses the work; the comparison says how many. */
async function testedWith(compare, together, { table, baseline, signal }) {
  for (const samples of [1000, 300, 100]) {
    try {
      const comparisons = [];
      for (const place of table.metrics.keys()) {
        const scores = [scoresOf(table, place, together)];
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
function scoresOf(table, place, together) {
  const metric = table.metrics[place];
  const column = table.values(place, metric.main);
  const entry = { metric: metric.metric, signature: metric.signature, values: Object.create(null) };
  const pooled = table.rows.some((row) => row.statistics?.[place]);
  if (pooled) entry.statistics = Object.create(null);
  for (const [system, rows] of together) {
    entry.values[system] = rows.map((row) => (Number.isNaN(column[row]) ? null : column[row]));
    if (pooled) entry.statistics[system] = rows.map((row) => table.rows[row].statistics?.[place] ?? null);
  }
  return entry;
}
