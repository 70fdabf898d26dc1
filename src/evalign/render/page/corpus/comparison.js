// The section that compares two systems: verdicts in words, a chart of the differences, the texts of a chosen row.
// Where the document has no comparison, a button has the server test the differences.

import { choiceGroup, labelledSelect } from "../shared/controls.js";
import { announce, el } from "../shared/dom.js";
import { numberText, scoreDigits } from "../shared/format.js";
import { bottomAxis, chartDownloads, dotsPath, fittedChart, fittedText, leftAxis, svgEl } from "./charts.js";
import { rowDetails } from "./row_item.js";
import { pairedDifferences, systemLabel } from "./table.js";
import { verdictNodes, versusOf } from "./verdicts.js";

const KEY_STEPS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
};

/**
 * The section of the comparison; `context` is {table, state, set, metric(), openPair, compare,
 * takeComparison(comparison)}.
 */
export function comparisonSection(context) {
  const { table } = context;
  const first = labelledSelect("Baseline", (value) => chooseSystems(context, "a", value.slice(1)));
  const second = labelledSelect("compared with", (value) => chooseSystems(context, "b", value.slice(1)));
  const verdicts = el("div", {});
  const asking = testButton(context);
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
  const onMove = (index) => {
    at = index;
    words.textContent = `Under the cursor: ${differenceWords(about, index)}. Click or Enter shows both texts.`;
  };
  const onOpen = (index) => {
    details.replaceChildren(
      rowDetails(context, about.paired.differences[index].pair, context.state.metric, "both systems"),
    );
    announce(`Texts of ${differenceWords(about, index)}`);
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
function testButton(context) {
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
        context.takeComparison(await context.compare(context.table, context.state.a));
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

/** The chart of `about`: {table, metric, field, a, b, paired, plot, at, onMove(place), onOpen(place)}. */
function differenceChart(about, width) {
  const height = Math.round(Math.min(360, Math.max(220, width * (about.plot === "scatter" ? 0.8 : 0.42))));
  const frame = { left: 58, right: width - 10, top: 26, bottom: height - 40, width, height };
  const svg = svgEl("svg", { class: "c-chart", width, height });
  if (!about.paired.differences.length) return svg;
  const drawn = about.plot === "scatter" ? scatterPlot(about, frame) : sortedPlot(about, frame);
  const cursor = svgEl("g", { class: "c-cursor", "data-cursor": "", "aria-hidden": "true" });
  const slider = svgEl("rect", {
    class: "c-slider",
    x: frame.left,
    y: frame.top,
    width: frame.right - frame.left,
    height: frame.bottom - frame.top,
    role: "slider",
    tabindex: 0,
    "aria-valuemin": 1,
    "aria-valuemax": about.paired.differences.length,
    "aria-label": `Rows by difference of ${systemLabel(about.b)} and ${systemLabel(about.a)}, Enter shows the texts`,
  });
  let at = Math.min(about.at, about.paired.differences.length - 1);
  const move = (index) => {
    at = Math.max(0, Math.min(about.paired.differences.length - 1, index));
    cursor.replaceChildren(...drawn.cursor(at));
    slider.setAttribute("aria-valuenow", at + 1);
    slider.setAttribute("aria-valuetext", differenceWords(about, at));
    about.onMove(at);
  };
  slider.addEventListener("keydown", (event) => {
    if (event.key in KEY_STEPS) move(at + KEY_STEPS[event.key]);
    else if (event.key === "Enter" || event.key === " ") about.onOpen(at);
    else return;
    event.preventDefault();
  });
  const near = (event) => {
    const box = svg.getBoundingClientRect();
    return drawn.nearest(event.clientX - box.left, event.clientY - box.top);
  };
  slider.addEventListener("pointermove", (event) => move(near(event)));
  slider.addEventListener("click", (event) => {
    move(near(event));
    about.onOpen(at);
  });
  svg.append(...drawn.nodes, cursor, slider);
  move(at);
  return svg;
}

/** "row 7: 0.61 -> 0.72 (+0.11)". */
function differenceWords({ table, metric, field, paired }, index) {
  const { pair, difference } = paired.differences[index];
  const values = table.values(metric, field);
  const digits = scoreDigits(table.metrics[metric]);
  const [before, after] = pair.map((row) => numberText(values[row], digits));
  return `row ${table.rows[pair[0]].id}: ${before} \u2192 ${after} (${numberText(difference, digits, true)})`;
}

function sortedPlot(about, frame) {
  const { differences } = about.paired;
  const { top, bottom, left, right } = frame;
  const far = Math.max(...[differences[0], differences.at(-1)].map((extreme) => Math.abs(extreme.difference)), 1e-9);
  const y = (value) => (top + bottom) / 2 - ((value / far) * (bottom - top)) / 2;
  const step = (right - left) / differences.length;
  const bars = (keep) =>
    differences
      .map(({ difference }, index) =>
        keep(difference)
          ? `M${(left + index * step).toFixed(2)} ${y(0).toFixed(1)}V${y(difference).toFixed(1)}` +
            `h${(step > 4 ? step - 1 : step).toFixed(2)}V${y(0).toFixed(1)}Z`
          : "",
      )
      .join("");
  const higher = about.table.metrics[about.metric].higher_is_better;
  const side = (value) => (value > 0 === higher ? "c-gain" : "c-loss");
  const { pattern, up, down } = gainPatterns(side);
  const nodes = [
    pattern,
    leftAxis({
      low: -far,
      high: far,
      scale: y,
      left,
      right,
      height: bottom - top,
      title: fittedText(`${systemLabel(about.b)} minus ${systemLabel(about.a)}`, frame.width - 8),
    }),
    svgEl("path", {
      class: `c-area ${side(1)}`,
      fill: up,
      d: bars((value) => value > about.table.tie),
      "aria-hidden": "true",
    }),
    svgEl("path", {
      class: `c-area ${side(-1)}`,
      fill: down,
      d: bars((value) => value < -about.table.tie),
      "aria-hidden": "true",
    }),
    svgEl("line", { class: "c-zero", x1: left, x2: right, y1: y(0), y2: y(0) }),
    sideNote(`${systemLabel(about.b)} ${higher ? "better" : "worse"}`, left + 4, top + 12, "start", frame),
    sideNote(`${systemLabel(about.b)} ${higher ? "worse" : "better"}`, right - 4, bottom - 6, "end", frame),
    svgEl("text", {
      class: "c-axis-title",
      x: right,
      y: bottom + 22,
      "text-anchor": "end",
      "aria-hidden": "true",
      text: "rows, in order of their difference",
    }),
  ];
  return {
    nodes,
    nearest: (x) => Math.floor((x - left) / step),
    cursor: (index) => [
      svgEl("line", { x1: left + (index + 0.5) * step, x2: left + (index + 0.5) * step, y1: top, y2: bottom }),
      svgEl("circle", { cx: left + (index + 0.5) * step, cy: y(differences[index].difference), r: 4 }),
    ],
  };
}

function scatterPlot(about, frame) {
  const { differences } = about.paired;
  const values = about.table.values(about.metric, about.field);
  const both = differences.map(({ pair }) => [values[pair[0]], values[pair[1]]]);
  const flat = both.flat();
  let low = flat.reduce((least, value) => Math.min(least, value), Infinity);
  let high = flat.reduce((most, value) => Math.max(most, value), -Infinity);
  const air = (high - low) * 0.04 || 0.5;
  [low, high] = [low - air, high + air];
  const { top, bottom, left, right } = frame;
  const x = (value) => left + ((value - low) / (high - low)) * (right - left);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const points = both.map(([ofA, ofB]) => [x(ofA), y(ofB)]);
  const higher = about.table.metrics[about.metric].higher_is_better;
  const path = (style, keep) =>
    svgEl("path", {
      class: `c-dots ${style}`,
      "aria-hidden": "true",
      d: dotsPath(points.filter((_point, index) => keep(differences[index].difference))),
    });
  return {
    nodes: [
      leftAxis({
        low,
        high,
        scale: y,
        left,
        right,
        height: bottom - top,
        title: fittedText(systemLabel(about.b), frame.width - 8),
      }),
      bottomAxis({
        low,
        high,
        scale: x,
        top,
        bottom,
        width: right - left,
        title: fittedText(systemLabel(about.a), frame.width - 80),
      }),
      svgEl("line", { class: "c-diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }),
      path("c-tie", (value) => Math.abs(value) <= about.table.tie),
      path(higher ? "c-gain" : "c-loss", (value) => value > about.table.tie),
      path(higher ? "c-loss" : "c-gain", (value) => value < -about.table.tie),
      sideNote(`${systemLabel(about.b)} ${higher ? "better" : "worse"}`, left + 6, top + 14, "start", frame),
      sideNote(`${systemLabel(about.b)} ${higher ? "worse" : "better"}`, right - 6, bottom - 8, "end", frame),
    ],
    nearest: (atX, atY) => {
      let best = 0;
      let least = Infinity;
      points.forEach(([px, py], index) => {
        const far = (px - atX) ** 2 + (py - atY) ** 2;
        if (far < least) [best, least] = [index, far];
      });
      return best;
    },
    cursor: (index) => [svgEl("circle", { cx: points[index][0], cy: points[index][1], r: 7 })],
  };
}

function sideNote(text, x, y, anchor, frame) {
  return svgEl("text", {
    class: "c-side",
    x,
    y,
    "text-anchor": anchor,
    "aria-hidden": "true",
    text: fittedText(text, frame.width * 0.6),
  });
}

/** Gains are filled, losses hatched: the two differ without colour. */
function gainPatterns(side) {
  const hatch = svgEl(
    "pattern",
    { id: "difference-loss", class: "c-loss", width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svgEl("rect", { class: "c-hatch-back", width: 6, height: 6 }),
    svgEl("path", { class: "c-hatch", d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5" }),
  );
  const fill = (value) => (side(value) === "c-loss" ? "url(#difference-loss)" : "var(--c-gain)");
  return { pattern: svgEl("defs", {}, hatch), up: fill(1), down: fill(-1) };
}
