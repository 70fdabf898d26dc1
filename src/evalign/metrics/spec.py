"""Spec strings: `name` or `name(key=value, ...)`, the same in Python, on the command line and in results."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evalign.errors import SpecError

NAME = re.compile(r"\s*([A-Za-z][\w-]*)\s*")
KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
BARE = re.compile(r'[^\s,()="\\]+')
BARE_VALUE = re.compile(rf"({BARE.pattern})\s*")


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Name and options as written; what the values mean is the metric's business."""
    named = NAME.match(spec)
    if named is None:
        raise SpecError(f"metric {spec!r}: expected name or name(key=value, ...)")
    name, place = named.group(1), named.end()
    if place == len(spec):
        return name, {}
    if spec[place] != "(":
        raise _broken(spec, place, "expected '(' or the end")
    options: dict[str, str] = {}
    place += 1
    while not spec[place:].strip().startswith(")"):
        key = KEY.match(spec, place)
        if key is None:
            raise _broken(spec, place, "expected key=value")
        value = QUOTED.match(spec, key.end()) or BARE_VALUE.match(spec, key.end())
        if value is None:
            raise _broken(spec, key.end(), 'expected a number, true, false, a word or a "quoted string"')
        if key.group(1) in options:
            raise _broken(spec, place, f"{key.group(1)} is given twice")
        raw = value.group(1)
        options[key.group(1)] = re.sub(r"\\(.)", r"\1", raw) if spec[key.end()] == '"' else raw
        place = value.end()
        if spec[place : place + 1] == ",":
            place += 1
        elif spec[place : place + 1] != ")":
            raise _broken(spec, place, "expected ',' or ')'")
    if spec[spec.index(")", place) + 1 :].strip():
        raise _broken(spec, spec.index(")", place) + 1, "nothing may follow ')'")
    return name, options


def format_spec(name: str, options: Mapping[str, str]) -> str:
    """The shortest spec that parses back to these options."""
    if not options:
        return name
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in options.items())})"


def _written(value: str) -> str:
    if BARE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _broken(spec: str, place: int, expected: str) -> SpecError:
    return SpecError(f"metric {spec!r}: {expected} at position {place + 1}")
