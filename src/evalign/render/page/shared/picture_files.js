// Saves a view as SVG and PNG (of its picture, a list of shapes) and as CSV (of its rows), each with the signature.
// In: functions that give what is shown at the moment of saving. Out: the buttons.

import { csvLines } from "./csv_writer.js";
import { download, el } from "./dom.js";

const EXPORT_PIXELS = { scale: 2, area: 100e6, side: 16000 }; // the largest image that all browsers can encode
// eslint-disable-next-line no-control-regex -- these are the characters to be replaced
const EXPORT_UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu; // what XML cannot hold

/** Buttons that save `shown`: {title, name(), recipe(), picture(), rows()}; `others` are further buttons. */
export function fileButtons(shown, others = []) {
  const button = (kind, make) =>
    el("button", {
      type: "button",
      "data-export": kind.toLowerCase(),
      "aria-label": `Save as ${kind}`,
      text: kind,
      onclick: async () => download(`${shown.name()}.${kind.toLowerCase()}`, await make()),
    });
  return el(
    "div",
    { class: "pair-exports no-print", role: "group", "aria-label": "Save this view" },
    el("span", { class: "soft", text: "Save as" }),
    button("SVG", () => new Blob([pictureSvg(shown)], { type: "image/svg+xml" })),
    button("PNG", () => picturePng(shown.picture())),
    button("CSV", () => new Blob([csvLines(shown.rows())], { type: "text/csv;charset=utf-8" })),
    ...others,
  );
}

/** The picture as an SVG document. */
function pictureSvg({ title, recipe, picture }) {
  const { width, height, shapes } = picture();
  const root = exportNode(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" },
    exportNode("title", { text: title }),
    exportNode("desc", { text: exportFit(recipe()) }),
  );
  for (const shape of shapes) root.append(EXPORT_SVG[shape.type](shape));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}`;
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
  text: ({ x, y, text, fill, size, weight, font, anchor, length }) =>
    exportNode("text", {
      x: exportRound(x),
      y: exportRound(y),
      fill,
      "font-size": size,
      "font-weight": weight,
      "font-family": font,
      "text-anchor": anchor,
      textLength: length && exportRound(length),
      lengthAdjust: length && "spacingAndGlyphs",
      text: exportFit(text),
    }),
  curve: ({ from, to, control, stroke, width, dash, alpha }) =>
    exportNode("path", {
      d: `M${exportPoints(from.x, from.y)}C${exportPoints(...control, to.x, to.y)}`,
      fill: "none",
      stroke,
      "stroke-width": width,
      "stroke-dasharray": dash.length ? dash.join(" ") : null,
      "stroke-opacity": alpha.toFixed(3),
    }),
  dashes: ({ x, y, width, stroke }) =>
    exportNode("path", {
      d: `M${exportRound(x)} ${exportRound(y)}h${exportRound(width)}`,
      stroke,
      "stroke-width": 2,
      "stroke-dasharray": "4 3",
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
  text: (context, { x, y, text, fill, size, weight, font, anchor }) => {
    context.font = `${weight} ${size}px ${font}`;
    context.textAlign = anchor === "middle" ? "center" : "left";
    context.fillStyle = fill;
    context.fillText(text, x, y);
  },
  curve: (context, { from, to, control, stroke, width, dash, alpha }) => {
    context.globalAlpha = alpha;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(...control, to.x, to.y);
    context.stroke();
    context.globalAlpha = 1;
  },
  dashes: (context, { x, y, width, stroke }) => {
    context.strokeStyle = stroke;
    context.lineWidth = 2;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + width, y);
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
