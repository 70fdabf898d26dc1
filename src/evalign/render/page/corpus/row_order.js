// Which rows are listed, and in which order: by a score, by the difference of two systems, by human ratings, or by how
// far metric and humans disagree. In: the table and the state of the view. Out: [{kind, rows, value, ...}].

import { insideRange } from "./score_range.js";
import { systemLabel } from "./table.js";

/** What is listed, sorted: [{kind, rows, value}], where kind is "rows" with one row each, "pairs" with those of two
    systems, or "inputs" with those of all; entries without the sorted value come last. */
export function listedRows(context) {
  const { table, state } = context;
  const range = table.values(state.metric, state.field);
  const top = range.reduce((most, value) => (value > most ? value : most), -Infinity);
  const searched = state.search.trim().toLowerCase();
  const fits = (index) => {
    const row = table.rows[index];
    return (
      (state.system === null || (row.system ?? "") === state.system) &&
      (state.show !== "flagged" || row.flags.some((flags) => flags.length)) &&
      (state.show !== "failed" || row.errors.some(Boolean)) &&
      (!state.range || insideRange(range[index], state.range, top)) &&
      (!searched || rowText(row).includes(searched))
    );
  };
  const { kind, descending, column } = sortPlan(context);
  let items;
  if (kind === "pairs") {
    items = table
      .pairs(state.a, state.b)
      .pairs.filter((pair) => pair.some(fits))
      .map((rows) => ({ kind, rows, value: range[rows[1]] - range[rows[0]] }));
  } else if (kind === "inputs") {
    items = table
      .groups(table.systems)
      .groups.filter((rows) => rows.some(fits))
      .map((rows) => ({ kind, rows, ...inputSpread(rows.map((row) => range[row])) }))
      .map((item) => ({ ...item, value: state.sort === "side-hard" ? item.mean : item.spread }));
    if (state.sort === "side-file") return items;
  } else {
    items = table.rows
      .map((_row, index) => index)
      .filter(fits)
      .map((index) => ({ kind, rows: [index], value: column ? column[index] : index, score: range[index] }));
  }
  const key =
    state.sort === "apart" || state.sort === "disagree" ? (item) => Math.abs(item.value) : (item) => item.value;
  const sign = descending ? -1 : 1;
  return items.sort((first, second) => {
    const [mine, theirs] = [key(first), key(second)];
    if (Number.isNaN(mine) || Number.isNaN(theirs)) return Number(Number.isNaN(mine)) - Number(Number.isNaN(theirs));
    return sign * (mine - theirs) || first.rows[0] - second.rows[0];
  });
}

/** The mean of the scores of one input, and how far the best and the worst are apart. */
function inputSpread(scores) {
  const known = scores.filter((score) => !Number.isNaN(score));
  const mean = known.length ? known.reduce((sum, score) => sum + score, 0) / known.length : NaN;
  return { mean, spread: known.length > 1 ? Math.max(...known) - Math.min(...known) : NaN };
}

/** Sort keys: worst, best, file, apart, losses, gains, side-apart, side-hard, side-file, human-low, human-high, disagree, over, under, m:metric:field. */
function sortPlan({ table, state }) {
  const higher = table.metrics[state.metric].higher_is_better;
  const [name, place, field] = state.sort.split(":");
  if (name === "file") return { kind: "rows", descending: false, column: null };
  if (name.startsWith("side-") && table.systems.length > 1) {
    return { kind: "inputs", descending: name === "side-hard" ? !higher : true };
  }
  if (name === "apart") return { kind: "pairs", descending: true };
  if (name === "losses" || name === "gains") return { kind: "pairs", descending: (name === "gains") === higher };
  if (name === "human-low" || name === "human-high") {
    return { kind: "rows", descending: name === "human-high", column: table.human() };
  }
  if (name === "disagree" || name === "over" || name === "under") {
    return { kind: "rows", descending: name !== "under", column: table.disagreement(state.metric, state.field) };
  }
  if (name === "m" && table.metrics[place]?.fields.includes(field)) {
    return {
      kind: "rows",
      descending: !table.metrics[place].higher_is_better,
      column: table.values(Number(place), field),
    };
  }
  return { kind: "rows", descending: (name === "best") === higher, column: table.values(state.metric, state.field) };
}

/** The entries of the select that chooses the order: [value, text] or [group, entries]. */
export function sortChoices({ table, state }) {
  const metric = table.metrics[state.metric];
  /** @type {any[]} */
  const choices = [
    ["worst", `worst ${metric.metric} ${state.field} first`],
    ["best", `best ${metric.metric} ${state.field} first`],
    ["file", "order of the file"],
  ];
  if (table.systems.length > 1 && state.a !== state.b) {
    const [a, b] = [systemLabel(state.a), systemLabel(state.b)];
    choices.push([
      `${b} against ${a}`,
      [
        ["apart", "furthest apart"],
        ["losses", `where ${b} loses most`],
        ["gains", `where ${b} gains most`],
      ],
    ]);
  }
  if (table.systems.length > 1) {
    choices.push([
      `All ${table.systems.length} systems side by side`,
      [
        ["side-apart", "inputs where they are furthest apart"],
        ["side-hard", "inputs that are worst on average"],
        ["side-file", "inputs in the order of the file"],
      ],
    ]);
  }
  if (table.human()) {
    choices.push([
      "People",
      [
        ["human-low", "human, lowest first"],
        ["human-high", "human, highest first"],
        ["disagree", "metric and people disagree most"],
        ["over", "the metric likes it more than people"],
        ["under", "people like it more than the metric"],
      ],
    ]);
  }
  const others = table.metrics.flatMap((metric, place) =>
    metric.fields.map((field) => [`m:${place}:${field}`, metric, field]),
  );
  if (others.length > 1) {
    choices.push([
      "Worst first by",
      others.map(([value, metric, field]) => [
        value,
        metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric,
      ]),
    ]);
  }
  return choices;
}

/** The place of the metric whose score the list shows. */
export function listedMetric(table, state) {
  const [name, place] = state.sort.split(":");
  return name === "m" && table.metrics[place] ? Number(place) : state.metric;
}

function rowText(row) {
  return [row.id, row.candidate ?? "", ...(row.references ?? []), row.source ?? ""].join("\n").toLowerCase();
}
