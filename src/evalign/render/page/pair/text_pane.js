// The two texts of a pair as running text: every unit a plain inline span, so that Arabic letters join and CJK wraps.
// Also knows where each unit lies, measured once per layout; positions are kept relative to the pane's own content.

import { codePoints } from "../shared/document.js";
import { el } from "../shared/dom.js";
import { readUpTo } from "../shared/text_units.js";
import { PAIR_SIDES } from "./match_facts.js";

/** The pane of one side: {side, pane, text, spans}. The pane scrolls where texts are long; the text is a listbox. */
export function textPane(side, data, { units, subwords }) {
  const name = side === "candidate" ? "Candidate" : "Reference";
  const text = el("p", {
    class: "pair-text",
    role: "listbox",
    dir: "auto",
    "aria-label": `${name} ${subwords ? "pieces" : "words"}`,
    "aria-orientation": "horizontal",
  });
  const spans = units[side].map((unit) => unitSpan(side, unit));
  textPieces(text, data, units[side], spans);
  const heading = el("h2", { class: "pair-side" }, name, " ", el("span", { class: "soft", text: textCounts(data) }));
  const pane = el("div", { class: "pair-pane", "data-side": side }, text);
  return { side, pane, text, spans, node: el("section", { class: `pair-half pair-${side}` }, heading, pane) };
}

/** Colours and marks of every unit under a matching. */
export function markUnits(halves, view, units) {
  for (const side of PAIR_SIDES) {
    halves[side].spans.forEach((span, index) => {
      const facts = view[side][index];
      const quality = units[side][index].special ? "" : ` ${facts.quality}`;
      const marks = (facts.weak ? " weak" : "") + (facts.never ? " never" : "");
      const kind = units[side][index].special ? " special" : units[side][index].unknown ? " unknown" : "";
      span.className = `pair-unit${kind}${quality}${marks}`;
    });
  }
}

/** Where every unit lies, relative to its text's corner, which scrolls along: side -> [{rects}]. */
export function measureUnits(halves) {
  const boxes = {};
  for (const side of PAIR_SIDES) {
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

/** Puts the units and the text between, before and after them into the element; what was not read is shown as such, in place. */
function textPieces(text, data, units, spans) {
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
      text.append(textMark(`window ${unit.window}`, "The model reads a further window from here on."));
    text.append(spans[index]);
    spans[index].textContent = slice(unit.start, unit.stop);
    covered = unit.stop;
  });
  text.append(slice(covered, end));
  if (!started) text.append(el("span", { class: "pair-empty" }, chars.length ? "(nothing to read)" : "(empty text)"));
  if (data.dropped) {
    text.append(
      textMark(`cut here: ${data.dropped} tokens not read`, "The text is longer than the model reads."),
      el("span", { class: "pair-cut" }, slice(Math.max(covered, end), chars.length)),
    );
  }
}

/** A note between words that is no part of the text: its words are CSS content. */
function textMark(label, title) {
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

function textCounts(data) {
  const own = data.special.filter((special) => !special).length;
  const parts = [`${own} ${own === 1 ? "token" : "tokens"}`];
  if (data.windows.length) parts.push(`read in ${data.windows.length + 1} windows`);
  if (data.dropped) parts.push(`${data.dropped} not read`);
  if (data.unknown.length) parts.push(`${data.unknown.length} unknown`);
  return parts.join(", ");
}
