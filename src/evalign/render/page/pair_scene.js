// The pair view as a list of shapes, for files: the whole of both texts (nothing scrolled away), marks, lines, scores,
// and the recipe line. In: the panes as laid out on the page. Out: {width, height, shapes}; pair_export.js writes them.

import { themeColour } from "./dom.js";
import { lineStyle, placeLines } from "./pair_lines.js";
import { PAIR_SIDES, fourDigits, qualityOf } from "./pair_model.js";

const SCENE_MARGIN = 24;
const SCENE_HEAD = 72;
const SCENE_LINE = 4; // pixels by which tops on one line may differ
const SCENE_GAP = { beside: 110, below: 96 };
const SCENE_MONO = "ui-monospace, 'Liberation Mono', monospace";

/** Shapes of the view: `shown` is {halves, boxes, view, units, lines, focused, legend}. */
export function pairScene(shown) {
  const { halves, boxes } = shown;
  const colours = (name) => themeColour(name);
  const places = scenePlaces(halves);
  const shapes = [{ type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") }];
  sceneHead(shapes, shown, colours);
  for (const { line, from, to, control } of placeLines(shown.lines, boxes, places)) {
    const { colour, ...style } = lineStyle(line, shown.lines.length, shown.focused);
    shapes.push({ type: "curve", from, to, control, stroke: colours(colour), ...style });
  }
  for (const side of PAIR_SIDES) {
    const below = places[side].y > places.candidate.y; // under its text, else lines would cross it
    const y = below ? places[side].bottom + 16 : places[side].y - 10;
    shapes.push(sceneText(places[side].x, y, side, { fill: colours("--soft"), size: 13, weight: 600 }));
    sceneUnits(shapes, shown, side, places[side], colours);
    sceneWords(shapes, halves[side], places[side], colours);
  }
  const right = Math.max(...PAIR_SIDES.map((side) => places[side].right));
  let bottom = Math.max(...PAIR_SIDES.map((side) => places[side].bottom)) + 48;
  const width = Math.max(360, right + SCENE_MARGIN);
  shapes.push(sceneText(SCENE_MARGIN, bottom, shown.legend, { fill: colours("--soft"), size: 12 }));
  for (const text of sceneWrapped(shown.view.matching.signature, Math.floor((width - 2 * SCENE_MARGIN) / 6.7))) {
    bottom += 18;
    shapes.push(sceneText(SCENE_MARGIN, bottom, text, { fill: colours("--soft"), size: 11, font: SCENE_MONO }));
  }
  const height = bottom + SCENE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
}

/** Where both texts stand in the picture: beside each other if they do so on the page. */
function scenePlaces(halves) {
  const rects = Object.fromEntries(PAIR_SIDES.map((side) => [side, halves[side].pane.getBoundingClientRect()]));
  const beside = rects.reference.left >= rects.candidate.right - 1;
  const place = (side, x, y) => {
    const { width, height } = halves[side].text.getBoundingClientRect();
    return { x, y, left: x, top: y, right: x + width, bottom: y + height, scrolls: false };
  };
  const candidate = place("candidate", SCENE_MARGIN, SCENE_HEAD + 22);
  const reference = beside
    ? place("reference", candidate.right + SCENE_GAP.beside, candidate.y)
    : place("reference", SCENE_MARGIN, candidate.bottom + SCENE_GAP.below);
  return { candidate, reference };
}

function sceneHead(shapes, { view }, colours) {
  const scores = Object.entries(view.matching.scores)
    .map(([field, value]) => `${field} ${fourDigits(value)}`)
    .join(" \u00b7 ");
  shapes.push(
    sceneText(SCENE_MARGIN, 34, `${view.matching.name} matching`, { fill: colours("--ink"), size: 17, weight: 600 }),
    sceneText(SCENE_MARGIN, 56, scores, { fill: colours("--ink"), size: 14 }),
  );
}

/** Tints and marks of the units. */
function sceneUnits(shapes, { boxes, view, units }, side, place, colours) {
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
      else if (facts.partnered)
        shapes.push({ type: "rect", ...box, radius: 3, fill: colours(`--${qualityOf(facts.value)}`) });
      if (facts.never)
        shapes.push({ type: "dashes", x: box.x, y: box.y + box.height, width: box.width, stroke: colours("--never") });
      if (facts.weak)
        shapes.push({ type: "wave", x: box.x, y: box.y + box.height - 5, width: box.width, stroke: colours("--weak") });
    }
  });
}

