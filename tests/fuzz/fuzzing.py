"""What the fuzz tests share: the number of examples, strategies of broken values, and limits of memory and time.

Rubbish in: every reader of foreign input gives a value that makes sense or an EvalignError, and soon. Tests fail both
ways: what is good by rules that are written out in the test is read as what it says, and what is bad is refused.
"""

from __future__ import annotations

import copy
import json
import re
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from evalign.errors import EvalignError

CPU_SECONDS = 60  # of one example: a hundred times what any needs
MESSAGE_CHARACTERS = 1500
NESTED = "[" * 100_000

any_text = st.text(st.characters(exclude_categories=()), max_size=40)
decoded = st.one_of(
    st.tuples(st.binary(max_size=60), st.sampled_from(["latin-1", "cp437", "utf-16-le", "utf-8", "utf-32-le"])).map(
        lambda drawn: drawn[0].decode(drawn[1], "replace")
    ),
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.binary(max_size=60).map(lambda raw: raw[: len(raw) // 2 * 2].decode("utf-16-le", "surrogatepass")),
)
numbers = st.one_of(
    st.integers(-3, 9), st.integers(), st.floats(), st.sampled_from([2**31, 2**63, 2**64, 10**30, -1, 0.0, 1e308])
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, any_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(any_text, inner, max_size=4)),
    max_leaves=8,
)


def examples(hundreds: float) -> settings:
    """Return settings for `hundreds` times a hundred examples; the profile "fresh" has several times as many."""
    return settings(
        max_examples=round(hundreds * settings().max_examples),
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


fuzz = examples(4)


@contextmanager
def little_memory(limit: int = 64 * 2**20) -> Iterator[None]:
    """Fail if Python allocates more inside the block."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail if the block takes a minute of processor time, however busy the machine is."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def fail(_number: int, _frame: object) -> None:
        raise AssertionError(f"more than {CPU_SECONDS} s of processor time")

    previous = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def value_or_sentence(read: Callable[[], Any]) -> Any:
    """Return what `read` returns, or None if it raises an EvalignError, whose message must be one short sentence."""
    with no_hang():
        try:
            return read()
        except EvalignError as error:
            message = str(error)
    assert "\n" not in message
    assert len(message) < MESSAGE_CHARACTERS
    return None


# Mutations of JSON ---------------------------------------------------------------------------------------------

MAX_DEPTH = 3000
deep = st.integers(1, MAX_DEPTH).map("@nested {}@".format)  # replaced by `dumped`, since json.dumps would recurse


def dumped(document: Any) -> str:
    """Return a document as JSON, also with NaN, lone surrogates and the values of `deep`."""
    return re.sub(r'"@nested (\d+)@"', lambda found: "[" * int(found[1]) + "]" * int(found[1]), json.dumps(document))


@st.composite
def mutated(draw: st.DrawFn, document: Any, values: st.SearchStrategy[Any] = json_values) -> Any:
    """Draw a document with one to three changes: a part is replaced, removed, renamed, repeated, or copied."""
    changed = {"": copy.deepcopy(document)}
    for _ in range(draw(st.integers(1, 3))):
        parent, key = _part(draw, changed)
        kind = draw(st.sampled_from(["replace", "replace", "remove", "rename", "copy", "edit"]))
        if kind == "replace" or parent is changed:
            parent[key] = draw(st.one_of(values, values, deep))
        elif kind == "remove":
            del parent[key]
        elif kind == "rename" and isinstance(parent, dict):
            parent[draw(any_text)] = parent.pop(key)
        elif kind == "copy":
            source, name = _part(draw, changed)
            parent[key] = copy.deepcopy(source[name])
        else:
            parent[key] = _edited(draw, parent[key])
    return changed.get("")


def _part(draw: st.DrawFn, document: Any) -> tuple[Any, Any]:
    """Draw a container and one of its keys, each level with the same chance to be the last."""
    parent, key = document, ""
    while isinstance(parent[key], dict | list) and parent[key] and draw(st.integers(0, 3)):
        parent = parent[key]
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        key = keys[draw(st.integers(0, len(keys) - 1))]
    return parent, key


def _edited(draw: st.DrawFn, value: Any) -> Any:
    if isinstance(value, str):
        start = draw(st.integers(0, len(value)))
        return value[:start] + draw(any_text) + value[start + draw(st.integers(0, 3)) :]
    if isinstance(value, list) and value:
        return value * draw(st.sampled_from([2, 2, 100]))
    if isinstance(value, int | float):
        return draw(st.sampled_from([value + 1, value - 1, -value, value * 1000, not value, str(value), float(value)]))
    return draw(json_values)


# Mutations of bytes --------------------------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn, raw: bytes, marks: st.SearchStrategy[bytes] | None = None) -> bytes:
    """Draw bytes with one to four changes: cut out, put in, repeated, or cut short."""
    inserts = st.binary(max_size=4) if marks is None else st.one_of(marks, st.binary(max_size=4))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        stop = min(len(raw), start + draw(st.sampled_from([0, 0, 1, 2, 8, 40])))
        kind = draw(st.sampled_from(["replace", "replace", "repeat", "cut"]))
        if kind == "repeat":
            raw = raw[:stop] + raw[start:stop] * draw(st.integers(1, 3)) + raw[stop:]
        elif kind == "cut":
            raw = raw[:start]
        else:
            raw = raw[:start] + draw(inserts) + raw[stop:]
    return raw
