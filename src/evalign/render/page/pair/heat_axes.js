// The axes of the heatmap: words of the candidate on the left, of the reference above, as many as can be read.
// In: the layout and the units. Out: drawn labels and ticks.

import { themeColour } from "../shared/dom.js";

export const HEAT_LABELLED = 13; // pixels that a label needs
const HEAT_LETTERS = 14; // of a label at most
const HEAT_TITLE = 15; // pixels for the names of the axes

/** Where the cells begin, so that the labels have room. */
export function heatMargins(grid) {
  const longest = (units) => Math.max(...units.map((unit) => Math.min(HEAT_LETTERS, Array.from(unit.label).length)));
  return {
    left: 12 + HEAT_TITLE + 7 * longest(grid.units.candidate),
    top: 12 + HEAT_TITLE + 6.5 * longest(grid.units.reference),
  };
}

/** Draws the names of both axes and every so many a word with its tick. */
export function heatAxes(context, { cell, left, top, rows, columns }, grid) {
  const every = Math.max(1, Math.ceil(HEAT_LABELLED / cell));
  context.fillStyle = context.strokeStyle = themeColour("--ink");
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  context.textBaseline = "middle";
  const written = (x, y, turned, text, align = "left") => {
    context.save();
    context.textAlign = align;
    context.translate(x, y);
    if (turned) context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  };
  const tick = (x, y, width, height) => every > 1 && context.fillRect(x, y, width, height);
  for (let i = 0; i < rows; i += every) {
    written(left - 6, top + (i + 0.5) * cell, false, heatLabel(grid.units.candidate[i].label), "right");
    tick(left - 4, top + (i + 0.5) * cell, 4, 1);
  }
  for (let j = 0; j < columns; j += every) {
    written(left + (j + 0.5) * cell, top - 6, true, heatLabel(grid.units.reference[j].label));
    tick(left + (j + 0.5) * cell, top - 4, 1, 4);
  }
  context.fillStyle = themeColour("--soft");
  written(left, HEAT_TITLE / 2, false, "reference \u2192");
  written(HEAT_TITLE / 2, top + 1, true, "\u2190 candidate", "right");
}

function heatLabel(text) {
  const letters = Array.from(text);
  return letters.length > HEAT_LETTERS ? `${letters.slice(0, HEAT_LETTERS - 1).join("")}\u2026` : text;
}
