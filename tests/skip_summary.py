"""One line on what a run of the tests did not check: why, and how many tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def not_checked(reasons: Iterable[str]) -> str:
    """The reasons of skipped tests, the most frequent first, with how often each was given."""
    counts = Counter(" ".join(reason.removeprefix("Skipped: ").split()) for reason in reasons)
    if not counts:
        return "Not checked here: nothing. No test was skipped."
    groups = [f"{count} test{'s' * (count > 1)} ({reason})" for reason, count in counts.most_common()]
    return f"Not checked here: {'; '.join(groups)}."
