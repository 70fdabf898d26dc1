// The texts of the likelihood view: the one that was read, and the predicted one with a span for every token's
// characters (plain inline, so that letters join); pointer and keyboard on those spans; both texts as a picture for
// files.

import { codePoints } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/format.js";
import { PICTURE_MARGIN, pushSignature, pushWords, textShape } from "../shared/pictures.js";
import { percentText, shadeMeanings } from "./tokens.js";

const PANE_PIXELS = { head: 72, label: 22, below: 34, swatch: 128 };

/** The pane of the text that the model reads: {node, text}. */
export function readPane({ of, text: written, cut, dropped, special, pieces }) {
  const chars = codePoints(written);
  const text = el("p", { class: "pair-text likely-read", dir: "auto" });
  if (cut) text.append(...cutText(chars, cut, dropped));
  else if (special.every(Boolean)) text.append(emptyNote(chars));
  else text.append(written);
  const heading = paneHeading("Read", of, countsText(pieces, special, dropped));
  return { text, node: el("section", {}, heading, scrollBox(`Read: ${of}`, text)) };
}

/** The pane of the predicted text: {node, text, spans}; a listbox, one option per unit. */
export function predictedPane({ side, units, direction }) {
  const choice = { role: "listbox", "aria-label": `Tokens of the ${side.of}`, "aria-orientation": "horizontal" };
  const text = el("p", { class: "pair-text", dir: "auto", ...(units.length ? choice : {}) });
  const spans = units.map((unit) => {
    const option = { class: "pair-unit", role: "option", tabindex: -1, "aria-selected": "false" };
    const span = el("span", { ...option, "data-unit": unit.index });
    if (unit.special) {
      span.textContent = unit.label;
      span.dir = "ltr"; // else <s> would decide the direction of the text that follows
    }
    return span;
  });
  predictedPieces(text, side, units, spans);
  const parts = [text];
  if (side.cut) {
    const rest = cutText(codePoints(side.text).slice(side.cut[0]), [0, side.cut[1] - side.cut[0]], side.dropped);
    parts.push(scrollBox(`Left out: ${side.of}`, el("p", { class: "pair-text likely-read", dir: "auto" }, ...rest)));
  }
  const counts = countsText(side.pieces, side.special, side.dropped);
  const summary = `${counts}; mean log-probability ${fourDigits(direction.mean)}`;
  const first = spans.find((_span, index) => !units[index].special) ?? spans[0];
  if (first) first.tabIndex = 0;
  return { text, spans, node: el("section", {}, paneHeading("Predicted", side.of, summary), ...parts) };
}

/** Set shades and marks of all units. */
export function markPredicted({ spans }, { units, empty }, threshold) {
  spans.forEach((span, index) => {
    const { least, special, unknown } = units[index];
    const kind = special ? " special" : unknown ? " unknown" : "";
    const marks = empty ? "" : ` ${least.shade}${least.value < threshold ? " weak" : ""}`;
    span.className = `pair-unit likely${kind}${marks}`;
  });
}

/** Listen to pointer and keyboard: handlers hover, leave, key, blur, pin, escape; `order` is by likelihood. */
export function predictedEvents({ text, spans }, order, handlers) {
  const unitAt = (event) => {
    const span = event.target.closest?.(".pair-unit");
    return span ? Number(span.dataset.unit) : null;
  };
  text.addEventListener("pointerover", (event) => {
    const unit = unitAt(event);
    if (unit === null) handlers.leave();
    else handlers.hover(unit);
  });
  text.addEventListener("pointerleave", () => handlers.leave());
  text.addEventListener("click", (event) => {
    const unit = unitAt(event);
    if (unit === null) return;
    focusPredicted(spans, unit);
    handlers.pin(unit);
  });
  text.addEventListener("focusin", (event) => {
    const unit = unitAt(event);
    if (unit !== null && event.target.matches(":focus-visible")) handlers.key(unit);
  });
  text.addEventListener("focusout", (event) => {
    if (!text.contains(event.relatedTarget)) handlers.blur();
  });
  text.addEventListener("keydown", (event) => {
    const unit = unitAt(event);
    if (unit === null || event.ctrlKey || event.altKey || event.metaKey) return;
    const target = predictedTarget(event.key, unit, { text, spans, order });
    if (target !== null) {
      focusPredicted(spans, target);
      handlers.key(target);
    } else if (event.key === "Enter" || event.key === " ") handlers.pin(unit);
    else if (event.key === "Escape") handlers.escape();
    else return;
    event.preventDefault();
  });
}

