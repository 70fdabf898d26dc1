"""Signatures: `bertscore|model:all-MiniLM-L6-v2@53aa5117|layer:4|...|v:0.1.0`, printed with every number.

They parse back to an equal value; `evalign.metric` accepts one and rebuilds the metric it describes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from evalign.errors import SpecError

SAFE = " @+/=.,-_()[]~"  # everything else that could be taken for '|' or ':' is percent-encoded


@dataclass(frozen=True)
class Signature:
    """A metric's name and the settings that decide its numbers, in order."""

    name: str
    settings: Mapping[str, str]

    def __str__(self) -> str:
        return "|".join(
            [
                self.name,
                *(f"{key}:{quote(value, safe=SAFE, errors='surrogatepass')}" for key, value in self.settings.items()),
            ]
        )

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
