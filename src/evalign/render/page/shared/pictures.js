// Pictures as lists of shapes: text, words as they stand on the page, and files (SVG, PNG, and CSV of a view's rows),
// each with the signature. Pictures go into papers and slides: they are light unless the reader chooses dark ones.

import { labelledCheckbox } from "./controls.js";
import { download, el, paletteColours } from "./dom.js";
import { csvText } from "./format.js";

const PNG_LIMITS = { scale: 2, area: 100e6, side: 16000 }; // the largest image that all browsers can encode
// eslint-disable-next-line no-control-regex -- these are the characters to be replaced
const UNFIT_FOR_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu; // what XML cannot hold
const DIRECTION_OVERRIDE = { ltr: "\u202d", rtl: "\u202e" }; // characters that force a direction
export const PICTURE_MARGIN = 24;
const SAME_LINE_PIXELS = 4; // pixels by which tops on one line may differ
const TOUCHING_PIXELS = 2; // pixels between two letters that follow each other
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const MONOSPACE = "ui-monospace, 'Liberation Mono', monospace";

/** Buttons that save `shown`: {title, name(), recipe(), picture(colours), rows()}; `others` are further buttons. */
export function fileButtons(shown, others = []) {
  const button = (kind, make) =>
    el("button", {
      type: "button",
      "data-export": kind.toLowerCase(),
      "aria-label": `Save as ${kind}`,
      text: kind,
      onclick: async () => download(`${shown.name()}.${kind.toLowerCase()}`, await make()),
    });
  const dark = labelledCheckbox("dark picture", () => {});
  const colours = () => paletteColours(dark.input.checked ? "dark" : "light");
  return el(
    "div",
    { class: "pair-exports no-print", role: "group", "aria-label": "Save this view" },
    el("span", { class: "soft", text: "Save as" }),
    button("SVG", () => new Blob([svgText(shown, colours())], { type: "image/svg+xml" })),
    button("PNG", () => pngBlob(shown.picture(colours()))),
    button("CSV", () => new Blob([csvText(shown.rows())], { type: "text/csv;charset=utf-8" })),
    ...others,
    dark.node,
  );
}

/**
 * The picture as it is printed, in place of what the screen shows: lines, words and colours belong together whatever
 * the paper is, and nothing is scrolled out of sight. Made when the browser is about to print.
 */
export function printedPicture(shown) {
  const node = el("div", { class: "print-only" });
  const fill = () => node.replaceChildren(pictureElement(shown, paletteColours("light")));
  const clear = () => node.replaceChildren();
  addEventListener("beforeprint", fill);
  addEventListener("afterprint", clear);
  const stop = () => {
    removeEventListener("beforeprint", fill);
    removeEventListener("afterprint", clear);
  };
  return { node, stop };
}

/** The picture as an element. */
export function pictureElement({ title, recipe, picture }, colours) {
  const { width, height, shapes } = picture(colours);
  const root = svgNode(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    svgNode("title", { text: title }),
    svgNode("desc", { text: xmlText(recipe()) }),
  );
  for (const shape of shapes) root.append(SVG_SHAPES[shape.type](shape));
  return root;
}

