// Texts as shapes of a picture: words at the places and in the fonts that the page gives them, other lines of text, the
// signature. In: an element that holds running text. Out: shapes pushed onto a list, which picture_files.js writes.

export const PICTURE_MARGIN = 24;
const PICTURE_LINE = 4; // pixels by which tops on one line may differ
const PICTURE_TOUCH = 2; // pixels between two letters that follow each other
const PICTURE_RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const PICTURE_MONO = "ui-monospace, 'Liberation Mono', monospace";

/**
 * The words, cut at blanks and line ends only, so that letters stay joined whatever the units are; in text of both
 * directions also where the direction turns, so that every letter stands where the page has it.
 */
export function pictureWords(shapes, text, place, colours) {
  const corner = text.getBoundingClientRect();
  const [dx, dy] = [place.x - corner.left, place.y - corner.top];
  const turns = text.matches(":dir(rtl)") || PICTURE_RIGHT_TO_LEFT.test(text.textContent);
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
  for (const run of pictureRuns(text)) {
    const parts = turns ? pictureTurns(run) : pictureLines(run);
    for (const part of parts) put(part.text, part.rect, run[0].node, part.way);
  }
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
  const lines = [];
  const put = (text, { left, right, top, bottom }) => {
    const last = lines.at(-1);
    if (last && Math.abs(last.rect.top - top) < PICTURE_LINE) {
      last.text += text;
      last.rect = { ...last.rect, left: Math.min(last.rect.left, left), right: Math.max(last.rect.right, right) };
    } else lines.push({ text, rect: { left, right, top, bottom } });
  };
  for (const { node, start, stop } of run) {
    const rects = pictureRects(node, start, stop);
    if (rects.length === 1) put(node.data.slice(start, stop), rects[0]);
    else for (const letter of pictureLetters({ node, start, stop })) put(letter.text, letter.rect);
  }
  return lines;
}

/** The parts of a run whose letters follow each other in one direction on one line: [{text, rect, way}]. */
function pictureTurns(run) {
  /** @type {{text: string, rect: any, way?: string}[]} */
  const parts = [];
  let before = null;
  for (const { text, rect } of run.flatMap(pictureLetters)) {
    const last = parts.at(-1);
    const mark = last && rect.right - rect.left < 0.5; // a mark on the letter before
    const way = before && pictureWay(before, rect);
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

/** Where the second letter follows the first: "ltr", "rtl", or null if it does not follow it. */
function pictureWay(first, second) {
  if (Math.abs(first.top - second.top) >= PICTURE_LINE) return null;
  if (Math.abs(second.left - first.right) < PICTURE_TOUCH) return "ltr";
  return Math.abs(first.left - second.right) < PICTURE_TOUCH ? "rtl" : null;
}

/** Every letter of a stretch of text that has a place: [{text, rect}]. */
function pictureLetters({ node, start, stop }) {
  const letters = [];
  let place = start;
  for (const text of node.data.slice(start, stop)) {
    const [rect] = pictureRects(node, place, place + text.length);
    if (rect) letters.push({ text, rect });
    place += text.length;
  }
  return letters;
}

function pictureRects(node, start, stop) {
  const range = document.createRange();
  range.setStart(node, start);
  range.setEnd(node, stop);
  return range.getClientRects();
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
