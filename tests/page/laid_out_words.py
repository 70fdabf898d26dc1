"""How wide words are on the page: in the spans of their tokens, and in one piece, which joined letters must keep."""

import pytest

LAYOUT_UNIT = 1 / 64  # pixels; to this the browser rounds where a box begins and ends, whatever font is in it

# Widths of every word of an element laid out in spans, and of the same word in one piece: [spans, width apart, whole].
WIDTHS = """(text) => {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const words = [];
  let open = null;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".special") || /^\\s+$/.test(node.data)) { open = null; continue; }
    if (!open) words.push((open = []));
    open.push(node);
  }
  const range = document.createRange();
  return words.map((nodes) => {
    range.setStartBefore(nodes[0]);
    range.setEndAfter(nodes.at(-1));
    const whole = document.createElement("span");
    whole.style.cssText = "position: absolute; white-space: nowrap";
    whole.textContent = nodes.map((node) => node.data).join("");
    text.append(whole);
    const sizes = [nodes.length, range.getBoundingClientRect().width, whole.getBoundingClientRect().width];
    whole.remove();
    return sizes;
  });
}"""


def assert_letters_stay_joined(locator):
    """Every word of an element is as wide in its spans as in one piece; special tokens are left out."""
    measured = locator.evaluate(WIDTHS)
    assert max(spans for spans, _, _ in measured) > 2  # tokens inside a word, else nothing is tested
    for spans, apart, whole in measured:
        assert apart == pytest.approx(whole, abs=spans * LAYOUT_UNIT)
