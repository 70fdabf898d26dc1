// The page as one file: the server's empty shell with a document written into its slot.

const EXPORT_SLOT = '{"evalign": "document"}';

/** The finished HTML text; `<` never stands in the data as such, so no text can end the element that holds it. */
export async function htmlFile(doc) {
  const answer = await fetch(`/export/${doc.format.replace("evalign.", "")}.html`, { credentials: "omit" });
  if (!answer.ok) throw new Error(`The server has no shell for exports (${answer.status}).`);
  const shell = await answer.text();
  return shell.replace(EXPORT_SLOT, () => JSON.stringify(doc).replace(/</g, "\\u003c"));
}
