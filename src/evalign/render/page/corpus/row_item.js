// One entry of the list of rows: its score with a bar, the texts, flags, and the details that unfold. An entry is one row,
// or the rows of two or all systems that answer the same input, side by side.
// In: an entry {kind, rows, value, score} of row_order.js. Out: an <li>.

import { el } from "../shared/dom.js";
import { numberText, scoreDigits } from "../shared/number_text.js";
import { alignmentButton, rowDetails, systemName } from "./row_details.js";
import { listedMetric } from "./row_order.js";
import { referenceLabel, scoredPair, shownReference } from "./scored_pair.js";
import { flagChips } from "./summary.js";
import { systemLabel } from "./table.js";

/** The entry at a place of the list; `scale` is made by `itemScale`. */
export function rowItem(context, item, place, scale) {
  const { table } = context;
  const [index] = item.rows;
  const row = table.rows[index];
  const metric = listedMetric(table, context.state);
  const several = item.kind !== "rows";
  const pair = several ? null : scoredPair(table, index, metric);
  const opens = pair !== null && context.opens(pair);
  const details = el("div", { hidden: true });
  const toggle = () => {
    if (!details.firstChild)
      details.append(
        rowDetails(
          context,
          item.rows,
          metric,
          several ? `number ${place + 1} of the list` : systemLabel(row.system ?? ""),
        ),
      );
    details.hidden = !details.hidden;
    node.classList.toggle("c-opened", !details.hidden);
    for (const button of node.querySelectorAll("[aria-expanded]"))
      button.setAttribute("aria-expanded", !details.hidden);
  };
  const act = opens ? () => context.openPair(pair) : toggle;
  const whose = several ? `${item.rows.length} systems` : systemLabel(row.system ?? "");
  const open = el(
    "button",
    {
      type: "button",
      class: "c-open",
      "aria-expanded": opens ? null : "false",
      onclick: act,
      title: opens ? `Show the alignment under ${table.metrics[metric].metric}` : "Show texts and scores",
    },
    el("bdi", { text: String(row.id) }),
    el("span", { class: "out-of-sight", text: ` ${whose}` }),
  );
  const head = el(
    "div",
    { class: "c-row-head" },
    open,
    several ? null : systemName(table, row),
    ...rowNotes(context, item),
    opens
      ? el("button", {
          type: "button",
          class: "c-small",
          "aria-expanded": "false",
          text: "Details",
          "aria-label": `Details of row ${row.id}, ${whose}`,
          onclick: toggle,
        })
      : null,
  );
  const texts = several ? [sideBySide(context, item, metric)] : [candidateLine(row)];
  const node = el(
    "li",
    {
      class: "c-row",
      onclick: (event) => {
        const busy = event.target.closest("button, a, .c-details, summary") || String(getSelection()) !== "";
        if (!busy) act();
      },
    },
    scoreColumnOf(context, item, scale),
    el("div", { class: "c-row-body" }, head, ...texts, ...referenceLines(context, item, metric), details),
  );
  return node;
}

function candidateLine(row) {
  if (typeof row.candidate !== "string") return null;
  return el(
    "p",
    { class: "c-line" },
    row.candidate.trim() === ""
      ? el("span", { class: "soft", text: "(empty text)" })
      : el("bdi", { class: "c-line-text", dir: "auto", text: row.candidate }),
  );
}

/** What every system made of one input, each with its score; systems without it are said to have none. */
function sideBySide(context, item, metric) {
  const { table, state } = context;
  const values = table.values(state.metric, state.field);
  const digits = scoreDigits(table.metrics[state.metric]);
  const systems = item.kind === "pairs" ? [state.a, state.b] : table.systems;
  const higher = table.metrics[state.metric].higher_is_better;
  const known = item.rows.map((row) => values[row]).filter((value) => !Number.isNaN(value));
  const best = higher ? Math.max(...known) : Math.min(...known);
  const references = new Set(item.rows.map((row) => shownReference(table.rows[row], metric)));
  const cells = systems.map((system) => {
    const index = item.rows.find((row) => (table.rows[row].system ?? "") === system);
    if (index === undefined)
      return el(
        "li",
        { class: "c-cell" },
        systemName(table, { system }),
        el("p", { class: "soft", text: "no such row" }),
      );
    const isBest = known.length > 1 && Math.abs(values[index] - best) <= table.tie;
    return el(
      "li",
      { class: isBest ? "c-cell c-cell-best" : "c-cell" },
      el(
        "div",
        { class: "c-cell-head" },
        systemName(table, table.rows[index]),
        el("span", { class: "c-cell-score", text: numberText(values[index], digits) }),
        isBest ? el("span", { class: "out-of-sight", text: "the best of this input" }) : null,
        references.size > 1
          ? el("span", { class: "soft", text: `reference ${shownReference(table.rows[index], metric) + 1}` })
          : null,
        alignmentButton(context, index, metric, "Alignment"),
      ),
      candidateLine(table.rows[index]),
    );
  });
  return el("ul", { class: "c-side-by-side" }, ...cells);
}