/** Focus a unit and make it the only tab stop. */
export function focusPredicted(spans, index) {
  for (const span of spans) if (span.tabIndex === 0) span.tabIndex = -1;
  spans[index].tabIndex = 0;
  spans[index].focus({ preventScroll: false });
}

/** The unit that a key leads to: along the text, or up and down by likelihood; null for other keys. */
function predictedTarget(key, unit, { text, spans, order }) {
  const last = spans.length - 1;
  const within = (index) => Math.max(0, Math.min(last, index));
  const forward = text.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
  if (key === "ArrowLeft" || key === "ArrowRight") return within(unit + (key === forward ? 1 : -1));
  if (key === "ArrowUp" || key === "ArrowDown")
    return order[within(order.indexOf(unit) + (key === "ArrowDown" ? 1 : -1))];
  return key === "Home" ? 0 : key === "End" ? last : null;
}

/** Put the spans into their text, up to where it was cut off. */
function predictedPieces(text, side, units, spans) {
  const chars = codePoints(side.text);
  const slice = (start, stop) => chars.slice(start, stop).join("");
  const end = side.cut ? side.cut[0] : chars.length;
  const last = units.findLastIndex((unit) => !unit.special);
  let covered = 0;
  units.forEach((unit, index) => {
    if (unit.special) text.append(index > last ? " " : "", spans[index], index > last ? "" : " ");
    else {
      spans[index].textContent = slice(unit.start, unit.stop);
      text.append(slice(covered, unit.start), spans[index]);
      covered = unit.stop;
    }
    if (index === last) text.append(slice(covered, end));
  });
  if (last < 0) text.append(" ", emptyNote(chars));
}

/** A text with the part that was not read, marked in place. */
function cutText(chars, [start, stop], dropped) {
  const label = `cut here: ${dropped} ${dropped === 1 ? "token" : "tokens"} left out`;
  const slice = (from, to) => chars.slice(from, to).join("");
  return [
    slice(0, start),
    el("span", { class: "pair-mark", "data-label": label, title: "The text is longer than the model reads." }),
    el("span", { class: "pair-cut", text: slice(start, stop) }),
    slice(stop, chars.length),
  ];
}

function scrollBox(name, text) {
  return el("div", { class: "likely-scroll", tabindex: 0, role: "region", "aria-label": name }, text);
}

function emptyNote(chars) {
  return el("span", { class: "pair-empty", text: chars.length ? "(nothing to read)" : "(empty text)" });
}

function paneHeading(what, of, summary) {
  return el("h2", { class: "pair-side" }, `${what}: ${of} `, el("span", { class: "soft", text: summary }));
}

function countsText(pieces, special, dropped) {
  const textTokens = special.filter((isSpecial) => !isSpecial).length;
  const more = pieces.length - textTokens;
  const parts = [`${textTokens} ${textTokens === 1 ? "token" : "tokens"}`];
  if (more) parts.push(`${more} special`);
  if (dropped) parts.push(`${dropped} left out`);
  return parts.join(", ");
}

