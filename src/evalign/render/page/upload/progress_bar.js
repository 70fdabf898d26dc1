// The progress of a long task: a bar, a count, the time left, a button to cancel. Announced at every tenth only.

import { announce, el } from "../shared/dom.js";
import { countText } from "../shared/number_text.js";

/** Returns {node, show(done, total, words, onCancel), begin(total, onCancel), advance(done), say(words), hide()}. */
export function progressBar(label) {
  const bar = el("progress", { "aria-label": label, max: 1, value: 0 });
  const words = el("span", { class: "u-progress-words" });
  const cancel = el("button", { type: "button", text: "Cancel" });
  const node = el("div", { class: "u-progress", hidden: true }, bar, words, cancel);
  let total = 1;
  let began = 0;
  let spoken = 0;
  let onCancel = () => {};
  cancel.addEventListener("click", () => onCancel());
  function show(done, all, text, stop) {
    node.hidden = false;
    bar.max = all;
    bar.value = done;
    words.textContent = text;
    onCancel = stop;
  }
  return {
    node,
    show,
    begin(count, stop) {
      [total, began, spoken] = [count, performance.now(), 0];
      show(0, total, `0 of ${countText(total)} rows`, stop);
      cancel.focus();
    },
    advance(done) {
      bar.value = done;
      const left = (((performance.now() - began) / done) * (total - done)) / 1000;
      const rest = done < total ? `, ${timeWords(left)} left` : "";
      words.textContent = `${countText(done)} of ${countText(total)} rows${rest}`;
      const tenth = Math.floor((done / total) * 10);
      if (tenth > spoken) announce(words.textContent);
      spoken = tenth;
    },
    say(text) {
      words.textContent = text;
      announce(text);
    },
    hide: () => {
      node.hidden = true;
    },
  };
}

function timeWords(seconds) {
  if (seconds < 60) return `about ${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `about ${Math.round(seconds / 60)} min`;
  return `about ${(seconds / 3600).toFixed(1)} h`;
}
