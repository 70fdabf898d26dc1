"""Metric options as dataclass fields, and parsers of their values from specs and Python.

Execution options (threads, device, batch size) cannot change a number: they are accepted, but neither compared nor
printed, so two metrics that differ only in them are equal.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Collection
from typing import Any

from evalign.errors import SpecError, nearest

OPTIONS_HEADING = "\n\nOptions:"


def option(
    default: Any,
    about: str,
    choices: Collection[str] | Callable[[], Collection[str]] = (),
    parse: Callable[[Any], Any] | None = None,
    least: int | None = None,
    rename: Callable[[str], str] = str,
) -> Any:
    """Declare an option of a metric.

    Args:
        default: Value if the option is not given; it also decides the type.
        about: One line of help.
        choices: All values, if they are few, or a function that returns them.
        parse: Function that reads a value; by default values are read as the type of `default`.
        least: Smallest number allowed.
        rename: Function that maps aliases of a value to its printed name.
    """
    metadata = {"about": about, "choices": choices, "parse": parse, "least": least, "rename": rename}
    return dataclasses.field(default=default, metadata=metadata)


def execution_option(default: Any, about: str, choices: Collection[str] = ()) -> Any:
    """Declare an option that cannot change a number, such as `threads`: it is neither compared nor printed."""
    return dataclasses.field(default=default, compare=False, metadata={"about": about, "choices": choices})


def option_choices(item: dataclasses.Field[Any]) -> Collection[str]:
    """Return all values of an option, if they are few; else nothing."""
    choices = item.metadata.get("choices", ())
    values: Collection[str] = choices() if callable(choices) else choices
    return values


def option_fields(metric: Any) -> list[dataclasses.Field[Any]]:
    """Return the options of a metric or its class; not RougeN's `n`, which the metric's name sets (rouge2)."""
    return [item for item in dataclasses.fields(metric) if "about" in item.metadata]


def with_options(metric_class: type) -> str:
    """Return the docstring of a metric class with a list of its options: name, default, meaning.

    Args:
        metric_class: Class whose fields may not have been collected by `dataclass` yet.
    """
    options: dict[str, dataclasses.Field[Any]] = {}
    for base in reversed(metric_class.__mro__):
        options |= {item.name: item for item in getattr(base, "__dataclass_fields__", {}).values()}
        options |= {name: item for name, item in vars(base).items() if isinstance(item, dataclasses.Field)}
    lines = [
        f"    {name} ({_default_code(item)}): {item.metadata['about']}{_choices_text(item)}"
        for name, item in options.items()
        if "about" in item.metadata
    ]
    about = inspect.cleandoc(vars(metric_class).get("__doc__") or "").partition(OPTIONS_HEADING)[0]
    return about.rstrip() + OPTIONS_HEADING + "\n" + "\n".join(lines) if lines else about


def _default_code(item: dataclasses.Field[Any]) -> str:
    return "tuned for the model" if item.name == "layer" and item.default is None else repr(item.default)


def _choices_text(item: dataclasses.Field[Any]) -> str:
    choices = item.metadata.get("choices", ())
    return f" [{', '.join(choices)}]" if choices and not callable(choices) else ""


def default_text(item: dataclasses.Field[Any]) -> str:
    """Return an option's default as tables print it; a layer that is not given is the one tuned for the model."""
    if item.default is None:
        return "tuned" if item.name == "layer" else ""
    return written(item.default)


def number_or_text(value: Any) -> int | str | None:
    """Read a layer: 5 and "5" become an int, "4+6" and "last" stay text, as do numbers of six or more digits."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    text = written(value)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else text


def whole_number_within(name: str, least: int, most: int) -> Callable[[Any], int | None]:
    """Return a reader of an option that is a whole number from `least` to `most`, or not given."""

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
    """Return a reader of an option that is a number from `least` to `most`, or not given."""

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
    """Read a switch that may also name a file: true, false, or a path."""
    return {"true": True, "false": False}.get(str(value).lower(), str(value))


def coerced(item: dataclasses.Field[Any], value: Any) -> Any:
    """Read an option's value from a spec's string or a Python value, as the type of its default."""
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
            expected = "a whole number" if isinstance(item.default, int) else "a number"
            raise SpecError(f"{item.name}={value}: expected {expected}") from None
        least = item.metadata.get("least")
        if least is not None and number < least:
            raise SpecError(f"{item.name}={value}: expected a whole number of at least {least}")
        return number
    text = None if value is None else item.metadata.get("rename", str)(written(value))
    choices = option_choices(item)
    if choices and text not in choices:
        raise SpecError(f"{item.name}={text}: {nearest(str(text), choices)}")
    return text


def written(value: Any) -> str:
    """Write a value as specs do."""
    return str(value).lower() if isinstance(value, bool) else str(value)
