// The word in focus: the one with the keyboard's focus, else the pinned one, else the one under the pointer. Follows the
// events of stage and heatmap, announces the focus in the status region, and scrolls its partner into view.

import { announce } from "../shared/dom.js";
import { cardChosen, cardSentence } from "./card.js";
import { linesOf, otherSide } from "./match_facts.js";
import { pairPinned } from "./state.js";

/**
 * A focus {side, index, other}, `other` being a unit of the other text or null. The host gives grid(), facts(),
 * stage(), pinned() and setPinned(token), repaint() for the next frame, changed() when the state has changed.
 */
export class PairFocus {
  constructor(host) {
    this.host = host;
    this.clear();
  }

  clear() {
    this.hovered = this.keyed = null;
  }

  current() {
    return this.keyed ?? this.pinned() ?? this.hovered;
  }

  pinned() {
    return pairPinned(this.host.grid(), this.host.pinned());
  }

  /** Whether the card shows a word because it is pinned. */
  shownPinned() {
    return this.keyed === null && this.host.pinned() !== null;
  }

  hover(side, index, other = null) {
    this.hovered = { side, index, other };
    this.keyed = null;
    this.host.repaint();
  }

  leave() {
    this.hovered = null;
    this.host.repaint();
  }

  blur() {
    this.keyed = null;
    this.host.repaint();
  }

  key(side, index, other = null) {
    this.keyed = { side, index, other };
    this.hovered = null;
    announce(cardSentence(this.host.grid(), this.host.facts(), this.keyed));
    this.reveal(this.keyed);
    this.host.repaint();
  }

  /** Pins a word or a pair of words; a second time unpins it. */
  pin(side, index, other = null) {
    const now = this.pinned();
    const same = now && now.side === side && now.index === index && now.other === other;
    const token = (of, place) => this.host.grid().units[of][place].tokens[0];
    const more = other === null ? {} : { other: token(otherSide(side), other) };
    this.host.setPinned(same ? null : { side, token: token(side, index), ...more });
    const focus = { side, index, other };
    announce(same ? "Unpinned" : `Pinned: ${cardSentence(this.host.grid(), this.host.facts(), focus)}`);
    if (!same) this.reveal(focus);
    this.host.repaint();
    this.host.changed();
  }

  /** Unpins the pinned word, else ends the keyboard's focus. */
  escape() {
    if (this.host.pinned()) {
      this.host.setPinned(null);
      announce("Unpinned");
      this.host.changed();
    } else {
      this.keyed = null;
    }
    this.host.repaint();
  }

  goToPartner(side, index) {
    const partner = this.partnerOf({ side, index, other: null });
    if (partner !== null) this.goTo(otherSide(side), partner);
  }

  goTo(side, index) {
    this.host.stage().focusUnit(side, index);
    this.key(side, index);
  }

  /** The best partner it chose, else the best that chose it, else the most similar unit. */
  partnerOf({ side, index, other }) {
    if (other !== null) return other;
    const view = this.host.facts();
    const line = cardChosen(view, side, index)[0] ?? linesOf(view, side, index).at(-1);
    return line ? line[otherSide(side)] : (this.host.grid().nearest(side, index)[0]?.index ?? null);
  }

  reveal(focus) {
    const partner = this.partnerOf(focus);
    if (partner !== null) this.host.stage().reveal(otherSide(focus.side), partner);
    this.host.stage().reveal(focus.side, focus.index);
  }
}
