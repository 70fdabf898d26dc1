// Texts as shapes of a picture: words at the places and in the fonts that the page gives them, other lines of text, the
// signature. In: an element that holds running text. Out: shapes pushed onto a list, which picture_files.js writes.

export const PICTURE_MARGIN = 24;
const PICTURE_LINE = 4; // pixels by which tops on one line may differ
const PICTURE_MONO = "ui-monospace, 'Liberation Mono', monospace";

/** The words, cut at blanks and line ends only, so that letters stay joined whatever the units are. */
export function pictureWords(shapes, text, place, colours) {
  const corner = text.getBoundingClientRect();
  const [dx, dy] = [place.x - corner.left, place.y - corner.top];
  const put = (word, rect, node) => {
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
    });
  };
  for (const run of pictureRuns(text)) for (const line of pictureLines(run)) put(line.text, line.rect, run[0].node);
  for (const mark of text.querySelectorAll(".pair-mark")) {
    const rect = mark.getBoundingClientRect();
    const label = { fill: colours("--soft"), size: 11, anchor: "middle" };
    shapes.push(pictureText(dx + (rect.left + rect.right) / 2, dy + rect.bottom - 4, mark.dataset.label, label));
  }
}

/** Runs of text without blanks: lists of {node, start, stop}, for a word may lie in several spans. */
function pictureRuns(paragraph) {
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

/** The parts of a run on each line: [{text, rect}]; measured by its letters, not by the boxes around them. */
function pictureLines(run) {
  const range = document.createRange();
  const measured = (node, start, stop) => {
    range.setStart(node, start);
    range.setEnd(node, stop);
    return range.getClientRects();
  };
  const lines = [];
  const put = (text, { left, right, top, bottom }) => {
    const last = lines.at(-1);
    if (last && Math.abs(last.rect.top - top) < PICTURE_LINE) {
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

/** One line of text as a shape. */
export function pictureText(
  x,
  y,
  text,
  { fill, size, weight = 400, font = "system-ui, sans-serif", anchor = "start" },
) {
  return { type: "text", x, y, text, fill, size, weight, font, anchor };
}

/** The recipe below `bottom`, in lines of the picture's width; returns where it ends. */
export function pictureRecipe(shapes, recipe, width, bottom, colours) {
  const lines = pictureWrapped(recipe, Math.floor((width - 2 * PICTURE_MARGIN) / 6.7));
  const style = { fill: colours("--soft"), size: 11, font: PICTURE_MONO };
  lines.forEach((line, place) => shapes.push(pictureText(PICTURE_MARGIN, bottom + 18 * (place + 1), line, style)));
  return bottom + 18 * lines.length;
}

/** Lines of at most `most` characters, broken after the bars of a signature where possible. */
function pictureWrapped(text, most) {
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
