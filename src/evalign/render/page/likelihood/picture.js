// The likelihood view as a list of shapes, for files: both texts whole, the shade of every token, marks, the mean, the
// legend and the recipe. In: the panes as laid out on the page. Out: {width, height, shapes}, for picture_files.js.

import { fourDigits } from "../shared/number_text.js";
import { PICTURE_MARGIN, pictureRecipe, pictureText, pictureWords } from "../shared/picture_text.js";
import { likelyPercent, likelyShades } from "./token_facts.js";

const PICTURE_PANES = { head: 72, label: 22, below: 34, swatch: 128 };

/** Shapes of one direction: `shown` is {doc, model, panes: {read, predicted}, threshold}. */
export function likelihoodPicture({ doc, model, panes, threshold }, colours) {
  const { direction } = model;
  const ink = (size, weight = 400) => ({ fill: colours("--ink"), size, weight });
  const soft = (size, weight = 400) => ({ fill: colours("--soft"), size, weight });
  const scores = Object.entries(doc.scores).map(([name, value]) => `${name} ${fourDigits(value)}`);
  const shapes = [
    { type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") },
    pictureText(PICTURE_MARGIN, 34, direction.name, ink(17, 600)),
    pictureText(PICTURE_MARGIN, 56, [`mean ${fourDigits(direction.mean)}`, ...scores].join(" \u00b7 "), ink(14)),
  ];
  let bottom = PICTURE_PANES.head;
  let right = 360;
  for (const [pane, name] of [
    [panes.read, `read: ${direction.read.of}`],
    [panes.predicted, `predicted: ${direction.predicted.of}${pictureUnread(direction.predicted.dropped)}`],
  ]) {
    const { width, height } = pane.text.getBoundingClientRect();
    const place = { x: PICTURE_MARGIN, y: bottom + PICTURE_PANES.label };
    shapes.push(pictureText(PICTURE_MARGIN, place.y - 8, name, soft(13, 600)));
    if (pane.spans && !model.empty) pictureShades(shapes, pane, model, threshold, place, colours);
    pictureWords(shapes, pane.text, place, colours);
    bottom = place.y + height + PICTURE_PANES.below - PICTURE_PANES.label;
    right = Math.max(right, width + PICTURE_MARGIN);
  }
  const width = right + PICTURE_MARGIN;
  bottom = pictureScale(
    shapes,
    likelyShades(doc.probability_bounds),
    width,
    bottom + PICTURE_PANES.label,
    soft(12),
    colours,
  );
  if (!model.empty) {
    const bound = `underlined: below ${threshold.toFixed(1)} (${likelyPercent(threshold)})`;
    shapes.push(pictureText(PICTURE_MARGIN, (bottom += 12), bound, soft(12)));
  }
  bottom = pictureRecipe(shapes, doc.signature, width, bottom, colours);
  const height = bottom + PICTURE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
}

function pictureUnread(dropped) {
  return dropped ? `; ${dropped} tokens behind it were left out` : "";
}

function pictureShades(shapes, { text, spans }, { units }, threshold, place, colours) {
  const corner = text.getBoundingClientRect();
  spans.forEach((span, index) => {
    const { least, special } = units[index];
    for (const rect of span.getClientRects()) {
      const box = { x: place.x + rect.left - corner.left, y: place.y + rect.top - corner.top };
      const [width, height] = [rect.width, rect.height];
      const fill = colours(`--${least.shade}`);
      const stroke = special ? colours("--line") : undefined;
      shapes.push({ type: "rect", ...box, width, height, radius: 3, fill, stroke });
      if (least.value < threshold)
        shapes.push({ type: "wave", x: box.x, y: box.y + height - 5, width, stroke: colours("--weak") });
    }
  });
}

/** The shades with their meaning, in as many lines as the width asks for; returns where they end. */
function pictureScale(shapes, shades, width, top, style, colours) {
  const perLine = Math.max(1, Math.floor((width - 2 * PICTURE_MARGIN) / PICTURE_PANES.swatch));
  shades.forEach(([shade, text], place) => {
    const x = PICTURE_MARGIN + (place % perLine) * PICTURE_PANES.swatch;
    const y = top + 20 * Math.floor(place / perLine);
    const box = { x, y: y - 11, width: 14, height: 14, radius: 3 };
    shapes.push({ type: "rect", ...box, fill: colours(`--${shade}`), stroke: colours("--line") });
    shapes.push(pictureText(x + 20, y, text, style));
  });
  return top + 20 * Math.floor((shades.length - 1) / perLine) + 8;
}
