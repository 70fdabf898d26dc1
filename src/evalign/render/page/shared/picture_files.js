// Saves a view as SVG and PNG (of its picture, a list of shapes) and as CSV (of its rows), each with the signature.
// In: functions that give what is shown at the moment of saving. Out: the buttons. Pictures go into papers and slides:
// they are light unless the reader asks for dark ones.

import { controlCheck } from "./controls.js";
import { csvLines } from "./csv_writer.js";
import { download, el, paletteColours } from "./dom.js";

const EXPORT_PIXELS = { scale: 2, area: 100e6, side: 16000 }; // the largest image that all browsers can encode
// eslint-disable-next-line no-control-regex -- these are the characters to be replaced
const EXPORT_UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu; // what XML cannot hold
const EXPORT_OVERRIDE = { ltr: "\u202d", rtl: "\u202e" }; // letters run this way, whatever they are

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
  const dark = controlCheck("dark picture", () => {});
  const colours = () => paletteColours(dark.input.checked ? "dark" : "light");
  return el(
    "div",
    { class: "pair-exports no-print", role: "group", "aria-label": "Save this view" },
    el("span", { class: "soft", text: "Save as" }),
    button("SVG", () => new Blob([pictureSvg(shown, colours())], { type: "image/svg+xml" })),
    button("PNG", () => picturePng(shown.picture(colours()))),
    button("CSV", () => new Blob([csvLines(shown.rows())], { type: "text/csv;charset=utf-8" })),
    ...others,
    dark.node,
  );
}

/**
 * The picture as it is printed, in place of what the screen shows: lines, words and colours belong together whatever the
 * paper is, and nothing is scrolled out of sight. Made when the browser is about to print.
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
  const root = exportNode(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    exportNode("title", { text: title }),
    exportNode("desc", { text: exportFit(recipe()) }),
  );
  for (const shape of shapes) root.append(EXPORT_SVG[shape.type](shape));
  return root;
}

function pictureSvg(shown, colours) {
  const text = new XMLSerializer().serializeToString(pictureElement(shown, colours));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text}`;
}

/** The picture as a PNG of twice its size, or of the largest size that browsers can encode. */
function picturePng({ width, height, shapes }) {
  const fits = Math.min(Math.sqrt(EXPORT_PIXELS.area / (width * height)), EXPORT_PIXELS.side / Math.max(width, height));
  const scale = Math.min(EXPORT_PIXELS.scale, fits);
  const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  for (const shape of shapes) EXPORT_CANVAS[shape.type](context, shape);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

const EXPORT_SVG = {
  rect: ({ x, y, width, height, radius, fill, stroke, dash, strokeWidth }) =>
    exportNode("rect", {
      x: exportRound(x),
      y: exportRound(y),
      width: exportRound(width),
      height: exportRound(height),
      rx: radius,
      fill: fill ?? "none",
      stroke,
      "stroke-dasharray": dash?.join(" "),
      "stroke-width": strokeWidth,
    }),
  text: ({ x, y, text, fill, size, weight, font, anchor, length, direction }) =>
    exportNode("text", {
      x: exportRound(x),
      y: exportRound(y),
      fill,
      "font-size": size,
      "font-weight": weight,
      "font-family": font,
      "text-anchor": anchor,
      direction,
      "unicode-bidi": direction && "bidi-override", // the places of the letters are known, no rule may change them
      textLength: length && exportRound(length),
      lengthAdjust: length && "spacingAndGlyphs",
      text: exportFit(text),
    }),
  curve: ({ from, to, control, stroke, width, dash }) =>
    exportNode("path", {
      d: `M${exportPoints(from.x, from.y)}C${exportPoints(...control, to.x, to.y)}`,
      fill: "none",
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash.length ? dash.join(" ") : null,
    }),
  strokes: ({ lines, stroke, width, dash }) =>
    exportNode("path", {
      d: lines.map(([x1, y1, x2, y2]) => `M${exportPoints(x1, y1)}L${exportPoints(x2, y2)}`).join(""),
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash?.join(" "),
    }),
  wave: (shape) =>
    exportNode("path", {
      d: exportWave(shape)
        .map(([x, y], place) => `${place ? "L" : "M"}${exportRound(x)} ${exportRound(y)}`)
        .join(""),
      fill: "none",
      stroke: shape.stroke,
      "stroke-width": 1.5,
    }),
};

const EXPORT_CANVAS = {
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
    const written = direction ? `${EXPORT_OVERRIDE[direction]}${text}\u202c` : text;
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
    for (const [x, y] of exportWave(shape)) context.lineTo(x, y);
    context.stroke();
  },
};

function exportNode(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") node.textContent = value;
    else if (value !== undefined && value !== null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** A wavy underline as corners. */
function exportWave({ x, y, width }) {
  const steps = Math.max(2, Math.round(width / 3));
  return Array.from({ length: steps + 1 }, (_none, place) => [
    x + (width * place) / steps,
    y + (place % 2 ? -1.5 : 1.5),
  ]);
}

function exportFit(text) {
  return text.replace(EXPORT_UNFIT, "\ufffd");
}

function exportPoints(...numbers) {
  return numbers.map(exportRound).join(" ");
}

function exportRound(value) {
  return Math.round(value * 100) / 100;
}
