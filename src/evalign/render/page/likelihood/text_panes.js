// The texts of the likelihood view: what was read as it is, what was predicted with a span around every token's own
// characters (plain inline, so that letters join); pointer and keyboard on those spans. What was cut off is shown, too.

import { codePoints } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";

/** The text that was given to the model: {node, text}. */
export function readPane({ of, text: written, cut, dropped, special, pieces }) {
  const chars = codePoints(written);
  const text = el("p", { class: "pair-text likely-read", dir: "auto" });
  if (cut) text.append(...likelyCut(chars, cut, dropped));
  else if (special.every(Boolean)) text.append(likelyNothing(chars));
  else text.append(written);
  const heading = likelyHeading("Read", of, likelyCounts(pieces, special, dropped));
  return { text, node: el("section", {}, heading, likelyScroll(`Read: ${of}`, text)) };
}

/** The predicted text: {node, text, spans}; a listbox, one option per unit. */
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
    const rest = likelyCut(codePoints(side.text).slice(side.cut[0]), [0, side.cut[1] - side.cut[0]], side.dropped);
    parts.push(likelyScroll(`Left out: ${side.of}`, el("p", { class: "pair-text likely-read", dir: "auto" }, ...rest)));
  }
  const counts = likelyCounts(side.pieces, side.special, side.dropped);
  const said = `${counts}; mean log-probability ${fourDigits(direction.mean)}`;
  const first = spans.find((_span, index) => !units[index].special) ?? spans[0];
  if (first) first.tabIndex = 0;
  return { text, spans, node: el("section", {}, likelyHeading("Predicted", side.of, said), ...parts) };
}

/** Shades and marks of every unit. */
export function markPredicted({ spans }, { units, empty }, threshold) {
  spans.forEach((span, index) => {
    const { least, special, unknown } = units[index];
    const kind = special ? " special" : unknown ? " unknown" : "";
    const marks = empty ? "" : ` ${least.shade}${least.value < threshold ? " weak" : ""}`;
    span.className = `pair-unit likely${kind}${marks}`;
  });
}

/** What the reader does with the spans: handlers hover, leave, key, blur, pin, escape; `order` is by likelihood. */
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

/** One tab stop, which moves with the focus. */
export function focusPredicted(spans, index) {
  for (const span of spans) if (span.tabIndex === 0) span.tabIndex = -1;
  spans[index].tabIndex = 0;
  spans[index].focus({ preventScroll: false });
}

/** Where a key leads: along the text, or up and down the list of the least likely; null for other keys. */
function predictedTarget(key, unit, { text, spans, order }) {
  const last = spans.length - 1;
  const within = (place) => Math.max(0, Math.min(last, place));
  const forward = text.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
  if (key === "ArrowLeft" || key === "ArrowRight") return within(unit + (key === forward ? 1 : -1));
  if (key === "ArrowUp" || key === "ArrowDown")
    return order[within(order.indexOf(unit) + (key === "ArrowDown" ? 1 : -1))];
  return key === "Home" ? 0 : key === "End" ? last : null;
}

/** The spans in their text, up to where it was cut off. */
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
  if (last < 0) text.append(" ", likelyNothing(chars));
}

/** A text with the stretch that was not read, in place. */
function likelyCut(chars, [start, stop], dropped) {
  const label = `cut here: ${dropped} ${dropped === 1 ? "token" : "tokens"} left out`;
  const slice = (from, to) => chars.slice(from, to).join("");
  return [
    slice(0, start),
    el("span", { class: "pair-mark", "data-label": label, title: "The text is longer than the model reads." }),
    el("span", { class: "pair-cut", text: slice(start, stop) }),
    slice(stop, chars.length),
  ];
}

function likelyScroll(name, text) {
  return el("div", { class: "likely-scroll", tabindex: 0, role: "region", "aria-label": name }, text);
}

function likelyNothing(chars) {
  return el("span", { class: "pair-empty", text: chars.length ? "(nothing to read)" : "(empty text)" });
}

function likelyHeading(what, of, said) {
  return el("h2", { class: "pair-side" }, `${what}: ${of} `, el("span", { class: "soft", text: said }));
}

function likelyCounts(pieces, special, dropped) {
  const own = special.filter((isSpecial) => !isSpecial).length;
  const more = pieces.length - own;
  const parts = [`${own} ${own === 1 ? "token" : "tokens"}`];
  if (more) parts.push(`${more} special`);
  if (dropped) parts.push(`${dropped} left out`);
  return parts.join(", ");
}
