// The panel that opens a file: choose or drop it, assign the columns, choose metrics, score with progress and cancel.
// The file is read in the browser; only its rows go to the page's own server.

import { announce, el } from "../shared/dom.js";
import { countOf, countText } from "../shared/format.js";
import { columnMapping, guessColumns, previewTable, rowsFrom, separatorChoice } from "./columns.js";
import { metricChoice } from "./metric_choice.js";
import { readRecords } from "./read_file.js";
import { scoredCorpus } from "./scoring.js";

const MAX_LISTED_PROBLEMS = 20;
const EXAMPLE_ROW = '{"system": "A", "candidate": "It opened on Saturday.", "references": ["It did open."]}';

/**
 * Draw the panel; `options` are {api, limits, version, models, metrics(), onCorpus(doc, file name), onAlignment(doc) if
 * a saved pair can be shown, onFile(name) when a file is chosen, onRunning(whether rows are being scored)}.
 */
export function createPanel(root, options) {
  const steps = el("div", {});
  const alert = el("p", { class: "error", role: "alert", hidden: true });
  const reading = progressBar("Reading the file");
  let running = null; // the AbortController of the current reading or scoring; a later one replaces it

  const input = el("input", {
    type: "file",
    id: "u-file",
    accept: ".jsonl,.ndjson,.json,.csv,.tsv,.tab,.txt",
    onclick: () => {
      input.value = "";
    }, // else choosing the same file again would not be a change
    onchange: () => input.files[0] && open(input.files[0]),
  });
  const drop = el(
    "div",
    {
      class: "u-drop",
      ondragover: (event) => {
        event.preventDefault();
        drop.classList.add("u-over");
      },
      ondragleave: () => drop.classList.remove("u-over"),
      ondrop: (event) => {
        event.preventDefault();
        drop.classList.remove("u-over");
        if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
      },
    },
    el("label", { for: "u-file", class: "u-title", text: "Open a file of many pairs" }),
    el("p", {
      class: "soft",
      text:
        "JSONL, CSV or TSV (any of , ; | and tab between fields), UTF-8, up to 100 MB; or a document (JSON) that was " +
        "saved here. " +
        "Drop it here, or choose it:",
    }),
    input,
    el(
      "details",
      {},
      el("summary", { text: "What should be in it?" }),
      el("p", {
        text:
          "One row per candidate: the text to judge, one or more references to compare with, and, if you " +
          "have them, a source, the name of the system and a human rating. You choose the columns in the next step. " +
          "As JSONL, a row looks like this:",
      }),
      el("p", {}, el("code", { text: EXAMPLE_ROW })),
    ),
  );
  root.replaceChildren(
    el("section", { class: "panel upload", "aria-label": "Open a file" }, drop, reading.node, alert, steps),
  );

  /** Abort the current task; returns the AbortController of the next one. */
  function begun() {
    running?.abort();
    options.onRunning?.(false);
    running = new AbortController();
    return running;
  }

  /** Read a file; a second time with the reader's `choices`, and the id of the control that gets the focus back. */
  async function open(file, choices = {}, asking = null) {
    const control = begun();
    if (!asking) options.onFile?.(file.name);
    const read = (share) => {
      if (running === control) reading.show(share, 1, `Reading ${file.name}`, () => control.abort());
    };
    alert.hidden = true;
    steps.replaceChildren();
    read(0);
    try {
      const table = await readRecords(file, read, control.signal, choices);
      control.signal.throwIfAborted();
      reading.hide();
      if (table.document) openDocument(file, table.document);
      else if (table.records.length) mapColumns(file, table, asking);
      else {
        const [first] = table.problems;
        fail(`${file.name} has no rows. ${first ? `${first.place}: ${first.message}` : ""}`);
      }
    } catch (error) {
      if (running !== control) return;
      reading.hide();
      if (error.name !== "AbortError") return fail(error.message);
      announce(`${file.name} was not read.`);
      input.focus();
    }
  }

  function openDocument(file, doc) {
    if (doc.format === "evalign.corpus") {
      options.onCorpus(doc, file.name);
      announce(`${file.name} is shown below.`);
    } else if (options.onAlignment) options.onAlignment(doc);
    else fail(`${file.name} holds the matches of one pair; here, files of many pairs are opened.`);
  }

  function fail(message) {
    alert.textContent = message;
    alert.hidden = false;
  }

  /** The second step: columns, a preview of the rows, metrics. */
  function mapColumns(file, table, asking) {
    const mapping = columnMapping(table.columns, guessColumns(table.columns, table.header), checked);
    const preview = el("div", {});
    const problems = el("div", {});
    const metrics = metricChoice(options);
    const start = el("button", { type: "submit", class: "main", text: "Score" });
    const progress = progressBar("Scoring");
    const error = el("p", { class: "error", role: "alert", hidden: true });
    const heading = el("h2", { tabindex: -1, text: file.name });
    const fields = el(
      "fieldset",
      { "aria-label": "Columns and metrics" },
      separatorChoice(table, (choices, control) => open(file, choices, control)),
      mapping.node,
      problems,
      preview,
      metrics.node,
      el("div", { class: "row u-start" }, start),
    );
    let made = null; // the rows under the current mapping
    const form = el(
      "form",
      {
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          score();
        },
      },
      heading,
      el("p", {
        class: "soft",
        text: `${countOf(table.records.length, "row")}, ${countOf(table.columns.length, "column")}`,
      }),
      fields,
      error,
      progress.node,
    );
    const folded = el("details", { open: true }, el("summary", { text: "Columns and metrics" }), form);
    steps.replaceChildren(folded);
    checked();
    (document.getElementById(asking ?? "") ?? heading).focus();
    announce(`${file.name}: ${countOf(table.records.length, "row")}. Check the columns, choose metrics, and score.`);

    function checked() {
      const chosen = mapping.value();
      made = rowsFrom(chosen.candidate ? table : { records: [] }, chosen);
      const all = [...table.problems, ...made.problems];
      preview.replaceChildren(previewTable(made.rows.slice(0, 5)));
      problems.replaceChildren(...problemList(all));
      metrics.available({
        references: made.rows.some((row) => row.references.length),
        sources: made.rows.some((row) => row.source !== undefined),
      });
      start.disabled = !made.rows.length || table.header === null;
      start.textContent =
        table.header === null
          ? "Say first whether the first line is a header"
          : `Score ${countOf(made.rows.length, "row")}`;
    }

    async function score() {
      const specs = metrics.specs();
      error.hidden = true;
      if (!specs.length) {
        error.textContent = "Choose at least one metric.";
        error.hidden = false;
        return;
      }
      const control = begun();
      fields.disabled = true;
      progress.begin(made.rows.length, () => control.abort());
      options.onRunning?.(true);
      try {
        const doc = await scoredCorpus(made.rows, specs, {
          api: options.api,
          limits: options.limits,
          version: options.version,
          signal: control.signal,
          places: made.places,
          problems: [...table.problems, ...made.problems],
          onProgress: (done) => progress.advance(done),
          onStep: (words) => progress.say(words),
        });
        if (running !== control) return;
        options.onCorpus(doc, file.name);
        folded.open = false; // the results are below
        folded.firstChild.focus();
        const missing = made.rows.length - doc.rows.length;
        announce(
          missing
            ? `Stopped: ${countOf(doc.rows.length, "row")} scored, ${countText(missing)} not.`
            : `${countOf(doc.rows.length, "row")} scored. The results are below.`,
        );
      } catch (failure) {
        if (running !== control) return;
        if (failure.name === "AbortError") announce("Cancelled before a row was scored.");
        else {
          error.textContent = failure.message;
          error.hidden = false;
        }
        fields.disabled = false;
        start.focus();
      } finally {
        if (running === control) options.onRunning?.(false);
      }
      progress.hide();
      fields.disabled = false;
    }
  }
}

