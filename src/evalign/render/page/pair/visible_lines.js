// Which lines are drawn and which units stay bright. In: {set, grid, view, changed, long} (state, units, facts of the
// matching, what changed or null, whether the texts have panes of their own) and the focus. Out: lines, sets of units.

import { PAIR_SIDES, linesOf, otherSide } from "./match_facts.js";

/** The lines of a short text, of the focused word, or of the change; long texts show lines of the focused word only. */
export function visibleLines(shown, focus) {
  return !focus && shown.long ? [] : everyLine(shown, focus);
}

/** The same without regard to the length: what a file shows. */
export function everyLine({ set, grid, view, changed }, focus) {
  const visible = (line) => line.similarity >= set.threshold && set[line.kind] !== false;
  const touches = (line) =>
    line[focus.side] === focus.index && (focus.other === null || line[otherSide(focus.side)] === focus.other);
  if (changed) return changed.lines.filter((line) => visible(line) && (!focus || touches(line)));
  const own = focus ? linesOf(view, focus.side, focus.index).filter(touches) : view.lines;
  const lines = own.filter(visible);
  if (focus && focus.other !== null) return lines.length ? lines : [gridLine(grid, "asked", focus, focus.other)];
  return set.topk > 1 ? [...nearLines(grid, view, set.topk, focus).filter(visible), ...lines] : lines;
}

/** Units that stay bright: the focus and all its lines lead to; null without a focus. */
export function litUnits(lines, focus) {
  if (!focus) return null;
  const lit = { candidate: new Set(), reference: new Set() };
  lit[focus.side].add(focus.index);
  if (focus.other !== null) lit[otherSide(focus.side)].add(focus.other);
  for (const line of lines) for (const side of PAIR_SIDES) lit[side].add(line[side]);
  return lit;
}

/** Lines to the k most similar units besides the chosen ones. */
function nearLines(grid, view, topk, focus) {
  const every = () => PAIR_SIDES.flatMap((side) => grid.units[side].map(({ index }) => ({ side, index })));
  return (focus ? [focus] : every()).flatMap((unit) => {
    const chosen = new Set(linesOf(view, unit.side, unit.index).map((line) => line[otherSide(unit.side)]));
    const near = grid.nearest(unit.side, unit.index).slice(0, topk);
    return near.filter(({ index }) => !chosen.has(index)).map(({ index }) => gridLine(grid, "near", unit, index));
  });
}

function gridLine(grid, kind, { side, index }, other) {
  const line = { kind, [side]: index, [otherSide(side)]: other };
  return { ...line, similarity: grid.at(line.candidate, line.reference) };
}
