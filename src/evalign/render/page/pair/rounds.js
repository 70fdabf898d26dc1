// The rounds of a recursive matching, to be stepped through or played on the heatmap.
// In: a matching with `rounds`, the cells that it would select after 0, 1, 2, ... rounds. Out: a control, and the cells.

import { controlSlider } from "../shared/controls.js";
import { el } from "../shared/dom.js";

const ROUND_PAUSE = 700; // milliseconds between two rounds that are played

/** A slider over the rounds and a button that plays them; `draw()` shows the round that was gone to. */
export function roundsControl(draw) {
  const at = { matching: null, rounds: [], round: 0, timer: 0 };
  const play = el("button", { type: "button", onclick: () => (at.timer ? stop() : start()) });
  const node = el("div", { class: "heat-rounds" });
  let slider = null;

  const stop = () => {
    clearInterval(at.timer);
    at.timer = 0;
    play.textContent = "Play the rounds";
  };
  const go = (round) => {
    at.round = round;
    slider.show(round);
    draw();
  };
  const start = () => {
    play.textContent = "Stop";
    go(0);
    at.timer = setInterval(() => {
      if (at.round + 1 < at.rounds.length) go(at.round + 1);
      if (at.round + 1 >= at.rounds.length) stop();
    }, ROUND_PAUSE);
  };
  /** Takes another matching, of which the last round is shown first. */
  const show = (matching) => {
    if (at.matching === matching) return;
    stop();
    Object.assign(at, { matching, rounds: matching.rounds ?? [] });
    at.round = Math.max(0, at.rounds.length - 1);
    node.hidden = at.rounds.length === 0;
    if (node.hidden) return;
    const said = (round) => `${round}, ${usedAgain(at.rounds[round])} used again`;
    slider = controlSlider("Rounds of the recursion", { min: 0, max: at.round, step: 1 }, said, (round) => {
      stop();
      go(round);
    });
    slider.show(at.round);
    node.replaceChildren(slider.node, play);
  };
  /** What to frame instead of the matching's own cells; null where there are no rounds. */
  const lines = (grid) =>
    at.rounds.length
      ? at.rounds[at.round].map(([i, j]) => ({
          candidate: grid.place.candidate[i],
          reference: grid.place.reference[j],
        }))
      : null;
  return { node, show, lines, stop };
}

/** How often a token of either side is used beyond its first time. */
function usedAgain(cells) {
  const used = (side) => new Set(cells.map((cell) => cell[side])).size;
  return 2 * cells.length - used(0) - used(1);
}
