// One entry of the list of rows: its score with a bar, the texts, flags, and the details that unfold (all texts, all
// scores). An entry is one row, or the rows of two or all systems that answer the same input, side by side.

import { scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { numberText, scoreDigits } from "../shared/format.js";
import { systemMark } from "./charts.js";
import { referenceLabel, scoredPair, shownReference, whyNoPicture } from "./scored_row.js";
import { flagChips } from "./summary.js";
import { systemLabel } from "./table.js";

/** The entry at a position of the list; `scale` is made by `itemScale`. */
export function rowItem(context, item, position, scale) {
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
          several ? `number ${position + 1} of the list` : systemLabel(row.system ?? ""),
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

/** The output of every system for one input, with its score, or a note that the system has no such row. */
function sideBySide(context, item, metric) {
  const { table, state } = context;
  const values = table.values(state.metric, state.field);
  const digits = scoreDigits(table.metrics[state.metric]);
  const systems = item.kind === "pairs" ? [state.a, state.b] : table.systems;
  const higher = table.metrics[state.metric].higher_is_better;
  const finite = item.rows.map((row) => values[row]).filter((value) => !Number.isNaN(value));
  const best = higher ? Math.max(...finite) : Math.min(...finite);
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
    const isBest = finite.length > 1 && Math.abs(values[index] - best) <= table.tie;
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

/** The references that the listed scores were computed with. */
function referenceLines({ table }, item, metric) {
  const [row] = item.rows.map((index) => table.rows[index]);
  if (!row.references?.length) return [];
  const shown = [...new Set(item.rows.map((index) => shownReference(table.rows[index], metric)))].sort();
  return shown.map((index) =>
    el(
      "p",
      { class: "c-line soft" },
      el("span", { class: "c-tag", text: referenceLabel(row, index) }),
      " ",
      el("bdi", { class: "c-line-text", dir: "auto", text: row.references[index] }),
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

/** The number of an entry: the sort value, or the chosen metric's score if the rows are not sorted by a score. */
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
            `the metric ranks it ${numberText(Math.abs(item.value), 0)} percentile points ` +
            `${item.value < 0 ? "below" : "above"} the human rating`,
        }),
      );
    }
  }
  const rows = item.rows.map((row) => table.rows[row]);
  if (rows.some((row) => row.errors.some(Boolean)))
    notes.push(el("span", { class: "c-chip c-chip-error", text: "failed" }));
  return [...notes, ...flagChips([...new Set(rows.flatMap((row) => row.flags.flat()))])];
}

/** Texts and scores of rows (indices: one, or those of one input); `listed` is the metric that the list shows, `where`
    tells regions of equal rows apart. `context` is {table, opens(pair), openPair(pair)}. */
export function rowDetails(context, rows, listed, where) {
  const { table } = context;
  const shown = rows.map((row) => table.rows[row]);
  const first = shown[0];
  const texts = el("div", { class: "c-texts" });
  shown.forEach((row, index) =>
    texts.append(
      textBox(
        rows.length > 1 ? ["Candidate of ", systemName(table, row)] : ["Candidate"],
        row.candidate,
        ...alignmentButtons(context, rows[index]),
      ),
    ),
  );
  const best = [...new Set(shown.map((row) => row.best_reference?.[listed] ?? null))];
  (first.references ?? []).forEach((reference, index, all) =>
    texts.append(
      textBox(
        [all.length > 1 ? `Reference ${index + 1}` : "Reference"],
        reference,
        all.length > 1 && best.includes(index)
          ? el("span", { class: "c-chip", text: `best under ${table.metrics[listed].metric}` })
          : null,
        all.length > 1 && rows.length === 1 && !best.includes(index)
          ? alignmentButton(context, rows[0], listed, "Alignment", index)
          : null,
      ),
    ),
  );
  if (typeof first.source === "string") texts.append(textBox(["Source"], first.source));
  if (!texts.querySelector("p")) {
    texts.replaceChildren(el("p", { class: "soft", text: "This document holds scores without texts." }));
  }
  const why = whyNoPicture(context, rows[0], listed);
  const whyNote = why ? el("p", { class: "soft", text: why }) : null;
  return el("div", { class: "c-details" }, whyNote, texts, detailScores(table, rows, where));
}