/** Shapes of one direction: `shown` is {doc, model, panes: {read, predicted}, threshold}. */
export function textsPicture({ doc, model, panes, threshold }, colours) {
  const { direction } = model;
  const ink = (size, weight = 400) => ({ fill: colours("--ink"), size, weight });
  const soft = (size, weight = 400) => ({ fill: colours("--soft"), size, weight });
  const scores = Object.entries(doc.scores).map(([name, value]) => `${name} ${fourDigits(value)}`);
  const shapes = [
    { type: "rect", x: 0, y: 0, width: 0, height: 0, fill: colours("--paper") },
    textShape(PICTURE_MARGIN, 34, direction.name, ink(17, 600)),
    textShape(PICTURE_MARGIN, 56, [`mean ${fourDigits(direction.mean)}`, ...scores].join(" \u00b7 "), ink(14)),
  ];
  let bottom = PANE_PIXELS.head;
  let right = 360;
  for (const [pane, name] of [
    [panes.read, `read: ${direction.read.of}`],
    [panes.predicted, `predicted: ${direction.predicted.of}${unreadNote(direction.predicted.dropped)}`],
  ]) {
    const { width, height } = pane.text.getBoundingClientRect();
    const origin = { x: PICTURE_MARGIN, y: bottom + PANE_PIXELS.label };
    shapes.push(textShape(PICTURE_MARGIN, origin.y - 8, name, soft(13, 600)));
    if (pane.spans && !model.empty) pushShades(shapes, pane, model, threshold, origin, colours);
    pushWords(shapes, pane.text, origin, colours);
    bottom = origin.y + height + PANE_PIXELS.below - PANE_PIXELS.label;
    right = Math.max(right, width + PICTURE_MARGIN);
  }
  const width = right + PICTURE_MARGIN;
  bottom = pushScale(
    shapes,
    shadeMeanings(doc.probability_bounds),
    width,
    bottom + PANE_PIXELS.label,
    soft(12),
    colours,
  );
  if (!model.empty) {
    const bound = `underlined: below ${threshold.toFixed(1)} (${percentText(threshold)})`;
    shapes.push(textShape(PICTURE_MARGIN, (bottom += 12), bound, soft(12)));
  }
  bottom = pushSignature(shapes, doc.signature, width, bottom, colours);
  const height = bottom + PICTURE_MARGIN;
  Object.assign(shapes[0], { width, height });
  return { width: Math.ceil(width), height: Math.ceil(height), shapes };
}

function unreadNote(dropped) {
  return dropped ? `; ${dropped} tokens behind it were left out` : "";
}

function pushShades(shapes, { text, spans }, { units }, threshold, origin, colours) {
  const corner = text.getBoundingClientRect();
  spans.forEach((span, index) => {
    const { least, special } = units[index];
    for (const rect of span.getClientRects()) {
      const box = { x: origin.x + rect.left - corner.left, y: origin.y + rect.top - corner.top };
      const [width, height] = [rect.width, rect.height];
      const fill = colours(`--${least.shade}`);
      const stroke = special ? colours("--line") : undefined;
      shapes.push({ type: "rect", ...box, width, height, radius: 3, fill, stroke });
      if (least.value < threshold)
        shapes.push({ type: "wave", x: box.x, y: box.y + height - 5, width, stroke: colours("--weak") });
    }
  });
}

/** Push the shades with their meaning, in as many lines as the width needs; returns the bottom edge. */
function pushScale(shapes, shades, width, top, style, colours) {
  const perLine = Math.max(1, Math.floor((width - 2 * PICTURE_MARGIN) / PANE_PIXELS.swatch));
  shades.forEach(([shade, text], index) => {
    const x = PICTURE_MARGIN + (index % perLine) * PANE_PIXELS.swatch;
    const y = top + 20 * Math.floor(index / perLine);
    const box = { x, y: y - 11, width: 14, height: 14, radius: 3 };
    shapes.push({ type: "rect", ...box, fill: colours(`--${shade}`), stroke: colours("--line") });
    shapes.push(textShape(x + 20, y, text, style));
  });
  return top + 20 * Math.floor((shades.length - 1) / perLine) + 8;
}
