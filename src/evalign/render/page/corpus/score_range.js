// Choosing a range of scores: by dragging over the bins of a picture or clicking one, by arrow keys, Shift and Enter,
// or by typing the ends. In and out: the range of the view's state, which narrows the list of rows.

import { announce, el } from "../shared/dom.js";
import { countText, numberText, scoreDigits } from "../shared/number_text.js";
import { svgEl } from "./charts.js";
import { systemLabel } from "./table.js";

/** Whether a value lies in a range whose ends may be open (null); the upper end belongs to it where the scores end. */
export function insideRange(value, [from, to], top) {
  return value >= (from ?? -Infinity) && (to === null || value < to || (to >= top && value <= to));
}

/** Whether a bin lies in the range; without a range none does. */
export function binInside(range, edges, bin) {
  if (!range) return false;
  return edges[bin] >= (range[0] ?? -Infinity) && edges[bin + 1] <= (range[1] ?? Infinity);
}

/** One button per bin over all lanes, only one of them in the order of tabs. */
export function binButtons(context, { lanes, edges }, place, bottom) {
  const { state } = context;
  const digits = scoreDigits(context.metric());
  let start = null;
  const select = (first, last) => {
    const range = [edges[Math.min(first, last)], edges[Math.max(first, last) + 1]];
    const same = state.range && state.range[0] === range[0] && state.range[1] === range[1];
    context.set({ range: same ? null : range, page: 0 });
  };
  const pressed = (bin) => binInside(state.range, edges, bin);
  const first = Math.max(
    0,
    edges.findIndex((_edge, bin) => bin < edges.length - 1 && pressed(bin)),
  );
  const buttons = edges.slice(0, -1).map((edge, bin) => {
    const counts = lanes.map((lane) => `${systemLabel(lane.system)} ${countText(lane.counts[bin])}`).join(", ");
    const label = `${numberText(edge, digits)} to ${numberText(edges[bin + 1], digits)}: ${counts}`;
    return svgEl(
      "rect",
      {
        class: "c-bin",
        x: place(edge),
        y: 0,
        width: place(edges[bin + 1]) - place(edge),
        height: bottom,
        role: "button",
        tabindex: bin === first ? 0 : -1,
        "data-bin": bin,
        "aria-pressed": pressed(bin),
        "aria-label": label,
      },
      svgEl("title", { text: label }),
    );
  });
  const binAt = (event) =>
    Number(document.elementFromPoint(event.clientX, event.clientY)?.getAttribute("data-bin") ?? start);
  return svgEl(
    "g",
    {
      onpointerdown: (event) => {
        start = Number(event.target.dataset.bin);
      },
      onpointermove: (event) => {
        if (start === null) return;
        const [low, high] = [start, binAt(event)].sort((first, second) => first - second);
        buttons.forEach((button, bin) => button.classList.toggle("c-brushed", bin >= low && bin <= high));
      },
      onpointerup: (event) => {
        if (start !== null) select(start, binAt(event));
        start = null;
      },
      onpointerleave: () => {
        start = null;
        for (const button of buttons) button.classList.remove("c-brushed");
      },
      onkeydown: (event) => {
        const bin = Number(event.target.dataset.bin);
        if (event.key === "Enter" || event.key === " ") select(bin, bin);
        else if (event.key === "Escape" && state.range) context.set({ range: null, page: 0 });
        else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
          const next = buttons[bin + (event.key === "ArrowRight" ? 1 : -1)];
          if (!next) return;
          event.target.setAttribute("tabindex", -1);
          next.setAttribute("tabindex", 0);
          next.focus();
          if (event.shiftKey) extendRange(context, edges, bin, Number(next.dataset.bin));
        } else return;
        event.preventDefault();
      },
    },
    ...buttons,
  );
}

/** Two fields for the ends, and a button that takes the range away. */
export function brushFields(context) {
  const from = el("input", { type: "number", step: "any", id: "c-from" });
  const to = el("input", { type: "number", step: "any", id: "c-to" });
  const clear = el("button", {
    type: "button",
    text: "All scores",
    onclick: () => {
      context.set({ range: null, page: 0 });
      announce("Rows of all scores are listed.");
      from.focus();
    },
  });
  const typed = () => {
    const range = [from, to].map((input) => (input.value === "" ? null : Number(input.value)));
    context.set({ range: range.every((end) => end === null) ? null : range, page: 0 });
  };
  from.addEventListener("change", typed);
  to.addEventListener("change", typed);
  return {
    node: el(
      "div",
      { class: "row c-brush" },
      el("span", {
        class: "soft c-hint",
        text: "Drag over the picture, or type, to list only the rows with such scores:",
      }),
      el("div", { class: "c-inline" }, el("label", { for: "c-from", text: "from" }), from),
      el("div", { class: "c-inline" }, el("label", { for: "c-to", text: "to" }), to),
      clear,
    ),
    update({ edges }) {
      const { range } = context.state;
      from.value = range?.[0] ?? "";
      to.value = range?.[1] ?? "";
      from.placeholder = edges[0];
      to.placeholder = edges.at(-1);
      clear.disabled = !range;
    },
  };
}

function extendRange(context, edges, bin, next) {
  const { range } = context.state;
  const [low, high] = [Math.min(bin, next), Math.max(bin, next)];
  const ends = range ?? [edges[low], edges[high + 1]];
  const from = ends[0] === null ? null : Math.min(ends[0], edges[low]);
  const to = ends[1] === null ? null : Math.max(ends[1], edges[high + 1]);
  context.set({ range: [from, to], page: 0 });
}
