// Which rows are listed, and in which order: by a score, by the difference of two systems, by human ratings, or by how
// far metric and humans disagree. In: the table and the state of the view. Out: [{rows, value, score}].

import { insideRange } from "./score_range.js";
import { systemLabel } from "./table.js";

/** What is listed: [{rows: [index] or [a, b], value}], sorted; rows without the sorted value come last. */
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
      .map((rows) => ({ rows, value: range[rows[1]] - range[rows[0]] }));
  } else {
    items = table.rows
      .map((_row, index) => index)
      .filter(fits)
      .map((index) => ({ rows: [index], value: column ? column[index] : index, score: range[index] }));
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

/** Sort keys: worst, best, file, apart, losses, gains, human-low, human-high, disagree, over, under, m:metric:field. */
function sortPlan({ table, state }) {
  const higher = table.metrics[state.metric].higher_is_better;
  const [name, place, field] = state.sort.split(":");
  if (name === "file") return { kind: "rows", descending: false, column: null };
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

/** The metric whose score the list is sorted by. */
export function sortedMetric(table, state) {
  const [name, place] = state.sort.split(":");
  return table.metrics[name === "m" ? place : state.metric] ?? table.metrics[state.metric];
}

function rowText(row) {
  return [row.id, row.candidate ?? "", ...(row.references ?? []), row.source ?? ""].join("\n").toLowerCase();
}
