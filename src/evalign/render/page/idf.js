// IDF tables from texts, through the server's tokenizer: counted in chunks, merged here by adding.

const IDF_CHUNK_CHARACTERS = 100000; // at most 6 bytes each in JSON: well below the server's limit of a body
const IDF_CHUNK_TEXTS = 5000;

/** In how many of the texts each token occurs, as the server's `idf` fields take it. */
export async function idfTable(api, model, texts, signal) {
  let table = null;
  for (const chunk of idfChunks(texts)) {
    const part = await api.idf({ model, texts: chunk }, signal);
    table = table === null ? part : mergedIdf(table, part);
  }
  return table;
}

/** Both tables as if their texts had been counted at once. */
function mergedIdf(one, other) {
  if (one.tokenizer !== other.tokenizer) throw new Error("IDF tables of two tokenizers cannot be merged.");
  const df = { ...one.df };
  for (const [token, count] of Object.entries(other.df)) df[token] = (df[token] ?? 0) + count;
  return { ...one, documents: one.documents + other.documents, df };
}

function* idfChunks(texts) {
  let chunk = [];
  let size = 0;
  for (const text of texts) {
    if (chunk.length === IDF_CHUNK_TEXTS || (chunk.length && size + text.length > IDF_CHUNK_CHARACTERS)) {
      yield chunk;
      chunk = [];
      size = 0;
    }
    chunk.push(text);
    size += text.length;
  }
  if (chunk.length) yield chunk;
}
