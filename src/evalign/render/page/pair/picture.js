// The pair view as a list of shapes, for files: the whole of both texts (nothing scrolled away), marks, lines, scores,
// and the recipe line. In: the panes as laid out on the page. Out: {width, height, shapes}; picture_files.js writes them.

import { fourDigits } from "../shared/number_text.js";
import { PICTURE_MARGIN, pictureRecipe, pictureText, pictureWords } from "../shared/picture_text.js";
import { lineCross, lineStyle, placeLines } from "./lines.js";
import { PAIR_SIDES } from "./match_facts.js";
import { pictureLegend, pictureMark } from "./picture_legend.js";

const PICTURE_HEAD = 72;
const PICTURE_GAP = { beside: 110, below: 96 };

/** Shapes of the view: `shown` is {halves, boxes, view, units, lines, bounds, focused, legend, colours}. */
export function pairPicture(shown) {
  const { halves, boxes, colours } = shown;
  const places = picturePlaces(halves);
  /** @type {any[]} */
  const shapes = [{ type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") }];
  pictureHead(shapes, shown);
  const crosses = [];
  for (const placed of placeLines(shown.lines, boxes, places)) {
    const { from, to, control } = placed;
    const { colour, dash, width, crossed } = lineStyle(placed.line, shown.bounds, shown.lines.length, shown.focused);
    shapes.push({ type: "curve", from, to, control, stroke: colours(colour), dash, width });
    if (crossed) crosses.push({ type: "strokes", lines: lineCross(placed), stroke: colours(colour), width: 2 });
  }
  for (const cross of crosses) shapes.push({ ...cross, stroke: colours("--paper"), width: 5 }, cross);
  for (const side of PAIR_SIDES) {
    const below = places[side].y > places.candidate.y; // under its text, else lines would cross it
    const y = below ? places[side].bottom + 16 : places[side].y - 10;
    shapes.push(pictureText(places[side].x, y, side, { fill: colours("--soft"), size: 13, weight: 600 }));
    pictureUnits(shapes, shown, side, places[side]);
    pictureWords(shapes, halves[side].text, places[side], colours);
  }
  const right = Math.max(...PAIR_SIDES.map((side) => places[side].right));
  let bottom = Math.max(...PAIR_SIDES.map((side) => places[side].bottom)) + 48;
  const width = Math.max(360, right + PICTURE_MARGIN);
  bottom = pictureLegend(shapes, shown, width, bottom);
  bottom = pictureRecipe(shapes, shown.view.matching.signature, width, bottom, colours);
  const height = bottom + PICTURE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
}

/** Colours without a hue, for scores that mean nothing: tints are the panel's, lines grey. */
export function greyColours(colours) {
  const tint = /^--q\d$/;
  const line = /^--(precision|recall|flow|never|q\d-edge)$/;
  return (name) => colours(tint.test(name) ? "--panel" : line.test(name) ? "--control" : name);
}

/** Where both texts stand in the picture: beside each other if they do so on the page. */
function picturePlaces(halves) {
  const rects = Object.fromEntries(PAIR_SIDES.map((side) => [side, halves[side].pane.getBoundingClientRect()]));
  const beside = rects.reference.left >= rects.candidate.right - 1;
  const place = (side, x, y) => {
    const { width, height } = halves[side].text.getBoundingClientRect();
    return { x, y, left: x, top: y, right: x + width, bottom: y + height, scrolls: false };
  };
  const candidate = place("candidate", PICTURE_MARGIN, PICTURE_HEAD + 22);
  const reference = beside
    ? place("reference", candidate.right + PICTURE_GAP.beside, candidate.y)
    : place("reference", PICTURE_MARGIN, candidate.bottom + PICTURE_GAP.below);
  return { candidate, reference };
}

function pictureHead(shapes, { view, colours }) {
  const scores = Object.entries(view.matching.scores)
    .map(([field, value]) => `${field} ${fourDigits(value)}`)
    .join(" \u00b7 ");
  shapes.push(
    pictureText(PICTURE_MARGIN, 34, `${view.matching.name} matching`, {
      fill: colours("--ink"),
      size: 17,
      weight: 600,
    }),
    pictureText(PICTURE_MARGIN, 56, scores, { fill: colours("--ink"), size: 14 }),
  );
}

/** Tints and marks of the units. */
function pictureUnits(shapes, { boxes, view, units, colours }, side, place) {
  boxes[side].forEach(({ rects }, index) => {
    const { quality, never } = view[side][index];
    const special = units[side][index].special;
    for (const rect of rects) {
      const box = {
        x: place.x + rect.left,
        y: place.y + rect.top,
        width: rect.right - rect.left,
        height: rect.bottom - rect.top,
      };
      if (!special) pictureMark(shapes, quality, box, colours);
      if (never) pictureMark(shapes, "never", box, colours);
    }
  });
}
