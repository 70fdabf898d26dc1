// IDF tables of the texts of an open corpus, each counted once. In: the server's calls and the texts of a kind
// ("references", "sources"). Out: a table as requests take it.

import { idfTable } from "./idf_tables.js";

/** {table(kind, model, signal), clear()}; `textsOf(kind)` gives the texts. */
export function corpusIdf(api, textsOf) {
  const tables = new Map();
  return {
    async table(kind, model, signal) {
      const key = `${kind} ${model}`;
      if (!tables.has(key)) tables.set(key, await idfTable(api, model, textsOf(kind), signal));
      return tables.get(key);
    },
    clear: () => tables.clear(),
  };
}
