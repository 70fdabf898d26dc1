// How the pair view lies on the page: notices above, the picture first, beside it scores, matchings and card, the rest
// below. In: the elements of each part. Out: one element; the style sheet decides what stands beside what.

import { el } from "../shared/dom.js";

/** The view's element; `parts` has lists of elements: notices, first, aside, below. */
export function pairLayout({ meaningless }, { standalone }, parts) {
  return el(
    "div",
    { class: `pair${meaningless ? " meaningless" : ""}` },
    standalone ? el("h1", { text: "Token matches" }) : null,
    meaningless ? el("p", { class: "pair-notice", role: "note", text: meaningless }) : null,
    ...parts.notices,
    el(
      "div",
      { class: "pair-main" },
      el("div", { class: "pair-first" }, ...parts.first),
      el("div", { class: "pair-aside" }, ...parts.aside),
      el("div", { class: "pair-more" }, ...parts.below),
    ),
  );
}

/** The options behind a fold of their own, or, where the page has one, in its `place`: then null. */
export function foldedOptions(controls, place) {
  if (!place) return el("details", { class: "pair-options" }, el("summary", { text: "Options" }), controls);
  place.replaceChildren(controls);
  return null;
}