/** The references that the shown scores are of. */
function referenceLines({ table }, item, metric) {
  const [row] = item.rows.map((index) => table.rows[index]);
  if (!row.references?.length) return [];
  const shown = [...new Set(item.rows.map((index) => shownReference(table.rows[index], metric)))].sort();
  return shown.map((place) =>
    el(
      "p",
      { class: "c-line soft" },
      el("span", { class: "c-tag", text: referenceLabel(row, place) }),
      " ",
      el("bdi", { class: "c-line-text", dir: "auto", text: row.references[place] }),
    ),
  );
}

/** The number that the list is sorted by, with a bar on the scale of all listed numbers. */
function scoreColumnOf({ table, state }, item, scale) {
  const value = shownValue(state, item);
  const metric = table.metrics[listedMetric(table, state)];
  if (Number.isNaN(value))
    return el("div", { class: "c-row-score" }, el("span", { class: "c-failed", text: "no score" }));
  const signed = item.kind === "pairs";
  const bar = el("span", { class: "c-meter", "aria-hidden": "true" }, el("span", {}));
  const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 1;
  if (signed) {
    const good = value > 0 === metric.higher_is_better;
    bar.className = `c-meter c-signed ${Math.abs(value) <= table.tie ? "" : good ? "c-gain" : "c-loss"}`;
    bar.firstChild.style.width = `${(Math.abs(value) / scale.far) * 50}%`;
    bar.firstChild.style.marginInlineStart = value < 0 ? `${50 - (Math.abs(value) / scale.far) * 50}%` : "50%";
  } else bar.firstChild.style.width = `${Math.max(2, share * 100)}%`;
  const about = item.kind === "inputs" ? (state.sort === "side-hard" ? "mean" : "apart") : "";
  return el(
    "div",
    { class: "c-row-score" },
    el(
      "span",
      { class: "c-number" },
      numberText(value, scoreDigits(metric), signed),
      about ? el("small", { text: ` ${about}` }) : null,
    ),
    bar,
  );
}

/** The number that stands beside an entry: what is sorted by, or the chosen metric's score where that is no score. */
function shownValue(state, item) {
  return item.kind !== "rows" || state.sort.startsWith("m:") ? item.value : item.score;
}

/** The range of all shown numbers, for the bars: {low, high, far}; bars begin at zero, or at the lowest below it. */
export function itemScale(state, items) {
  const values = items.map((item) => shownValue(state, item)).filter((value) => !Number.isNaN(value));
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return { low: Math.min(low, 0), high, far: Math.max(Math.abs(low), Math.abs(high)) || 1 };
}

function rowNotes({ table, state }, item) {
  const notes = [];
  const index = item.rows[0];
  if (item.kind === "rows") {
    const human = table.human()?.[index] ?? NaN;
    if (!Number.isNaN(human)) notes.push(el("span", { class: "soft", text: `human ${numberText(human, 2)}` }));
    if (["disagree", "over", "under"].includes(state.sort) && !Number.isNaN(item.value)) {
      notes.push(
        el("span", {
          class: "soft",
          text:
            `the metric puts it ${numberText(Math.abs(item.value), 0)} places of 100 ` +
            `${item.value < 0 ? "below" : "above"} people`,
        }),
      );
    }
  }
  const rows = item.rows.map((row) => table.rows[row]);
  if (rows.some((row) => row.errors.some(Boolean)))
    notes.push(el("span", { class: "c-chip c-chip-error", text: "failed" }));
  return [...notes, ...flagChips([...new Set(rows.flatMap((row) => row.flags.flat()))])];
}