function problemList(problems) {
  if (!problems.length) return [];
  const shown = problems.slice(0, MAX_LISTED_PROBLEMS);
  return [
    el(
      "details",
      { class: "u-problems", open: problems.length <= 5 },
      el("summary", { text: `${countOf(problems.length, "line")} cannot be read and will be left out` }),
      el("ul", {}, ...shown.map(({ place, message }) => el("li", {}, el("strong", { text: `${place}: ` }), message))),
      problems.length > shown.length
        ? el("p", {
            class: "soft",
            text: `and ${countText(problems.length - shown.length)} more; all are listed with the results`,
          })
        : null,
    ),
  ];
}

/**
 * The progress of a long task: bar, count, time left, button to cancel; announced at every tenth only. Returns {node,
 * show(done, total, words, onCancel), begin(total, onCancel), advance(done), say(words), hide()}.
 */
function progressBar(label) {
  const bar = el("progress", { "aria-label": label, max: 1, value: 0 });
  const words = el("span", { class: "u-progress-words" });
  const cancel = el("button", { type: "button", text: "Cancel" });
  const node = el("div", { class: "u-progress", hidden: true }, bar, words, cancel);
  let total = 1;
  let began = 0;
  let spoken = 0;
  let onCancel = () => {};
  cancel.addEventListener("click", () => onCancel());
  function show(done, all, text, stop) {
    node.hidden = false;
    bar.max = all;
    bar.value = done;
    words.textContent = text;
    onCancel = stop;
  }
  return {
    node,
    show,
    begin(count, stop) {
      [total, began, spoken] = [count, performance.now(), 0];
      show(0, total, `0 of ${countText(total)} rows`, stop);
      cancel.focus();
    },
    advance(done) {
      bar.value = done;
      const left = (((performance.now() - began) / done) * (total - done)) / 1000;
      const rest = done < total ? `, ${durationText(left)} left` : "";
      words.textContent = `${countText(done)} of ${countText(total)} rows${rest}`;
      const tenth = Math.floor((done / total) * 10);
      if (tenth > spoken) announce(words.textContent);
      spoken = tenth;
    },
    say(text) {
      words.textContent = text;
      announce(text);
    },
    hide: () => {
      node.hidden = true;
    },
  };
}

function durationText(seconds) {
  if (seconds < 60) return `about ${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min`;
  return `about ${(seconds / 3600).toFixed(1)} h`;
}
