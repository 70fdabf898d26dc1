// The results of the last run above the corpus view: whose they are, since when, and a button that forgets them. They are
// kept in the browser and shown again after a reload; where that fails, the reader is warned before the page is left.

import { announce, el } from "../shared/dom.js";
import { forgetRun, keepRun, keptRun } from "./kept_run.js";
import { checkedDocument } from "./saved_document.js";

/** Controls above the view; `draw(doc)` draws a run's document, `clear()` takes it away. */
export function runResults(head, { draw, clear }) {
  let shown = null; // {name, when, doc}
  let unkept = false;
  let busy = false;
  addEventListener("beforeunload", (event) => {
    if (busy || unkept) event.preventDefault(); // the browser asks whether to leave
  });

  function say(note) {
    head.hidden = !shown;
    if (!shown) return head.replaceChildren();
    return head.replaceChildren(
      el("h2", {}, "Scores of ", el("bdi", { text: shown.name })),
      el("p", { class: "soft", text: note }),
      el("button", { type: "button", text: "Forget these scores", onclick: forget }),
    );
  }

  async function forget() {
    shown = null;
    unkept = false;
    clear();
    say("");
    document.getElementById("u-file")?.focus(); // the button is gone
    await forgetRun().catch(() => {});
    announce("The scores were forgotten.");
  }

  return {
    /** Shows a finished run, and keeps it. */
    async show(doc, name) {
      const run = { name, when: new Date().toISOString(), doc };
      shown = run;
      draw(doc);
      say("");
      try {
        await keepRun(run);
        unkept = false;
        if (shown === run) say("Kept in this browser until they are forgotten or others take their place.");
      } catch {
        unkept = true;
        if (shown === run) say("This browser cannot keep them: save them before you reload or close the page.");
      }
    },
    /** Shows the run that was kept by an earlier visit; whether there was one. */
    async restore() {
      const run = await keptRun();
      if (shown || !run) return Boolean(shown);
      try {
        checkedDocument(run.doc);
      } catch {
        return false; // of another version
      }
      shown = run;
      draw(run.doc);
      say(`Restored: scored on ${new Date(run.when).toLocaleString()}, kept in this browser.`);
      return true;
    },
    /** Another file was opened, or could not be: what is shown is not about it. */
    outdated(name) {
      if (shown && shown.name !== name) say(`These are not the scores of ${name}, which was opened after them.`);
      else if (shown) say("These are the scores of what the file held before it was opened again.");
    },
    /** Whether a run is going on, which leaving the page would lose. */
    running(now) {
      busy = now;
    },
  };
}
