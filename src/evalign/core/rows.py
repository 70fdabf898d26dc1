"""Make rows from parallel lists; each mistake in them is reported in one sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evalign.core import Row
from evalign.errors import InputError, LengthMismatchError, described


def make_rows(
    candidates: Iterable[str],
    references: Iterable[str] | Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    ids: Iterable[str] | None = None,
) -> list[Row]:
    """Make rows from lists, tuples, arrays or pandas columns; `references` may be ragged."""
    texts = _texts("candidates", candidates)
    groups = [()] * len(texts) if references is None else _reference_groups(references, len(texts))
    origins = None if sources is None else _texts("sources", sources)
    names = [str(index + 1) for index in range(len(texts))] if ids is None else [str(name) for name in ids]
    for what, values in (("sources", origins), ("ids", names)):
        if values is not None and len(values) != len(texts):
            raise LengthMismatchError(f"{len(texts)} candidates but {len(values)} {what}; they must run in parallel")
    return [Row(names[i], texts[i], groups[i], None if origins is None else origins[i]) for i in range(len(texts))]


def checked_rows(rows: Iterable[Row]) -> list[Row]:
    """Return rows as a list; raise InputError for anything that is no row."""
    checked = [rows] if isinstance(rows, str) or not isinstance(rows, Iterable) else list(rows)
    for index, row in enumerate(checked):
        if not isinstance(row, Row):
            raise InputError(f"rows[{index}]: expected an evalign.Row, found {described(row)}")
    return checked


def _reference_groups(references: Iterable[Any], count: int) -> list[tuple[str, ...]]:
    if isinstance(references, str):
        raise InputError("references is one string; pass a list with one entry per candidate")
    groups = [
        (entry,) if isinstance(entry, str) else _texts(f"references[{i}]", entry) for i, entry in enumerate(references)
    ]
    if len(groups) != count:
        if groups and all(len(group) == count for group in groups) and len(groups[0]) > 1:
            raise LengthMismatchError(
                f"{count} candidates but {len(groups)} entries in references, each as long as the candidates: "
                "these are transposed (one list per reference set); pass list(zip(*references))"
            )
        raise LengthMismatchError(f"{count} candidates but {len(groups)} references; they must run in parallel")
    for index, group in enumerate(groups):
        if not group:
            raise InputError(f"references[{index}] is empty; every candidate needs at least one reference")
    return [tuple(group) for group in groups]


def _texts(what: str, values: Any) -> list[str]:
    if isinstance(values, str):
        raise InputError(f"{what} is one string; pass a list of strings")
    try:
        texts = list(values)
    except TypeError:
        raise InputError(f"{what}: expected strings, found {type(values).__name__}") from None
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{what}[{index}]: expected a string, found {type(text).__name__}")
    return texts
