// A view as one HTML file: the server's template with the document in its slot.

const EXPORT_SLOT = '{"evalign": "document"}';

/** The finished HTML text; `<` is escaped in the data, so that no text can end the element that holds it. */
export async function htmlFile(doc) {
  const kind = doc.format.replace("evalign.", "") + (doc.alignments?.rows.length ? "-pairs" : "");
  const answer = await fetch(`/export/${kind}.html`, { credentials: "omit" });
  if (!answer.ok) throw new Error(`The server has no shell for exports (${answer.status}).`);
  const shell = await answer.text();
  return shell.replace(EXPORT_SLOT, () => JSON.stringify(doc).replace(/</g, "\\u003c"));
}
