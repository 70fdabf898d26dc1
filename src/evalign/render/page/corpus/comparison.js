// The section that compares two systems: verdicts in words, a chart of the differences, the texts of a chosen row.
// In: the corpus table and its comparison; if it has none, a button asks the server for it.

import { choiceGroup, labelledSelect } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { chartDownloads, fittedChart } from "./charts.js";
import { differenceChart, differenceWords } from "./difference_chart.js";
import { rowDetails } from "./row_details.js";
import { pairedDifferences, systemLabel } from "./table.js";
import { testedComparison } from "./tested_comparison.js";
import { verdictNodes, versusOf } from "./verdicts.js";

/** The section; `context` is {table, state, set, metric(), openPair, compare, takeComparison(comparison)}. */
export function compareSection(context) {
  const { table } = context;
  const first = labelledSelect("Baseline", (value) => chooseSystems(context, "a", value.slice(1)));
  const second = labelledSelect("compared with", (value) => chooseSystems(context, "b", value.slice(1)));
  const verdicts = el("div", {});
  const asking = askForTest(context);
  const holder = el("div", { class: "c-holder" });
  const words = el("p", { class: "c-cursor-words soft" });
  const details = el("div", { class: "c-pair-details" });
  const plots = choiceGroup(
    "Picture",
    "plot",
    [
      ["sorted", "Sorted differences"],
      ["scatter", "Scatter"],
    ],
    (plot) => context.set({ plot }),
  );
  const listButton = el("button", {
    type: "button",
    text: "List the rows by difference",
    onclick: () => {
      context.set({ sort: "losses", page: 0 });
      const heading = document.getElementById("c-rows");
      heading.scrollIntoView();
      announce(`Rows are listed by where ${systemLabel(context.state.b)} loses most.`);
    },
  });
  const plotTitle = el("h3", {});
  const node = el(
    "section",
    { class: "c-section", "aria-labelledby": "c-compare" },
    el("h2", { id: "c-compare", text: "System against system" }),
    el("div", { class: "row" }, first.node, second.node, asking.node),
    asking.alert,
    verdicts,
    el(
      "div",
      { class: "c-section-head" },
      plotTitle,
      plots.node,
      chartDownloads(holder, "differences", () => context.metric().signature),
    ),
    holder,
    words,
    el("div", { class: "c-buttons no-print" }, listButton),
    details,
  );
  let about = null;
  let at = 0;
  const chart = fittedChart(holder, (width) => {
    if (about) holder.replaceChildren(differenceChart({ ...about, at }, width));
  });
  const onMove = (place) => {
    at = place;
    words.textContent = `Under the cursor: ${differenceWords(about, place)}. Click or Enter shows both texts.`;
  };
  const onOpen = (place) => {
    details.replaceChildren(
      rowDetails(context, about.paired.differences[place].pair, context.state.metric, "both systems"),
    );
    announce(`Texts of ${differenceWords(about, place)}`);
  };
  let shownFor = "";
  return {
    node,
    needs: ["metric", "field", "a", "b", "plot"],
    update() {
      const { state } = context;
      const choices = table.systems.map((system) => [`=${system}`, systemLabel(system)]);
      first.fill(choices, `=${state.a}`);
      second.fill(choices, `=${state.b}`);
      plots.choose(state.plot);
      plotTitle.textContent = `Row by row: ${context.metric().metric} ${state.field}`;
      const paired = pairedDifferences(table, state.a, state.b, state.metric, state.field);
      paired.differences.sort((first, second) => first.difference - second.difference);
      about = {
        table,
        metric: state.metric,
        field: state.field,
        a: state.a,
        b: state.b,
        plot: state.plot,
        paired,
        onMove,
        onOpen,
      };
      const now = JSON.stringify([state.metric, state.field, state.a, state.b]);
      if (now !== shownFor) {
        at = 0;
        details.replaceChildren();
        shownFor = now;
      }
      verdicts.replaceChildren(...verdictNodes(context));
      asking.update();
      const empty = !paired.differences.length;
      holder.hidden = empty;
      words.textContent = empty
        ? "No row of the two systems answers the same input, so there is nothing to compare."
        : "";
      listButton.hidden = empty;
      const focused = holder.contains(document.activeElement);
      chart.redraw();
      if (focused) holder.querySelector("[role=slider]")?.focus();
    },
    destroy: chart.stop,
  };
}

function chooseSystems(context, which, system) {
  const opposite = which === "a" ? "b" : "a";
  const patch = { [which]: system, page: 0 };
  if (context.state[opposite] === system) patch[opposite] = context.state[which];
  context.set(patch);
}

/** The button that asks the server to test the differences; hidden where there is no server. */
function askForTest(context) {
  const alert = el("p", { class: "error", role: "alert", hidden: true });
  const button = el("button", {
    type: "button",
    class: "main",
    text: "Test the differences",
    onclick: async () => {
      button.disabled = true;
      alert.hidden = true;
      announce("The server is testing the differences.");
      try {
        context.takeComparison(await testedComparison(context.compare, context.table, context.state.a));
        announce("The differences have been tested.");
      } catch (error) {
        alert.textContent = error.message;
        alert.hidden = false;
      }
      button.disabled = false;
    },
  });
  return {
    node: button,
    alert,
    update() {
      const { table, state } = context;
      const tested = versusOf(table.doc.comparison, context.metric().metric, state.a, state.b);
      button.hidden = !context.compare || Boolean(tested) || !table.pairs(state.a, state.b).pairs.length;
    },
  };
}
