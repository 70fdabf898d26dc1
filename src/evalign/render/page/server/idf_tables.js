// Counts IDF tables of texts with the server's tokenizer, in chunks that are added up.

const IDF_CHUNK_CHARACTERS = 100000; // at most 6 bytes each in JSON: well below the server's limit of a body
const IDF_CHUNK_TEXTS = 5000;
const IDF_TOO_MUCH = ["too-many-tokens", "too-many-texts"];

/** In how many of the texts each token occurs, as the server's `idf` fields take it. A text that the server refuses is
    an error, or, with `onRefused(place, error)`, left out. */
export async function idfTable(api, model, texts, signal, onRefused = null) {
  let table = null;
  const count = async (start, stop) => {
    try {
      const part = await api.idf({ model, texts: texts.slice(start, stop) }, signal);
      table = table === null ? part : mergedIdf(table, part);
    } catch (error) {
      if (!onRefused || !(error.status === 413 || IDF_TOO_MUCH.includes(error.code))) throw error;
      const middle = (start + stop) >> 1;
      if (middle === start) return onRefused(start, error);
      await count(start, middle);
      await count(middle, stop);
    }
  };
  for (const [start, stop] of idfChunks(texts)) await count(start, stop);
  return table;
}

/** Both tables as if their texts had been counted at once. */
function mergedIdf(first, second) {
  if (first.tokenizer !== second.tokenizer) throw new Error("IDF tables of two tokenizers cannot be merged.");
  const df = { ...first.df };
  for (const [token, count] of Object.entries(second.df)) df[token] = (df[token] ?? 0) + count;
  return { ...first, documents: first.documents + second.documents, df };
}

/** Where chunks of the texts start and stop. */
function* idfChunks(texts) {
  let start = 0;
  let size = 0;
  for (const [place, text] of texts.entries()) {
    const full = place - start === IDF_CHUNK_TEXTS || size + text.length > IDF_CHUNK_CHARACTERS;
    if (place > start && full) {
      yield [start, place];
      start = place;
      size = 0;
    }
    size += text.length;
  }
  if (start < texts.length) yield [start, texts.length];
}
