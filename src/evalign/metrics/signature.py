"""Signatures: `bertscore|model:all-MiniLM-L6-v2@53aa5117|layer:4|...|v:0.2.0`, printed with every number.

They parse back to an equal value; `evalign.metric` accepts one and rebuilds the metric it describes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from evalign.errors import SpecError

SAFE = " @+/=.,-_()[]~"  # everything else that could be taken for '|' or ':' is percent-encoded
REFERENCES = "nrefs"  # the one entry of a signature that depends on the rows: how many references each has


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
        """The value that prints as `text`."""
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


def common_signature(signatures: Sequence[str]) -> str:
    """The signature of all rows, as if they had been scored at once: numbers of references that differ are `var`."""
    parsed = [Signature.parse(signature) for signature in dict.fromkeys(signatures)]
    counts = {part.settings[REFERENCES] for part in parsed if REFERENCES in part.settings}
    if len({(part.name, *(item for item in part.settings.items() if item[0] != REFERENCES)) for part in parsed}) > 1:
        raise SpecError(f"the parts of a result have different signatures: {' and '.join(map(str, parsed))}")
    whole = max(parsed, key=lambda part: len(part.settings))  # one that has not seen a row does not count references
    count = {REFERENCES: counts.pop() if len(counts) == 1 else "var"} if counts else {}
    return str(Signature(whole.name, {**whole.settings, **count}))
