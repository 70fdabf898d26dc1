// The stage: both texts, the canvas with the lines between them, and, for long texts, panes that scroll with a minimap
// each. Every word is a plain inline span, so that Arabic letters join and CJK wraps. Pointer and keyboard call the
// handlers.

import { codePoints, readUpTo } from "../shared/document.js";
import { el, sharpContext, themeColour } from "../shared/dom.js";
import { drawLines, paneFrames, placeLines } from "./lines.js";
import { SIDES } from "./matches.js";

const LONG_TEXT_TOKENS = 80; // if a text has more, both texts get panes that scroll
const NOTHING_PAINTED = { lines: [], focus: null, lit: null, beside: null };
const LABEL_MARGIN = 4; // pixels between the label of a word and the edges of the stage
const MINIMAP_WIDTH = 52;

/** A stage for a decoded pair and its units; handlers: hover, leave, key, pin, escape, partner. */
export function makeStage(decoded, grid, handlers) {
  const halves = {};
  const minimaps = {};
  const long = SIDES.some((side) => decoded[side].pieces.length > LONG_TEXT_TOKENS);
  const canvas = el("canvas", { class: "pair-canvas", "aria-hidden": "true" });
  const node = el("div", { class: `pair-stage${long ? " long" : ""}${grid.subwords ? " pieces" : ""}` }, canvas);
  const beside = el("p", { class: "pair-beside", "aria-hidden": "true", hidden: true });
  for (const side of SIDES) {
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
  const stage = { node, canvas, halves, long, boxes: null, view: null, painted: NOTHING_PAINTED, placed: [] };

  const draw = () => {
    if (!stage.boxes || !stage.view) return;
    const rect = canvas.getBoundingClientRect();
    const { lines, focus, lit } = stage.painted;
    stage.placed = placeLines(lines, stage.boxes, paneFrames(halves, rect));
    drawLines(sharpContext(canvas, rect), stage.placed, decoded.doc.similarity_bounds, focus !== null);
    placeLabel(beside, node, halves, stage.painted);
    for (const side of SIDES) minimaps[side]?.draw(stage.boxes[side], stage.view[side], lit ? lit[side] : new Set());
  };
  const layout = () => {
    stage.boxes = measureUnits(halves);
    draw();
  };
  const observer = new ResizeObserver(layout);
  for (const seen of [node, halves.candidate.text, halves.reference.text]) observer.observe(seen);
  addEventListener("resize", layout);
  document.fonts.addEventListener("loadingdone", layout);
  listenTo(node, halves, handlers);

  stage.mark = (view) => {
    stage.view = view;
    clearLit(halves, stage.painted.lit);
    stage.painted = NOTHING_PAINTED;
    markUnits(halves, view, grid.units);
    stage.boxes = null; // marks may change the layout
  };
  stage.paint = (painted) => {
    clearLit(halves, stage.painted.lit);
    stage.painted = painted;
    node.classList.toggle("focusing", painted.lit !== null);
    if (painted.lit)
      for (const side of SIDES) for (const index of painted.lit[side]) halves[side].spans[index].classList.add("on");
    if (painted.focus) halves[painted.focus.side].spans[painted.focus.index].classList.add("main");
    if (stage.boxes) draw();
    else layout();
  };
  stage.select = (pinned) => {
    node.querySelectorAll('[aria-selected="true"]').forEach((span) => span.setAttribute("aria-selected", "false"));
    if (pinned) halves[pinned.side].spans[pinned.index].setAttribute("aria-selected", "true");
  };
  stage.focusUnit = (side, index) => focusSpan(halves[side], index);
  stage.reveal = (side, index) => long && revealSpan(halves[side].pane, halves[side].spans[index]);
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

function listenTo(node, halves, handlers) {
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
    focusSpan(halves[unit.side], unit.index);
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
    if (unit && !event.ctrlKey && !event.altKey && !event.metaKey && actOnKey(event.key, unit, halves, handlers))
      event.preventDefault();
  });
}

