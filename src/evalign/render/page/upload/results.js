// The results of the last run above the corpus view: the file's name, the time, a button that deletes them. They are
// saved in this browser (IndexedDB, under the page's own address only) and restored after a reload; where that fails,
// the page asks before it is left.

import { checkedDocument } from "../shared/document.js";
import { announce, el } from "../shared/dom.js";

const DATABASE = "evalign";
const STORE = "runs";
const LAST_RUN_KEY = "last";

/** The heading and button above the corpus view; `draw(doc)` draws a run's document, `clear()` removes it. */
export function createResults(head, { draw, clear }) {
  let shown = null; // {name, when, doc}
  let unsaved = false;
  let busy = false;
  addEventListener("beforeunload", (event) => {
    if (busy || unsaved) event.preventDefault(); // the browser asks whether to leave
  });

  function say(note) {
    head.hidden = !shown;
    if (!shown) return head.replaceChildren();
    return head.replaceChildren(
      el("h2", {}, "Scores of ", el("bdi", { text: shown.name })),
      el("p", { class: "soft", text: note }),
      el("button", { type: "button", text: "Delete these scores", onclick: deleteScores }),
    );
  }

  async function deleteScores() {
    shown = null;
    unsaved = false;
    clear();
    say("");
    document.getElementById("u-file")?.focus(); // the button is gone
    await deleteRun().catch(() => {});
    announce("The scores were deleted.");
  }

  return {
    /** Show a finished run, and save it. */
    async show(doc, name) {
      const run = { name, when: new Date().toISOString(), doc };
      shown = run;
      draw(doc);
      say("");
      try {
        await saveRun(run);
        unsaved = false;
        if (shown === run) say("Saved in this browser until you delete them or score another file.");
      } catch {
        unsaved = true;
        if (shown === run) say("This browser cannot save them: save a file before you reload or close the page.");
      }
    },
    /** Show the run that an earlier visit saved; returns whether there was one. */
    async restore() {
      const run = await savedRun();
      if (shown || !run) return Boolean(shown);
      try {
        checkedDocument(run.doc);
      } catch {
        return false; // of another version
      }
      shown = run;
      draw(run.doc);
      say(`Restored: scored on ${new Date(run.when).toLocaleString()}, saved in this browser.`);
      return true;
    },
    /** Note that another file was opened, or could not be: the scores are not about it. */
    outdated(name) {
      if (shown && shown.name !== name) say(`These are not the scores of ${name}, which was opened after them.`);
      else if (shown) say("These are the scores of what the file held before it was opened again.");
    },
    /** Note whether rows are being scored: leaving the page would lose them. */
    running(now) {
      busy = now;
    },
  };
}

/** Save a run in place of the one before it; rejects if the browser cannot store it. */
function saveRun(run) {
  return inStore("readwrite", (store) => store.put(run, LAST_RUN_KEY));
}

/** The saved run; null if there is none, or it cannot be read. */
async function savedRun() {
  try {
    return (await inStore("readonly", (store) => store.get(LAST_RUN_KEY))) ?? null;
  } catch {
    return null; // private windows of some browsers have no database
  }
}

/** Delete the run. */
function deleteRun() {
  return inStore("readwrite", (store) => store.delete(LAST_RUN_KEY));
}

async function inStore(mode, ask) {
  const database = await settled(openRequest());
  try {
    const transaction = database.transaction(STORE, mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("The browser did not save it."));
    });
    const request = ask(transaction.objectStore(STORE));
    await done; // a request may succeed and the transaction fail for want of space
    return request.result;
  } finally {
    database.close();
  }
}

function openRequest() {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return request;
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
