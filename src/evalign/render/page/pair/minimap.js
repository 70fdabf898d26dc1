// A small picture of a long text beside its pane: every word a bar coloured by its match, the part in view framed, the
// focused words and their partners highlighted. Click or drag scrolls the pane.

import { el, themeColour } from "../shared/dom.js";
import { sharpContext } from "./lines.js";

const MINIMAP_WIDTH = 52;

/** The minimap of a pane; draw(boxes, facts, lit) with the set of highlighted units. */
export function makeMinimap(pane) {
  const canvas = el("canvas", { class: "pair-minimap", "aria-hidden": "true" });
  let scale = 1;
  const scroll = (event) => {
    const rect = canvas.getBoundingClientRect();
    const place = (event.clientY - rect.top) / (rect.height / canvas.clientHeight || 1);
    pane.scrollTop = place / scale - pane.clientHeight / 2;
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
