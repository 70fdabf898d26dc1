"""Options of metrics: what a spec or a keyword may say, and which options only say how a metric is run.

`option` declares one as a dataclass field. Options of execution (threads, device, batch size) cannot change a number:
they are accepted, but neither compared nor printed, so two metrics that differ only in them are equal.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from evalign.errors import SpecError, nearest


def option(
    default: Any,
    about: str,
    choices: Collection[str] = (),
    parse: Callable[[Any], Any] | None = None,
    least: int | None = None,
    rename: Callable[[str], str] = str,
) -> Any:
    """A metric's option: its default, one line of help, its values if they are few, how it is read, and its minimum.

    `rename` turns other names of a value into the one that is printed.
    """
    metadata = {"about": about, "choices": choices, "parse": parse, "least": least, "rename": rename}
    return dataclasses.field(default=default, metadata=metadata)


def execution_option(default: Any, about: str, choices: Collection[str] = ()) -> Any:
    """An option that says how a metric is run: no part of its identity, its spec or its tables."""
    return dataclasses.field(default=default, compare=False, metadata={"about": about, "choices": choices})


def option_fields(metric: Any) -> list[dataclasses.Field[Any]]:
    """The fields of a metric or its class that a spec sets by their names: not RougeN's `n`, which is in its own."""
    return [item for item in dataclasses.fields(metric) if "about" in item.metadata]


def default_text(item: dataclasses.Field[Any]) -> str:
    """An option's default for tables: a layer that is not given is the one tuned for the model."""
    if item.default is None:
        return "tuned" if item.name == "layer" else ""
    return written(item.default)


def number_or_text(value: Any) -> int | str | None:
    """A layer: `5` and "5" are the number, `4+6` and `last` stay text, and so do digits that no layer has."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    text = written(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else text


def whole_number_within(name: str, least: int, most: int) -> Callable[[Any], int | None]:
    """How an option is read that is a whole number between two others, or not given."""

    def parse(value: Any) -> int | None:
        if value is None:
            return None
        text = written(value)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
        if not least <= number <= most:
            raise SpecError(f"{name}={text}: expected a whole number from {least} to {most:,}")
        return number

    return parse


def number_within(name: str, least: float, most: float) -> Callable[[Any], float | None]:
    """The same for any number."""

    def parse(value: Any) -> float | None:
        if value is None:
            return None
        try:
            number = float(written(value))
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise SpecError(f"{name}={written(value)}: expected a number from {least:g} to {most:,g}")
        return number

    return parse


def flag_or_text(value: Any) -> bool | str:
    """A switch that may also name a file: true, false, or a path."""
    return {"true": True, "false": False}.get(str(value).lower(), str(value))


def coerced(item: dataclasses.Field[Any], value: Any) -> Any:
    """An option's value: spec strings and Python values alike become what its default is an example of."""
    if item.metadata.get("parse"):
        return item.metadata["parse"](value)
    if isinstance(item.default, bool):
        flag = flag_or_text(value)
        if not isinstance(flag, bool):
            raise SpecError(f"{item.name}={value}: expected true or false")
        return flag
    if isinstance(item.default, (int, float)):
        try:
            number = type(item.default)(str(value))
        except ValueError:
            kind = "a whole number" if isinstance(item.default, int) else "a number"
            raise SpecError(f"{item.name}={value}: expected {kind}") from None
        least = item.metadata.get("least")
        if least is not None and number < least:
            raise SpecError(f"{item.name}={value}: expected a whole number of at least {least}")
        return number
    text = None if value is None else item.metadata.get("rename", str)(written(value))
    choices = item.metadata.get("choices", ())
    if choices and text not in choices:
        raise SpecError(f"{item.name}={text}: {nearest(str(text), choices)}")
    return text


def written(value: Any) -> str:
    """A value as specs write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class MetricType(ABCMeta):
    """The type of metric classes: constructors take former option names too (`former_options`)."""

    former_options: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # type checkers see the dataclass' own constructor

        def __call__(cls, *args: Any, **options: Any) -> Any:
            """The metric with these options, under whichever of their names."""
            return super().__call__(*args, **cls.current_names(options))

    def current_names(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options under their present names."""
        current: dict[str, Any] = {}
        for key, value in options.items():
            name = cls.former_options.get(key, key)
            if name in current:
                raise SpecError(f"{name} is given twice, under its present and its former name")
            current[name] = value
        return current