function svgText(shown, colours) {
  const text = new XMLSerializer().serializeToString(pictureElement(shown, colours));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}`;
}

/** The picture as a PNG of twice its size, or of the largest size that browsers can encode. */
function pngBlob({ width, height, shapes }) {
  const fits = Math.min(Math.sqrt(PNG_LIMITS.area / (width * height)), PNG_LIMITS.side / Math.max(width, height));
  const scale = Math.min(PNG_LIMITS.scale, fits);
  const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  for (const shape of shapes) CANVAS_SHAPES[shape.type](context, shape);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

const SVG_SHAPES = {
  rect: ({ x, y, width, height, radius, fill, stroke, dash, strokeWidth }) =>
    svgNode("rect", {
      x: rounded(x),
      y: rounded(y),
      width: rounded(width),
      height: rounded(height),
      rx: radius,
      fill: fill ?? "none",
      stroke,
      "stroke-dasharray": dash?.join(" "),
      "stroke-width": strokeWidth,
    }),
  text: ({ x, y, text, fill, size, weight, font, anchor, length, direction }) =>
    svgNode("text", {
      x: rounded(x),
      y: rounded(y),
      fill,
      "font-size": size,
      "font-weight": weight,
      "font-family": font,
      "text-anchor": anchor,
      direction,
      "unicode-bidi": direction && "bidi-override", // the positions of the letters are known, no rule may change them
      textLength: length && rounded(length),
      lengthAdjust: length && "spacingAndGlyphs",
      text: xmlText(text),
    }),
  curve: ({ from, to, control, stroke, width, dash }) =>
    svgNode("path", {
      d: `M${pointText(from.x, from.y)}C${pointText(...control, to.x, to.y)}`,
      fill: "none",
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash.length ? dash.join(" ") : null,
    }),
  strokes: ({ lines, stroke, width, dash }) =>
    svgNode("path", {
      d: lines.map(([x1, y1, x2, y2]) => `M${pointText(x1, y1)}L${pointText(x2, y2)}`).join(""),
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash?.join(" "),
    }),
  wave: (shape) =>
    svgNode("path", {
      d: wavePoints(shape)
        .map(([x, y], index) => `${index ? "L" : "M"}${rounded(x)} ${rounded(y)}`)
        .join(""),
      fill: "none",
      stroke: shape.stroke,
      "stroke-width": 1.5,
    }),
};

const CANVAS_SHAPES = {
  rect: (context, { x, y, width, height, radius, fill, stroke, dash, strokeWidth }) => {
    context.beginPath();
    context.roundRect(x, y, width, height, radius ?? 0);
    context.setLineDash(dash ?? []);
    context.lineWidth = strokeWidth ?? 1;
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.stroke();
    }
  },
  text: (context, { x, y, text, fill, size, weight, font, anchor, length, direction }) => {
    context.save();
    context.font = `${weight} ${size}px ${font}`;
    context.textAlign = anchor === "middle" ? "center" : "left";
    context.direction = direction ?? "ltr";
    context.fillStyle = fill;
    context.translate(x, y);
    const written = direction ? `${DIRECTION_OVERRIDE[direction]}${text}\u202c` : text;
    if (length) context.scale(length / context.measureText(written).width || 1, 1);
    context.fillText(written, 0, 0);
    context.restore();
  },
  curve: (context, { from, to, control, stroke, width, dash }) => {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(...control, to.x, to.y);
    context.stroke();
  },
  strokes: (context, { lines, stroke, width, dash }) => {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash ?? []);
    context.beginPath();
    for (const [x1, y1, x2, y2] of lines) {
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
    }
    context.stroke();
  },
  wave: (context, shape) => {
    context.strokeStyle = shape.stroke;
    context.lineWidth = 1.5;
    context.setLineDash([]);
    context.beginPath();
    for (const [x, y] of wavePoints(shape)) context.lineTo(x, y);
    context.stroke();
  },
};

function svgNode(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") node.textContent = value;
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** A wavy underline as corners. */
function wavePoints({ x, y, width }) {
  const steps = Math.max(2, Math.round(width / 3));
  return Array.from({ length: steps + 1 }, (_none, index) => [
    x + (width * index) / steps,
    y + (index % 2 ? -1.5 : 1.5),
  ]);
}

function xmlText(text) {
  return text.replace(UNFIT_FOR_XML, "\ufffd");
}

function pointText(...numbers) {
  return numbers.map(rounded).join(" ");
}

function rounded(value) {
  return Math.round(value * 100) / 100;
}

/**
 * Push the words, cut at blanks and line ends only, so that letters stay joined whatever the units are; in text of both
 * directions also where the direction changes, so that every letter is where the page has it.
 */
export function pushWords(shapes, text, origin, colours) {
  const corner = text.getBoundingClientRect();
  const [dx, dy] = [origin.x - corner.left, origin.y - corner.top];
  const turns = text.matches(":dir(rtl)") || RIGHT_TO_LEFT.test(text.textContent);
  const usual = text.matches(":dir(rtl)") ? "rtl" : "ltr";
  const put = (word, rect, node, way) => {
    const style = getComputedStyle(node.parentElement);
    shapes.push({
      type: "text",
      text: word,
      anchor: "middle",
      x: dx + (rect.left + rect.right) / 2,
      y: dy + rect.top + 0.78 * (rect.bottom - rect.top),
      length: rect.right - rect.left,
      size: parseFloat(style.fontSize),
      font: style.fontFamily,
      fill: node.parentElement.closest(".pair-cut") ? colours("--soft") : colours("--ink"),
      weight: 400,
      direction: turns ? (way ?? usual) : undefined,
    });
  };
  for (const run of textRuns(text)) {
    const parts = turns ? directionParts(run) : lineParts(run);
    for (const part of parts) put(part.text, part.rect, run[0].node, part.way);
  }
  for (const mark of text.querySelectorAll(".pair-mark")) {
    const rect = mark.getBoundingClientRect();
    const label = { fill: colours("--soft"), size: 11, anchor: "middle" };
    shapes.push(textShape(dx + (rect.left + rect.right) / 2, dy + rect.bottom - 4, mark.dataset.label, label));
  }
}

/** Runs of text without blanks: lists of {node, start, stop}, for a word may lie in several spans. */
function textRuns(paragraph) {
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  const runs = [];
  let open = null;
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    for (const match of node.data.matchAll(/\s+|\S+/gu)) {
      if (/^\s/u.test(match[0])) open = null;
      else {
        if (!open) runs.push((open = []));
        open.push({ node, start: match.index, stop: match.index + match[0].length });
      }
    }
  }
  return runs;
}

/** The parts of a run by line: [{text, rect}], measured by letters, not by the boxes around them. */
function lineParts(run) {
  const lines = [];
  const put = (text, { left, right, top, bottom }) => {
    const last = lines.at(-1);
    if (last && Math.abs(last.rect.top - top) < SAME_LINE_PIXELS) {
      last.text += text;
      last.rect = { ...last.rect, left: Math.min(last.rect.left, left), right: Math.max(last.rect.right, right) };
    } else lines.push({ text, rect: { left, right, top, bottom } });
  };
  for (const { node, start, stop } of run) {
    const rects = rectsOf(node, start, stop);
    if (rects.length === 1) put(node.data.slice(start, stop), rects[0]);
    else for (const letter of lettersOf({ node, start, stop })) put(letter.text, letter.rect);
  }
  return lines;
}

/** The parts of a run whose letters follow each other in one direction on one line: [{text, rect, way}]. */
function directionParts(run) {
  /** @type {{text: string, rect: any, way?: string}[]} */
  const parts = [];
  let before = null;
  for (const { text, rect } of run.flatMap(lettersOf)) {
    const last = parts.at(-1);
    const mark = last && rect.right - rect.left < 0.5; // a mark on the letter before
    const way = before && directionBetween(before, rect);
    if (mark || (way && (last.way ?? way) === way)) {
      last.text += text;
      last.way ??= mark ? undefined : way;
      last.rect.left = Math.min(last.rect.left, rect.left);
      last.rect.right = Math.max(last.rect.right, rect.right);
    } else parts.push({ text, rect: { left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom } });
    if (!mark) before = rect;
  }
  return parts;
}

/** The direction in which the second letter follows the first: "ltr", "rtl", or null if it does not. */
function directionBetween(first, second) {
  if (Math.abs(first.top - second.top) >= SAME_LINE_PIXELS) return null;
  if (Math.abs(second.left - first.right) < TOUCHING_PIXELS) return "ltr";
  return Math.abs(first.left - second.right) < TOUCHING_PIXELS ? "rtl" : null;
}

/** All letters of a stretch of text that have a box: [{text, rect}]. */
function lettersOf({ node, start, stop }) {
  const letters = [];
  let index = start;
  for (const text of node.data.slice(start, stop)) {
    const [rect] = rectsOf(node, index, index + text.length);
    if (rect) letters.push({ text, rect });
    index += text.length;
  }
  return letters;
}

function rectsOf(node, start, stop) {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, stop);
  return range.getClientRects();
}

/** One line of text as a shape. */
export function textShape(x, y, text, { fill, size, weight = 400, font = "system-ui, sans-serif", anchor = "start" }) {
  return { type: "text", x, y, text, fill, size, weight, font, anchor };
}

/** Push the signature below `bottom`, in lines of the picture's width; returns its bottom edge. */
export function pushSignature(shapes, recipe, width, bottom, colours) {
  const lines = wrapped(recipe, Math.floor((width - 2 * PICTURE_MARGIN) / 6.7));
  const style = { fill: colours("--soft"), size: 11, font: MONOSPACE };
  lines.forEach((line, index) => shapes.push(textShape(PICTURE_MARGIN, bottom + 18 * (index + 1), line, style)));
  return bottom + 18 * lines.length;
}

/** Lines of at most `most` characters, broken after the bars of a signature where possible. */
function wrapped(text, most) {
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
