// The pair view as a list of shapes, for files: the whole of both texts (nothing scrolled away), marks, lines, scores,
// and the recipe line. In: the panes as laid out on the page. Out: {width, height, shapes}; picture_files.js writes them.

import { themeColour } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { PICTURE_MARGIN, pictureRecipe, pictureText, pictureWords } from "../shared/picture_text.js";
import { lineStyle, placeLines } from "./lines.js";
import { PAIR_SIDES } from "./match_facts.js";

const PICTURE_HEAD = 72;
const PICTURE_GAP = { beside: 110, below: 96 };

/** Shapes of the view: `shown` is {halves, boxes, view, units, lines, focused, legend}. */
export function pairPicture(shown) {
  const { halves, boxes } = shown;
  const colours = (name) => themeColour(name);
  const places = picturePlaces(halves);
  /** @type {any[]} */
  const shapes = [{ type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") }];
  pictureHead(shapes, shown, colours);
  for (const { line, from, to, control } of placeLines(shown.lines, boxes, places)) {
    const { colour, ...style } = lineStyle(line, shown.lines.length, shown.focused);
    shapes.push({ type: "curve", from, to, control, stroke: colours(colour), ...style });
  }
  for (const side of PAIR_SIDES) {
    const below = places[side].y > places.candidate.y; // under its text, else lines would cross it
    const y = below ? places[side].bottom + 16 : places[side].y - 10;
    shapes.push(pictureText(places[side].x, y, side, { fill: colours("--soft"), size: 13, weight: 600 }));
    pictureUnits(shapes, shown, side, places[side], colours);
    pictureWords(shapes, halves[side].text, places[side], colours);
  }
  const right = Math.max(...PAIR_SIDES.map((side) => places[side].right));
  let bottom = Math.max(...PAIR_SIDES.map((side) => places[side].bottom)) + 48;
  const width = Math.max(360, right + PICTURE_MARGIN);
  shapes.push(pictureText(PICTURE_MARGIN, bottom, shown.legend, { fill: colours("--soft"), size: 12 }));
  bottom = pictureRecipe(shapes, shown.view.matching.signature, width, bottom, colours);
  const height = bottom + PICTURE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
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

function pictureHead(shapes, { view }, colours) {
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
function pictureUnits(shapes, { boxes, view, units }, side, place, colours) {
  boxes[side].forEach(({ rects }, index) => {
    const facts = view[side][index];
    const special = units[side][index].special;
    for (const rect of rects) {
      const box = {
        x: place.x + rect.left,
        y: place.y + rect.top,
        width: rect.right - rect.left,
        height: rect.bottom - rect.top,
      };
      if (special) shapes.push({ type: "rect", ...box, radius: 4, stroke: colours("--line") });
      else if (facts.partnered) shapes.push({ type: "rect", ...box, radius: 3, fill: colours(`--${facts.quality}`) });
      if (facts.never)
        shapes.push({ type: "dashes", x: box.x, y: box.y + box.height, width: box.width, stroke: colours("--never") });
      if (facts.weak)
        shapes.push({ type: "wave", x: box.x, y: box.y + box.height - 5, width: box.width, stroke: colours("--weak") });
    }
  });
}
