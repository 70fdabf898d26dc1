"""Exceptions of evalign, and the exit code of the command line.

    EvalignError                    exit code 2, one sentence, no traceback
    ├── InputError                  texts or rows that cannot be scored
    │   ├── LengthMismatchError     candidates and references of different lengths
    │   ├── FileFormatError         a file that cannot be read; names the file and the line
    │   ├── UndefinedStatisticError a statistic without a value: constant scores, too few rows
    │   └── TextTooLongError        overlong=error, or a matrix too large to draw
    ├── SpecError                   unknown metric or option, invalid spec or signature
    ├── ModelError                  an encoder that cannot be used
    │   ├── ModelNotFoundError      missing weights, and how to get them
    │   ├── WeightsError            damaged file, wrong digest, missing tensor
    │   ├── UnsupportedModelError   a family that this backend does not build
    │   └── LayerError              a layer that the model does not have
    ├── TableError                  an IDF or baseline table that does not fit
    └── MissingExtraError           a missing optional dependency; has the install command

Every message names the argument, the expected and the actual value, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EvalignError(Exception):
    """Base of all errors raised on purpose by evalign."""


class InputError(EvalignError):
    """The texts or rows passed in cannot be scored."""


class LengthMismatchError(InputError):
    """Candidates, references, sources or ids have different lengths."""


class FileFormatError(InputError):
    """A file does not have the expected format."""


class UndefinedStatisticError(InputError):
    """A statistic has no value on valid numbers: they are constant, or too few."""


class TextTooLongError(InputError):
    """A text is longer than the model reads, and the caller asked for an error."""


class SpecError(EvalignError):
    """A metric spec, option or signature that is unknown or invalid."""


class ModelError(EvalignError):
    """An encoder cannot be used."""


class ModelNotFoundError(ModelError):
    """Weights were not found; the message says how to get them."""


class WeightsError(ModelError):
    """Weights are damaged, incomplete or not the pinned ones."""


class UnsupportedModelError(ModelError):
    """An architecture that the chosen backend does not build."""


class LayerError(ModelError):
    """A layer that the model does not have."""


class TableError(EvalignError):
    """An IDF or baseline table that does not fit the model or the layer."""


class MissingExtraError(EvalignError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(feature, extra)  # the arguments of the constructor, so that the error can be pickled

    def __str__(self) -> str:
        """Return one sentence with the install command."""
        feature, extra = self.args
        return f"{feature} needs the extra '{extra}': pip install 'evalign[{extra}]'"


def described(value: object) -> str:
    """Return a short description of an argument of the wrong type, for messages."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"{type(value).__name__} {value!r:.60}"


def nearest(name: str, valid_names: Iterable[str]) -> str:
    """Return a hint for a mistyped name: the closest known names, or all of them if none is close."""
    names = sorted(valid_names)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}"


def excerpt(value: object, length: int = 80) -> str:
    """Return the start of a value of a foreign file for a message, with line ends and control codes escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in str(value)[:length])
