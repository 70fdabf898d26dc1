// The stage: both texts, the canvas with the lines between them, minimaps for long texts; pointer and keyboard.
// Calls handlers for what the reader does (hover, key, pin, escape), and paints the lines and focus that it is given.

import { el } from "../shared/dom.js";
import { drawLines, paneFrames, placeLines, sharpContext } from "./lines.js";
import { PAIR_SIDES } from "./match_facts.js";
import { makeMinimap } from "./minimap.js";
import { markUnits, measureUnits, textPane } from "./text_pane.js";

const STAGE_LONG = 80; // tokens of a text from which on both texts get panes that scroll
const STAGE_NOTHING = { lines: [], focus: null, lit: null, beside: null };
const STAGE_EDGE = 4; // pixels that the label beside a word keeps from the edges of the stage

/** A stage for a decoded pair and its units; handlers: hover, leave, key, pin, escape, partner. */
export function makeStage(decoded, grid, handlers) {
  const halves = {};
  const minimaps = {};
  const long = PAIR_SIDES.some((side) => decoded[side].pieces.length > STAGE_LONG);
  const canvas = el("canvas", { class: "pair-canvas", "aria-hidden": "true" });
  const node = el("div", { class: `pair-stage${long ? " long" : ""}${grid.subwords ? " pieces" : ""}` }, canvas);
  const beside = el("p", { class: "pair-beside", "aria-hidden": "true", hidden: true });
  for (const side of PAIR_SIDES) {
    halves[side] = textPane(side, decoded[side], grid);
    if (long) {
      minimaps[side] = makeMinimap(halves[side].pane);
      halves[side].pane.after(minimaps[side].node);
      halves[side].pane.addEventListener("scroll", () => draw(), { passive: true });
    }
    const first = halves[side].spans.find((_span, index) => !grid.units[side][index].special) ?? halves[side].spans[0];
    if (first) first.tabIndex = 0;
    node.append(halves[side].node);
  }
  node.append(beside);
  const stage = { node, canvas, halves, long, boxes: null, view: null, painted: STAGE_NOTHING, placed: [] };

  const draw = () => {
    if (!stage.boxes || !stage.view) return;
    const rect = canvas.getBoundingClientRect();
    const { lines, focus, lit } = stage.painted;
    stage.placed = placeLines(lines, stage.boxes, paneFrames(halves, rect));
    drawLines(sharpContext(canvas, rect), stage.placed, decoded.doc.similarity_bounds, focus !== null);
    stageBeside(beside, node, halves, stage.painted);
    for (const side of PAIR_SIDES)
      minimaps[side]?.draw(stage.boxes[side], stage.view[side], lit ? lit[side] : new Set());
  };
  const layout = () => {
    stage.boxes = measureUnits(halves);
    draw();
  };
  const observer = new ResizeObserver(layout);
  for (const seen of [node, halves.candidate.text, halves.reference.text]) observer.observe(seen);
  addEventListener("resize", layout);
  document.fonts.addEventListener("loadingdone", layout);
  stageEvents(node, halves, handlers);

  stage.mark = (view) => {
    stage.view = view;
    stageUnlit(halves, stage.painted.lit);
    stage.painted = STAGE_NOTHING;
    markUnits(halves, view, grid.units);
    stage.boxes = null; // marks may change the layout
  };
  stage.paint = (painted) => {
    stageUnlit(halves, stage.painted.lit);
    stage.painted = painted;
    node.classList.toggle("focusing", painted.lit !== null);
    if (painted.lit)
      for (const side of PAIR_SIDES)
        for (const index of painted.lit[side]) halves[side].spans[index].classList.add("on");
    if (painted.focus) halves[painted.focus.side].spans[painted.focus.index].classList.add("main");
    if (stage.boxes) draw();
    else layout();
  };
  stage.select = (pinned) => {
    node.querySelectorAll('[aria-selected="true"]').forEach((span) => span.setAttribute("aria-selected", "false"));
    if (pinned) halves[pinned.side].spans[pinned.index].setAttribute("aria-selected", "true");
  };
  stage.focusUnit = (side, index) => stageFocus(halves[side], index);
  stage.reveal = (side, index) => long && stageReveal(halves[side].pane, halves[side].spans[index]);
  stage.redraw = draw;
  stage.destroy = () => {
    observer.disconnect();
    removeEventListener("resize", layout);
    document.fonts.removeEventListener("loadingdone", layout);
  };
  return stage;
}