/** Act on a key; returns false for keys without a meaning here. */
function actOnKey(key, { side, index }, halves, handlers) {
  const { spans, text } = halves[side];
  const forward = text.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
  const go = (position) => {
    const target = Math.max(0, Math.min(spans.length - 1, position));
    focusSpan(halves[side], target);
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

/** Focus a unit and make it the text's only tab stop. */
function focusSpan(half, index) {
  for (const span of half.spans) if (span.tabIndex === 0) span.tabIndex = -1;
  half.spans[index].tabIndex = 0;
  half.spans[index].focus({ preventScroll: false });
}

/** Scroll a pane, and nothing else, so that a unit can be seen. */
function revealSpan(pane, span) {
  const [frame, rect] = [pane.getBoundingClientRect(), span.getBoundingClientRect()];
  if (rect.top < frame.top || rect.bottom > frame.bottom) pane.scrollTop += rect.top - frame.top - frame.height / 3;
}

/** Place the label with a word's partner next to the word, away from the lines: above words of the candidate. */
function placeLabel(label, node, halves, { focus, beside }) {
  const rects = focus && beside ? halves[focus.side].spans[focus.index].getClientRects() : [];
  label.hidden = !rects.length; // also while the stage is in a hidden tab
  if (label.hidden) return;
  label.className = `pair-beside ${beside.quality}`;
  label.replaceChildren(el("bdi", { text: beside.label }), " ", el("b", { text: beside.value }));
  const stage = node.getBoundingClientRect();
  const scale = stage.width / node.offsetWidth || 1; // a page may be zoomed by a transform
  const above = focus.side === "candidate";
  const word = above ? rects[0] : rects[rects.length - 1];
  const middle = ((word.left + word.right) / 2 - stage.left) / scale - label.offsetWidth / 2;
  const most = node.clientWidth - label.offsetWidth - LABEL_MARGIN;
  const edge = ((above ? word.top : word.bottom) - stage.top) / scale;
  label.style.left = `${Math.max(LABEL_MARGIN, Math.min(most, middle))}px`;
  label.style.top = `${above ? edge - label.offsetHeight - 1 : edge + 1}px`;
}

function clearLit(halves, lit) {
  if (!lit) return;
  for (const side of SIDES) for (const index of lit[side]) halves[side].spans[index].classList.remove("on", "main");
}

/** The pane of one side: {side, pane, text, spans}. The pane scrolls where texts are long; the text is a listbox. */
function textPane(side, data, { units, subwords }) {
  const name = side === "candidate" ? "Candidate" : "Reference";
  const text = el("p", {
    class: "pair-text",
    role: "listbox",
    dir: "auto",
    "aria-label": `${name} ${subwords ? "pieces" : "words"}`,
    "aria-orientation": "horizontal",
  });
  const spans = units[side].map((unit) => unitSpan(side, unit));
  fillText(text, data, units[side], spans);
  const heading = el("h2", { class: "pair-side" }, name, " ", el("span", { class: "soft", text: countsText(data) }));
  const pane = el("div", { class: "pair-pane", "data-side": side }, text);
  return { side, pane, text, spans, node: el("section", { class: `pair-half pair-${side}` }, heading, pane) };
}

/** Colours and marks of every unit under a matching. */
function markUnits(halves, view, units) {
  for (const side of SIDES) {
    halves[side].spans.forEach((span, index) => {
      const facts = view[side][index];
      const quality = units[side][index].special ? "" : ` ${facts.quality}`;
      const marks = (facts.weak ? " weak" : "") + (facts.never ? " never" : "") + (facts.opposite ? " opposite" : "");
      const kind = units[side][index].special ? " special" : units[side][index].unknown ? " unknown" : "";
      span.className = `pair-unit${kind}${quality}${marks}`;
    });
  }
}

/** Boxes of all units, relative to the corner of their text: side -> [{rects}]. */
function measureUnits(halves) {
  const boxes = {};
  for (const side of SIDES) {
    const { text, spans } = halves[side];
    const { left, top } = text.getBoundingClientRect();
    boxes[side] = spans.map((span) => {
      const rects = Array.from(span.getClientRects(), (rect) => ({
        left: rect.left - left,
        top: rect.top - top,
        right: rect.right - left,
        bottom: rect.bottom - top,
      })).filter((rect) => rect.right > rect.left);
      return { rects: rects.length ? rects : [{ left: 0, top: 0, right: 0, bottom: 0 }] };
    });
  }
  return boxes;
}

/** Put the units and the text around them into the element; text that the model did not read is marked in place. */
function fillText(text, data, units, spans) {
  const chars = codePoints(data.text);
  const slice = (start, stop) => chars.slice(start, stop).join("");
  const end = data.dropped ? readUpTo(data) : chars.length;
  let covered = 0;
  let started = false;
  units.forEach((unit, index) => {
    if (unit.special) {
      if (started && !units.slice(index).some((later) => !later.special)) {
        text.append(slice(covered, end));
        covered = Math.max(covered, end);
      }
      text.append(started ? " " : "", spans[index], started ? "" : " ");
      return;
    }
    started = true;
    text.append(slice(covered, unit.start));
    if (unit.window > 1)
      text.append(noteMark(`window ${unit.window}`, "The model reads a further window from here on."));
    text.append(spans[index]);
    spans[index].textContent = slice(unit.start, unit.stop);
    covered = unit.stop;
  });
  text.append(slice(covered, end));
  if (!started) text.append(el("span", { class: "pair-empty" }, chars.length ? "(nothing to read)" : "(empty text)"));
  if (data.dropped) {
    text.append(
      noteMark(`cut here: ${data.dropped} tokens not read`, "The text is longer than the model reads."),
      el("span", { class: "pair-cut" }, slice(Math.max(covered, end), chars.length)),
    );
  }
}

/** A note between words; it is CSS content, so that it is no part of the text. */
function noteMark(label, title) {
  return el("span", { class: "pair-mark", "data-label": label, title });
}

function unitSpan(side, unit) {
  const span = el("span", {
    class: "pair-unit",
    role: "option",
    tabindex: -1,
    "aria-selected": "false",
    "data-side": side,
    "data-unit": unit.index,
  });
  if (unit.special) {
    span.textContent = unit.label;
    span.dir = "ltr"; // else [CLS] would decide the direction of the text that follows
  }
  return span;
}

function countsText(data) {
  const textTokens = data.special.filter((special) => !special).length;
  const parts = [`${textTokens} ${textTokens === 1 ? "token" : "tokens"}`];
  if (data.windows.length) parts.push(`read in ${data.windows.length + 1} windows`);
  if (data.dropped) parts.push(`${data.dropped} not read`);
  if (data.unknown.length) parts.push(`${data.unknown.length} unknown`);
  return parts.join(", ");
}

/**
 * A small picture of a long text next to its pane: words as bars coloured by their match, the visible part framed;
 * click or drag scrolls. draw(boxes, facts, lit) gets the set of highlighted units.
 */
function makeMinimap(pane) {
  const canvas = el("canvas", { class: "pair-minimap", "aria-hidden": "true" });
  let scale = 1;
  const scroll = (event) => {
    const rect = canvas.getBoundingClientRect();
    const offset = (event.clientY - rect.top) / (rect.height / canvas.clientHeight || 1);
    pane.scrollTop = offset / scale - pane.clientHeight / 2;
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    scroll(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId)) scroll(event);
  });
  const draw = (boxes, facts, lit) => {
    const size = { width: MINIMAP_WIDTH, height: pane.clientHeight };
    if (!size.height) return;
    canvas.style.height = `${size.height}px`;
    const context = sharpContext(canvas, size);
    scale = Math.min(MINIMAP_WIDTH / pane.scrollWidth, size.height / pane.scrollHeight);
    const across = MINIMAP_WIDTH / pane.scrollWidth;
    const colours = {};
    for (const name of ["q0", "q1", "q2", "q3"]) colours[name] = themeColour(`--${name}-edge`);
    colours.none = themeColour("--line");
    const ink = themeColour("--ink");
    boxes.forEach(({ rects }, index) => {
      const on = lit.has(index);
      context.globalAlpha = lit.size && !on ? 0.35 : 1;
      context.fillStyle = on ? ink : colours[facts[index].quality];
      for (const rect of rects) {
        const height = Math.max(1, 0.6 * (rect.bottom - rect.top) * scale) + (on ? 1.5 : 0);
        context.fillRect(
          rect.left * across,
          rect.top * scale,
          Math.max(1, (rect.right - rect.left) * across - 0.5),
          height,
        );
      }
    });
    context.globalAlpha = 1;
    context.strokeStyle = themeColour("--accent");
    context.lineWidth = 1.5;
    context.strokeRect(0.75, pane.scrollTop * scale + 0.75, MINIMAP_WIDTH - 1.5, pane.clientHeight * scale - 1.5);
  };
  return { node: canvas, draw };
}
