"""Log-probabilities of a tiny random BART and their exported files, for the tests of the likelihood view."""

from evalign.metrics.bartscore import BARTScore

# Texts that the tiny vocabulary cuts into tokens with characters of their own, each of which is a place on the page.
CANDIDATE = "The old bridge was closed after cracks were found at the old stone."
REFERENCE = "Cracks were found, so the bridge was shut; the way over the river was closed."


def likelihood_file(model, file, candidate=CANDIDATE, reference=REFERENCE, **options):
    """Writes an exported file; returns the value behind it."""
    found = BARTScore(model=str(model), threads=1, **options).likelihoods(candidate, reference)
    found.to_html(file)
    return found


def token(page, index):
    """One token (or several with the same characters) of the predicted text."""
    return page.locator(f'[data-unit="{index}"]')


def fact(page, name):
    """A number on the card."""
    return page.locator(f'.pair-card [data-fact="{name}"]').inner_text()


def settle(page):
    """Until what was asked for is drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
