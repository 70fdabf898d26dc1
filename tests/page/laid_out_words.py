"""How wide words are on the page: in the spans of their tokens, and in one piece, which joined letters must keep."""

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
    whole.textContent = nodes.map((node) => node.data).join("");
    text.append(whole);
    const sizes = [nodes.length, range.getBoundingClientRect().width, whole.getBoundingClientRect().width];
    whole.remove();
    return sizes;
  });
}"""


def word_widths(locator):
    """Of every word of an element; special tokens are left out."""
    return locator.evaluate(WIDTHS)
