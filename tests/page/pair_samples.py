"""Alignments and their exported files for the tests of the pair view; the fake model is there on every machine."""

from evalign.core.registry import metric
from evalign.encoders.fake import FakeEncoder
from evalign.metrics.all_matchings import align_all
from evalign.render.documents import alignment_document
from evalign.render.export import write_html
from evalign.text.idf import IDFTable

FAKE = "bertscore(model=fake)"
CANDIDATE = "The old bridge was closed after cracks were found in the old stone."
REFERENCE = "Cracks were found, so the bridge was shut; nobody may cross the river."
LINES = "document.getElementById('view').evalignLines()"

# Every end of a drawn line that does not lie on the edge of its word, within a pixel. The end of a line whose word is
# scrolled out of sight must lie inside the pane, above or below which the word is.
MISPLACED = """() => {
  const onEdge = ({ x, y }, box) => x > box.left - 1 && x < box.right + 1 && y > box.top - 1 && y < box.bottom + 1
    && Math.min(...[x - box.left, box.right - x, y - box.top, box.bottom - y].map(Math.abs)) < 1;
  const outOfSight = ({ x, y, hidden }, rects, pane) => y > pane.top && y < pane.bottom
    && (hidden < 0 ? rects[0].top < pane.top : rects.at(-1).bottom > pane.bottom)
    && rects.some((box) => x > box.left - 1 && x < box.right + 1);
  const wrong = [];
  const lines = document.getElementById("view").evalignLines();
  for (const line of lines) for (const side of ["candidate", "reference"]) {
    const end = line[side];
    const word = document.querySelector(`[data-side=${side}][data-unit="${end.unit}"]`);
    const rects = [...word.getClientRects()];
    const pane = word.closest(".pair-pane").getBoundingClientRect();
    if (end.hidden ? !outOfSight(end, rects, pane) : !rects.some((box) => onEdge(end, box)))
      wrong.push([side, end, rects.map((box) => [box.left, box.top, box.right, box.bottom])]);
  }
  return { lines: lines.length, wrong };
}"""


def pair_file(folder, candidate=CANDIDATE, reference=REFERENCE, spec=FAKE, idf=False, every=True):
    """An exported file of all matchings, or of the metric's own: (path, alignments by name, document)."""
    weights = _weights() if idf else None
    found = align_all(metric(spec), candidate, reference, weights, only_first=not every)
    document = alignment_document(found.alignments, found.skipped, spec, packed=True)
    file = folder / "pair.html"
    write_html(document, file)
    return file, found.alignments, document


def words(count, seed):
    """A text of that many words, each from a small vocabulary."""
    stock = [f"{first}{second}" for first in ("ba", "de", "fi", "go", "ku") for second in ("lan", "mor", "nis", "ret")]
    return " ".join(stock[(seed * place * place + place) % len(stock)] for place in range(count))


def unit(page, side, index):
    """One word of a text."""
    return page.locator(f'[data-side="{side}"][data-unit="{index}"]')


def facts(page, name):
    """The numbers of that name on the card."""
    return page.locator(f'.pair-card [data-fact="{name}"]').all_inner_texts()


def unfold(page):
    """Opens the folded options and the less common matchings."""
    page.locator(".pair-options, .pair-more-matchings, #options").evaluate_all(
        "(folds) => folds.forEach((one) => { one.open = true; })"
    )


def choose(page, matching):
    """Switches the matching."""
    unfold(page)
    page.locator(f'.pair-matchings input[value="{matching}"]').check()


def settle(page):
    """Until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _weights():
    texts = [CANDIDATE, REFERENCE, "The river was old.", "Nobody was in the house; it was closed."]
    return IDFTable.count("fake", [tokens.ids for tokens in FakeEncoder().tokenize(texts)])