/** The drawn lines in pixels of the window, for tests. */
export function drawnLines(stage) {
  const { left, top } = stage.canvas.getBoundingClientRect();
  const end = ({ x, y, hidden }, unit) => ({ unit, x: x + left, y: y + top, hidden });
  return stage.placed.map(({ line, from, to }) => ({
    kind: line.kind,
    similarity: line.similarity,
    candidate: end(from, line.candidate),
    reference: end(to, line.reference),
  }));
}

function stageEvents(node, halves, handlers) {
  const unitAt = (event) => {
    const span = event.target.closest?.(".pair-unit");
    return span ? { side: span.dataset.side, index: Number(span.dataset.unit) } : null;
  };
  node.addEventListener("pointerover", (event) => {
    const unit = unitAt(event);
    if (unit) handlers.hover(unit.side, unit.index);
    else handlers.leave();
  });
  node.addEventListener("pointerleave", () => handlers.leave());
  node.addEventListener("click", (event) => {
    const unit = unitAt(event);
    if (!unit) return;
    stageFocus(halves[unit.side], unit.index);
    handlers.pin(unit.side, unit.index);
  });
  node.addEventListener("focusin", (event) => {
    const unit = unitAt(event);
    if (unit && event.target.matches(":focus-visible")) handlers.key(unit.side, unit.index);
  });
  node.addEventListener("focusout", (event) => {
    if (!node.contains(event.relatedTarget)) handlers.blur();
  });
  node.addEventListener("keydown", (event) => {
    const unit = unitAt(event);
    if (unit && !event.ctrlKey && !event.altKey && !event.metaKey && stageKey(event.key, unit, halves, handlers))
      event.preventDefault();
  });
}

/** Acts on a key; false for keys without a meaning here. */
function stageKey(key, { side, index }, halves, handlers) {
  const { spans, text } = halves[side];
  const forward = text.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
  const go = (place) => {
    const target = Math.max(0, Math.min(spans.length - 1, place));
    stageFocus(halves[side], target);
    handlers.key(side, target);
  };
  if (key === "ArrowLeft" || key === "ArrowRight") go(index + (key === forward ? 1 : -1));
  else if (key === "Home") go(0);
  else if (key === "End") go(spans.length - 1);
  else if (key === "ArrowUp" || key === "ArrowDown") handlers.partner(side, index);
  else if (key === "Enter" || key === " ") handlers.pin(side, index);
  else if (key === "Escape") handlers.escape();
  else return false;
  return true;
}

/** One tab stop per text, which moves with the focus. */
function stageFocus(half, index) {
  for (const span of half.spans) if (span.tabIndex === 0) span.tabIndex = -1;
  half.spans[index].tabIndex = 0;
  half.spans[index].focus({ preventScroll: false });
}

/** Scrolls a pane, and nothing else, so that a unit can be seen. */
function stageReveal(pane, span) {
  const [frame, rect] = [pane.getBoundingClientRect(), span.getBoundingClientRect()];
  if (rect.top < frame.top || rect.bottom > frame.bottom) pane.scrollTop += rect.top - frame.top - frame.height / 3;
}

/** Puts what a word meets beside it, on the side that faces away from the lines: above the candidate's words. */
function stageBeside(label, node, halves, { focus, beside }) {
  label.hidden = !focus || !beside;
  if (label.hidden) return;
  label.className = `pair-beside ${beside.quality}`;
  label.replaceChildren(el("bdi", { text: beside.label }), " ", el("b", { text: beside.value }));
  const stage = node.getBoundingClientRect();
  const scale = stage.width / node.offsetWidth || 1; // a page may be zoomed by a transform
  const rects = halves[focus.side].spans[focus.index].getClientRects();
  const above = focus.side === "candidate";
  const word = above ? rects[0] : rects[rects.length - 1];
  const middle = ((word.left + word.right) / 2 - stage.left) / scale - label.offsetWidth / 2;
  const most = node.clientWidth - label.offsetWidth - STAGE_EDGE;
  const edge = ((above ? word.top : word.bottom) - stage.top) / scale;
  label.style.left = `${Math.max(STAGE_EDGE, Math.min(most, middle))}px`;
  label.style.top = `${above ? edge - label.offsetHeight - 1 : edge + 1}px`;
}

function stageUnlit(halves, lit) {
  if (!lit) return;
  for (const side of PAIR_SIDES)
    for (const index of lit[side]) halves[side].spans[index].classList.remove("on", "main");
}
