// The usual names of columns, by what they hold, and how a header's name is compared with them.

export const COLUMN_NAMES = {
  candidate: [
    "candidate",
    "hypothesis",
    "hyp",
    "prediction",
    "output",
    "systemoutput",
    "generated",
    "translation",
    "mt",
    "simplification",
    "summary",
    "response",
    "answer",
    "text",
  ],
  references: ["references", "reference", "refs", "ref", "target", "targets", "gold", "goldstandard", "label"],
  source: ["source", "src", "input", "original", "document", "article"],
  system: ["system", "model", "systemname", "sys", "engine"],
  human: ["human", "score", "rating", "humanscore", "da", "mos", "judgement", "judgment"],
  id: ["id", "uid", "rowid", "segid", "segment", "key", "index"],
};
const COLUMN_KNOWN = new Set(Object.values(COLUMN_NAMES).flat());

/** A header's name as it is compared: lower case, letters and digits only. */
export function plainName(name) {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

/** How many cells of a line have a usual name, which may end in a number. */
export function usualNames(cells) {
  return cells.filter((cell) => COLUMN_KNOWN.has(plainName(cell).replace(/\d+$/, ""))).length;
}