/** The words, cut at blanks and line ends only, so that letters stay joined whatever the units are. */
function sceneWords(shapes, half, place, colours) {
  const corner = half.text.getBoundingClientRect();
  const [dx, dy] = [place.x - corner.left, place.y - corner.top];
  const put = (text, rect, node) => {
    const style = getComputedStyle(node.parentElement);
    shapes.push({
      type: "text",
      text,
      anchor: "middle",
      x: dx + (rect.left + rect.right) / 2,
      y: dy + rect.top + 0.78 * (rect.bottom - rect.top),
      length: rect.right - rect.left,
      size: parseFloat(style.fontSize),
      font: style.fontFamily,
      fill: node.parentElement.closest(".pair-cut") ? colours("--soft") : colours("--ink"),
      weight: 400,
    });
  };
  for (const word of sceneRuns(half.text)) for (const { text, rect } of sceneLines(word)) put(text, rect, word[0].node);
  for (const mark of half.text.querySelectorAll(".pair-mark")) {
    const rect = mark.getBoundingClientRect();
    const label = { fill: colours("--soft"), size: 11, anchor: "middle" };
    shapes.push(sceneText(dx + (rect.left + rect.right) / 2, dy + rect.bottom - 4, mark.dataset.label, label));
  }
}

/** Stretches without blanks: lists of {node, start, stop}; a word may go through several spans. */
function sceneRuns(paragraph) {
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  const runs = [];
  let open = null;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const found of node.data.matchAll(/\s+|\S+/gu)) {
      if (/^\s/u.test(found[0])) open = null;
      else {
        if (!open) runs.push((open = []));
        open.push({ node, start: found.index, stop: found.index + found[0].length });
      }
    }
  }
  return runs;
}

/** A stretch as what stands on each line: [{text, rect}]; measured by its letters, not by the boxes around them. */
function sceneLines(run) {
  const range = document.createRange();
  const measured = (node, start, stop) => {
    range.setStart(node, start);
    range.setEnd(node, stop);
    return range.getClientRects();
  };
  const lines = [];
  const put = (text, { left, right, top, bottom }) => {
    const last = lines.at(-1);
    if (last && Math.abs(last.rect.top - top) < SCENE_LINE) {
      last.text += text;
      last.rect = { ...last.rect, left: Math.min(last.rect.left, left), right: Math.max(last.rect.right, right) };
    } else lines.push({ text, rect: { left, right, top, bottom } });
  };
  for (const { node, start, stop } of run) {
    const rects = measured(node, start, stop);
    if (rects.length === 1) put(node.data.slice(start, stop), rects[0]);
    else {
      let place = start;
      for (const char of node.data.slice(start, stop)) {
        const [rect] = measured(node, place, place + char.length);
        if (rect) put(char, rect);
        place += char.length;
      }
    }
  }
  return lines;
}

function sceneText(x, y, text, { fill, size, weight = 400, font = "system-ui, sans-serif", anchor = "start" }) {
  return { type: "text", x, y, text, fill, size, weight, font, anchor };
}

/** The recipe in lines, broken behind its bars where that fits. */
function sceneWrapped(text, most) {
  const lines = [""];
  for (const part of text.split(/(?<=\|)/u)) {
    if (lines.at(-1).length + part.length > most) lines.push("");
    for (const char of part) {
      if (lines.at(-1).length >= most) lines.push("");
      lines[lines.length - 1] += char;
    }
  }
  return lines.filter(Boolean);
}