/** A button for each metric under which the row can be shown. */
function alignmentButtons(context, index) {
  return context.table.metrics.map((metric, metricIndex) =>
    alignmentButton(context, index, metricIndex, `Alignment under ${metric.metric}`),
  );
}

/** A button that opens the row's alignment under a metric; null if there is none to open. */
function alignmentButton(context, index, metricIndex, text, reference = null) {
  const { table } = context;
  const pair = scoredPair(table, index, metricIndex, reference);
  if (!pair || !context.opens(pair)) return null;
  const against = reference === null ? "" : `, reference ${reference + 1}`;
  const label = `of row ${pair.id}, ${systemLabel(pair.system)}${against}`;
  return el("button", {
    type: "button",
    class: "c-small",
    text,
    "aria-label": `${text} ${label}`,
    onclick: () => context.openPair(pair),
  });
}

/** A system's mark and name. */
function systemName(table, row) {
  return el(
    "span",
    { class: "c-system" },
    systemMark(table.systems.indexOf(row.system ?? "")),
    el("bdi", { text: systemLabel(row.system ?? "") }),
  );
}

function textBox(title, text, ...beside) {
  if (typeof text !== "string") return "";
  return el(
    "div",
    { class: "c-text" },
    el("div", { class: "c-text-head" }, el("strong", {}, ...title), ...beside),
    text.trim() === "" ? el("p", { class: "soft", text: "(empty text)" }) : el("p", { dir: "auto", text }),
  );
}

function detailScores(table, rows, where) {
  const names = [
    "metric",
    ...rows.map((row) => (rows.length > 1 ? systemLabel(table.rows[row].system ?? "") : "score")),
  ];
  if (rows.length === 2) names.push("difference");
  const body = table.metrics.flatMap((metric, index) => {
    const digits = scoreDigits(metric);
    if (rows.every((row) => !table.rows[row].scores[index])) {
      const errors = [...new Set(rows.map((row) => table.rows[row].errors[index]).filter(Boolean))];
      return [
        el(
          "tr",
          {},
          el("th", { scope: "row", text: metric.metric }),
          el("td", { class: "name error", colspan: names.length - 1, text: errors.join(" ") || "not scored" }),
        ),
      ];
    }
    return metric.fields.map((field) => {
      const values = rows.map((row) => table.rows[row].scores[index]?.[field] ?? null);
      const cells = values.map((value, which) =>
        el(
          "td",
          {},
          value === null
            ? el("span", { class: "error", text: table.rows[rows[which]].errors[index] ?? "not scored" })
            : numberText(value, digits),
          " ",
          ...(field === metric.main ? flagChips(table.rows[rows[which]].flags[index]) : []),
        ),
      );
      if (rows.length === 2) {
        const bothScored = values[0] !== null && values[1] !== null;
        cells.push(el("td", { text: bothScored ? numberText(values[1] - values[0], digits, true) : "\u2013" }));
      }
      const name = metric.fields.length > 1 ? `${metric.metric} ${field}` : metric.metric;
      return el("tr", {}, el("th", { scope: "row", text: name }), ...cells);
    });
  });
  const human = table.human();
  if (human && rows.some((row) => !Number.isNaN(human[row]))) {
    const cells = rows.map((row) => el("td", { text: numberText(human[row], 2) }));
    if (rows.length === 2) cells.push(el("td", { text: numberText(human[rows[1]] - human[rows[0]], 2, true) }));
    body.push(el("tr", {}, el("th", { scope: "row", text: "human" }), ...cells));
  }
  return scrollTable(`Scores of row ${table.rows[rows[0]].id}, ${where}`, names, body);
}

/** Index of the metric whose score the list shows. */
export function listedMetric(table, state) {
  const [name, index] = state.sort.split(":");
  return name === "m" && table.metrics[index] ? Number(index) : state.metric;
}
