"""Every error that evalign raises on purpose, and what the command line does with it.

    EvalignError                    exit code 2, one sentence, no traceback
    ├── InputError                  what was passed in cannot be scored
    │   ├── LengthMismatchError     candidates and references are not parallel
    │   ├── FileFormatError         a file cannot be read; names the file and the line
    │   ├── UndefinedStatisticError a statistic has no value: constant scores, too few rows
    │   └── TextTooLongError        overlong=error, or a matrix too large to draw
    ├── SpecError                   unknown metric or option, broken spec or signature
    ├── ModelError                  the encoder cannot be used
    │   ├── ModelNotFoundError      no such weights here, and how to get them
    │   ├── WeightsError            damaged file, wrong digest, missing tensor
    │   ├── UnsupportedModelError   a family that this backend does not build
    │   └── LayerError              a layer the model does not have
    ├── TableError                  an IDF or baseline table that does not fit
    └── MissingExtraError           an optional dependency; carries the install command

Every message names the argument, what was expected, what was given, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EvalignError(Exception):
    """Base of all errors raised on purpose by evalign."""


class InputError(EvalignError):
    """The texts or rows passed in cannot be scored."""


class LengthMismatchError(InputError):
    """Candidates, references, sources or ids do not run in parallel."""


class FileFormatError(InputError):
    """A file cannot be read as what it claims to be."""


class UndefinedStatisticError(InputError):
    """A statistic has no value on these numbers, though they are valid numbers: constant, or too few."""


class TextTooLongError(InputError):
    """A text is longer than the model reads, and the caller asked for an error."""


class SpecError(EvalignError):
    """A metric spec, option or signature that names nothing known."""


class ModelError(EvalignError):
    """An encoder cannot be used."""


class ModelNotFoundError(ModelError):
    """No weights under that name; the message says how to get them."""


class WeightsError(ModelError):
    """Weights that are damaged, incomplete or not the pinned ones."""


class UnsupportedModelError(ModelError):
    """An architecture that the chosen backend does not build."""


class LayerError(ModelError):
    """A layer that the model does not have."""


class TableError(EvalignError):
    """An IDF or baseline table that does not fit the model or the layer."""


class MissingExtraError(EvalignError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)  # as given, so that a worker process can hand the error on

    def __str__(self) -> str:
        """One sentence with the command to type."""
        what, extra = self.args
        return f"{what} needs the extra '{extra}': pip install 'evalign[{extra}]'"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the closest known ones, or all of them if none is close."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
