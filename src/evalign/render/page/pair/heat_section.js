// The folded section with the heatmap, its zoom and contrast, and the rounds of a recursive matching. In: what focuses
// words, and functions that give what is shown. Out: the section, drawn when it is open.

import { controlCheck, controlSlider } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { makeHeatmap } from "./heatmap.js";
import { roundsControl } from "./rounds.js";

const HEAT_ZOOM = 8;

/** The section; `shown()` gives {grid, view}, `opened(open)` is told when the reader opens or closes it. */
export function heatSection(focus, shown, opened) {
  const looks = { zoom: 1, contrast: false };
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
    heat.draw(grid, rounds.lines(grid) ?? view.lines, looks);
    heat.highlight(focus.current());
  };
  const rounds = roundsControl(draw);
  const parts = [
    el("summary", { text: "Heatmap of all similarities" }),
    rounds.node,
    heatLooks((part) => {
      Object.assign(looks, part);
      draw();
    }),
    heat.node,
  ];
  const node = el("details", { class: "pair-heat", ontoggle: () => opened(node.open) }, ...parts);
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

/** How large the cells are, and whether the colours stand for all similarities or for most of them. */
function heatLooks(change) {
  const said = (value) => `${value} \u00d7`;
  const zoom = controlSlider("Zoom", { min: 1, max: HEAT_ZOOM, step: 1 }, said, (value) => change({ zoom: value }));
  const contrast = controlCheck("More contrast", (checked) => change({ contrast: checked }));
  zoom.show(1);
  return el("div", { class: "heat-controls no-print" }, zoom.node, contrast.node);
}
