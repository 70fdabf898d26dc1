"""Specs, which name a metric, and signatures, which pin the numbers it gave.

A spec is `name` or `name(key=value, ...)`, the same in Python, on the command line and in results. A signature is
`bertscore|model:all-MiniLM-L6-v2@40bc2228|layer:4|...|v:0.2.0`; `evalign.metric` reads both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from evalign.errors import SpecError

NAME = re.compile(r"\s*([A-Za-z][\w-]*)\s*")
KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
BARE = re.compile(r'[^\s,()="\\]+')
BARE_VALUE = re.compile(rf"({BARE.pattern})\s*")
SAFE = " @+/=.,-_()[]~"  # everything else that could be taken for '|' or ':' is percent-encoded
REFERENCES = "nrefs"  # references per row; the only entry of a signature that depends on the rows


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Parse a spec into the metric's name and its options as text."""
    named = NAME.match(spec)
    if named is None:
        raise SpecError(f"metric {spec!r}: expected name or name(key=value, ...)")
    name, position = named.group(1), named.end()
    if position == len(spec):
        return name, {}
    if spec[position] != "(":
        raise _broken(spec, position, "expected '(' or the end")
    options: dict[str, str] = {}
    position += 1
    while not spec[position:].strip().startswith(")"):
        key = KEY.match(spec, position)
        if key is None:
            raise _broken(spec, position, "expected key=value")
        value = QUOTED.match(spec, key.end()) or BARE_VALUE.match(spec, key.end())
        if value is None:
            raise _broken(spec, key.end(), 'expected a number, true, false, a word or a "quoted string"')
        if key.group(1) in options:
            raise _broken(spec, position, f"{key.group(1)} is given twice")
        raw = value.group(1)
        options[key.group(1)] = re.sub(r"\\(.)", r"\1", raw) if spec[key.end()] == '"' else raw
        position = value.end()
        if spec[position : position + 1] == ",":
            position += 1
        elif spec[position : position + 1] != ")":
            raise _broken(spec, position, "expected ',' or ')'")
    if spec[spec.index(")", position) + 1 :].strip():
        raise _broken(spec, spec.index(")", position) + 1, "nothing may follow ')'")
    return name, options


def format_spec(name: str, options: Mapping[str, str]) -> str:
    """Return the shortest spec that parses back to these options."""
    if not options:
        return name
    return f"{name}({', '.join(f'{key}={_written(value)}' for key, value in options.items())})"


@dataclass(frozen=True)
class Signature:
    """A metric's name and the settings that decide its numbers, in order."""

    name: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        quoted = {key: quote(value, safe=SAFE, errors="surrogatepass") for key, value in self.settings.items()}
        return "|".join([self.name, *(f"{key}:{value}" for key, value in quoted.items())])

    def __getitem__(self, key: str) -> str:
        if key not in self.settings:
            raise SpecError(f"signature {self}: {key!r} is missing, which {self.name} prints")
        return self.settings[key]

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Parse a signature as it is printed."""
        name, *parts = text.split("|")
        settings = {}
        for part in parts:
            key, colon, value = part.partition(":")
            if not colon or not key or key in settings:
                raise SpecError(f"signature {text!r}: {part!r} is not one key:value")
            try:
                settings[key] = unquote(value, errors="surrogatepass")
            except UnicodeDecodeError:
                raise SpecError(f"signature {text!r}: the %-escapes of {value!r} are no text") from None
        return cls(name, settings)


def common_signature(signatures: Sequence[str], may_differ: bool = False) -> str:
    """Return the signature of all parts together; differing numbers of references become `var`.

    Other settings that differ become `var` too if `may_differ`, and are an error otherwise.
    """
    parsed = [Signature.parse(signature) for signature in dict.fromkeys(signatures)]
    counts = {part.settings[REFERENCES] for part in parsed if REFERENCES in part.settings}
    if may_differ:
        parsed = _with_var(parsed)
    if len({(part.name, *(item for item in part.settings.items() if item[0] != REFERENCES)) for part in parsed}) > 1:
        raise SpecError(f"the parts of a result have different signatures: {' and '.join(map(str, parsed))}")
    whole = max(parsed, key=lambda part: len(part.settings))  # the signature of a part without rows lacks nrefs
    count = {REFERENCES: counts.pop() if len(counts) == 1 else "var"} if counts else {}
    return str(Signature(whole.name, {**whole.settings, **count}))


def _with_var(parts: Sequence[Signature]) -> list[Signature]:
    """Return the signatures with `var` for every setting in which those that have it differ."""
    values: dict[str, set[str]] = {}
    for part in parts:
        for key, value in part.settings.items():
            values.setdefault(key, set()).add(value)
    varying = {key: "var" for key, different in values.items() if len(different) > 1 and key != REFERENCES}
    settings = ({key: varying.get(key, value) for key, value in part.settings.items()} for part in parts)
    return [Signature(part.name, common) for part, common in zip(parts, settings, strict=True)]


def _written(value: str) -> str:
    if BARE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _broken(spec: str, position: int, expected: str) -> SpecError:
    return SpecError(f"metric {spec!r}: {expected} at position {position + 1}")
