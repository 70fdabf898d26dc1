// Checks a saved document that is opened again: complete enough to be drawn, or refused in a sentence, for it may be
// truncated, edited by hand, or of another version. In: parsed JSON. Out: the same, checked.

import { checkFormat } from "../shared/document.js";

const DOCUMENT_CORPUS_LISTS = ["metrics", "systems", "results", "rows"];
const DOCUMENT_ROW_LISTS = ["scores", "flags", "errors"];
const DOCUMENT_SIDE_LISTS = ["pieces", "offsets", "special", "unknown", "words", "weights", "windows"];

/** Whether parsed JSON says that it is one of our documents. */
export function isDocument(value) {
  return typeof value?.format === "string" && value.format.startsWith("evalign.");
}

/** The document; throws an Error with a sentence if a part that the views rely on is missing. */
export function checkedDocument(doc) {
  const format = checkFormat(doc);
  if (format === "evalign.likelihood" || format === "evalign.lstm") {
    throw new Error(`Documents of ${format} have a page of their own, which evalign explain --html writes.`);
  }
  const lacking = format === "evalign.corpus" ? corpusLack(doc) : alignmentLack(doc);
  if (lacking) throw new Error(`This ${doc.format} document is damaged: ${lacking}. Save it again where it was made.`);
  return doc;
}

function corpusLack(doc) {
  const missing = DOCUMENT_CORPUS_LISTS.find((name) => !Array.isArray(doc[name]));
  if (missing) return `it has no list "${missing}"`;
  const metric = doc.metrics.findIndex(
    (entry) =>
      typeof entry?.metric !== "string" ||
      typeof entry.signature !== "string" ||
      !Array.isArray(entry.fields) ||
      !entry.fields.includes(entry.main) ||
      !Array.isArray(entry.bounds),
  );
  if (metric >= 0) return `metric ${metric + 1} is not described`;
  if (doc.systems.some((name) => typeof name !== "string")) return "a system has no name";
  if (doc.results.some((entry) => !(entry?.scores instanceof Object))) return "a result has no scores";
  const row = doc.rows.findIndex((entry) =>
    DOCUMENT_ROW_LISTS.some((name) => !Array.isArray(entry?.[name]) || entry[name].length !== doc.metrics.length),
  );
  return row >= 0 ? `row ${row + 1} has not ${DOCUMENT_ROW_LISTS.join(", ")} of every metric` : "";
}

function alignmentLack(doc) {
  for (const side of ["candidate", "reference"]) {
    if (typeof doc[side]?.text !== "string") return `it has no ${side}`;
    const missing = DOCUMENT_SIDE_LISTS.find((name) => !Array.isArray(doc[side][name]));
    if (missing) return `its ${side} has no list "${missing}"`;
  }
  if (doc.similarity === null || typeof doc.similarity !== "object") return "it has no similarities";
  return doc.matchings?.[0]?.scores ? "" : "it has no matching";
}
