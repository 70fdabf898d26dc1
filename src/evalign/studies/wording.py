"""Numbers as the words of a page: values, percents, changes and lists."""

from __future__ import annotations

from collections.abc import Sequence

SAME = 5e-4  # what three decimals do not show is no change


def number(value: float | None, digits: int = 3) -> str:
    """A value as tables show it; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share in whole percents; one decimal where whole ones would say none or all."""
    near_end = 0 < share < 0.005 or 0.995 < share < 1
    return f"{100 * share:.{1 if near_end else 0}f} %"


def moved(before: float, after: float) -> str:
    """`rises from 0.100 to 0.200`."""
    if abs(after - before) < SAME or number(before) == number(after):
        return f"stays at {number(after)}"
    return f"{'rises' if after > before else 'falls'} from {number(before)} to {number(after)}"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; a name with a comma of its own is quoted."""
    shown = [f"“{name}”" if "," in name else name for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"
