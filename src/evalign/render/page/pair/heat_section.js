// The folded section with the heatmap and the rounds of a recursive matching. In: what focuses words, and functions that
// give what is shown. Out: the section, drawn when it is open.

import { el } from "../shared/dom.js";
import { makeHeatmap } from "./heatmap.js";
import { roundsControl } from "./rounds.js";

/** The section; `shown()` gives {grid, view}, `opened(open)` is told when the reader opens or closes it. */
export function heatSection(focus, shown, opened) {
  const heat = makeHeatmap({
    cell: (i, j, keyed) => (keyed ? focus.key("candidate", i, j) : focus.hover("candidate", i, j)),
    leave: () => focus.leave(),
    blur: () => focus.blur(),
    pin: (i, j) => focus.pin("candidate", i, j),
    escape: () => focus.escape(),
  });
  const draw = () => {
    const { grid, view } = shown();
    rounds.show(view.matching);
    if (!node.open) return;
    heat.draw(grid, rounds.lines(grid) ?? view.lines);
    heat.highlight(focus.current());
  };
  const rounds = roundsControl(draw);
  const summary = el("summary", { text: "Heatmap of all similarities" });
  const node = el(
    "details",
    { class: "pair-heat", ontoggle: () => opened(node.open) },
    summary,
    rounds.node,
    heat.node,
  );
  const widths = new ResizeObserver(draw);
  widths.observe(heat.node);
  return {
    node,
    draw,
    highlight: (current) => heat.highlight(current),
    stop: () => {
      rounds.stop();
      widths.disconnect();
    },
  };
}
