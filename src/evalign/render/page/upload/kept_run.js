// The last finished run of this browser, so that a reload does not lose it: {name, when, doc}, in IndexedDB, under the
// page's own address only.

const KEPT_DATABASE = "evalign";
const KEPT_STORE = "runs";
const KEPT_KEY = "last";

/** Keeps a run in place of the one before it; rejects where the browser keeps nothing, or not so much. */
export function keepRun(run) {
  return inStore("readwrite", (store) => store.put(run, KEPT_KEY));
}

/** The run that was kept, if there is one and it can be read. */
export async function keptRun() {
  try {
    return (await inStore("readonly", (store) => store.get(KEPT_KEY))) ?? null;
  } catch {
    return null; // private windows of some browsers have no database
  }
}

/** Deletes the run. */
export function forgetRun() {
  return inStore("readwrite", (store) => store.delete(KEPT_KEY));
}

async function inStore(mode, ask) {
  const database = await settled(opened());
  try {
    const transaction = database.transaction(KEPT_STORE, mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("The browser did not keep it."));
    });
    const request = ask(transaction.objectStore(KEPT_STORE));
    await done; // a request may succeed, and the transaction still fail for want of space
    return request.result;
  } finally {
    database.close();
  }
}

function opened() {
  const request = indexedDB.open(KEPT_DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(KEPT_STORE);
  return request;
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
