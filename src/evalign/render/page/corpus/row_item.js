// One entry of the list of rows: its score with a bar, the texts, flags, and the details that unfold.
// In: an entry {rows, value, score} of row_order.js. Out: an <li>.

import { el } from "../shared/dom.js";
import { numberText, scoreDigits } from "../shared/number_text.js";
import { rowDetails, systemName } from "./row_details.js";
import { sortedMetric } from "./row_order.js";
import { flagChips } from "./summary.js";
import { systemLabel } from "./table.js";

/** The entry at a place of the list; `scale` is made by `itemScale`. */
export function rowItem(context, item, place, scale) {
  const { table } = context;
  const rows = item.rows.map((index) => table.rows[index]);
  const [row] = rows;
  const pair = rows.length > 1;
  const details = el("div", { hidden: true });
  const texts = typeof row.candidate === "string";
  const opens = !pair && context.openPair && texts && row.references?.length;
  const toggle = () => {
    if (!details.firstChild)
      details.append(
        rowDetails(
          table,
          item.rows,
          context.openPair,
          pair ? `number ${place + 1} of the list` : systemLabel(row.system ?? ""),
        ),
      );
    details.hidden = !details.hidden;
    node.classList.toggle("c-opened", !details.hidden);
    for (const button of node.querySelectorAll("[aria-expanded]"))
      button.setAttribute("aria-expanded", !details.hidden);
  };
  const act = opens ? () => context.openPair(row) : toggle;
  const name = pair ? `Row ${row.id}, both systems` : `Row ${row.id}, ${systemLabel(row.system ?? "")}`;
  const open = el(
    "button",
    {
      type: "button",
      class: "c-open",
      "aria-expanded": opens ? null : "false",
      onclick: act,
      title: opens ? "Show the alignment" : "Show texts and scores",
    },
    el("bdi", { text: String(row.id) }),
    el("span", { class: "out-of-sight", text: ` ${name.replace(/^Row .*?, /, "")}` }),
  );
  const head = el(
    "div",
    { class: "c-row-head" },
    open,
    pair ? null : systemName(table, row),
    ...rowNotes(context, item),
    opens
      ? el("button", {
          type: "button",
          class: "c-small",
          "aria-expanded": "false",
          text: "Details",
          "aria-label": `Details of ${name}`,
          onclick: toggle,
        })
      : null,
  );
  const lines = texts
    ? rows.map((shown) =>
        el(
          "p",
          { class: "c-line" },
          pair ? systemName(table, shown) : "",
          pair ? " " : "",
          shown.candidate.trim() === ""
            ? el("span", { class: "soft", text: "(empty text)" })
            : el("bdi", { class: "c-line-text", dir: "auto", text: shown.candidate }),
        ),
      )
    : [];
  if (row.references?.length) {
    lines.push(
      el(
        "p",
        { class: "c-line soft" },
        el("span", { class: "c-tag", text: "reference" }),
        " ",
        el("bdi", { class: "c-line-text", dir: "auto", text: row.references[0] }),
      ),
    );
  }
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
    el("div", { class: "c-row-body" }, head, ...lines, details),
  );
  return node;
}

/** The number that the list is sorted by, with a bar that begins at zero or at the lowest. */
function scoreColumnOf({ table, state }, item, scale) {
  const pair = item.rows.length > 1;
  const value = pair ? item.value : shownScore(state, item);
  const metric = sortedMetric(table, state);
  if (Number.isNaN(value))
    return el("div", { class: "c-row-score" }, el("span", { class: "c-failed", text: "no score" }));
  const bar = el("span", { class: "c-meter", "aria-hidden": "true" }, el("span", {}));
  const share = scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 1;
  if (pair) {
    const good = value > 0 === metric.higher_is_better;
    bar.className = `c-meter c-signed ${Math.abs(value) <= table.tie ? "" : good ? "c-gain" : "c-loss"}`;
    bar.firstChild.style.width = `${(Math.abs(value) / scale.far) * 50}%`;
    bar.firstChild.style.marginInlineStart = value < 0 ? `${50 - (Math.abs(value) / scale.far) * 50}%` : "50%";
  } else bar.firstChild.style.width = `${Math.max(2, share * 100)}%`;
  return el(
    "div",
    { class: "c-row-score" },
    el("span", { class: "c-number", text: numberText(value, scoreDigits(metric), pair) }),
    bar,
  );
}

function shownScore(state, item) {
  return state.sort.startsWith("m:") ? item.value : item.score;
}

/** The range of all listed values, for the bars: {low, high, far}. */
export function itemScale(items) {
  const values = items
    .map((item) => (item.rows.length > 1 ? item.value : item.score))
    .filter((value) => !Number.isNaN(value));
  const low = values.reduce((least, value) => Math.min(least, value), Infinity);
  const high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  return { low: Math.min(low, 0), high, far: Math.max(Math.abs(low), Math.abs(high)) || 1 };
}

function rowNotes({ table, state }, item) {
  const notes = [];
  const index = item.rows[0];
  const digits = scoreDigits(table.metrics[state.metric]);
  if (item.rows.length > 1) {
    const values = table.values(state.metric, state.field);
    notes.push(
      el("span", { class: "soft", text: item.rows.map((row) => numberText(values[row], digits)).join(" \u2192 ") }),
    );
  } else {
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
  const row = table.rows[index];
  if (row.errors.some(Boolean)) notes.push(el("span", { class: "c-chip c-chip-error", text: "failed" }));
  return [...notes, ...flagChips([...new Set(item.rows.flatMap((index) => table.rows[index].flags.flat()))])];
}
