"""`sacrebleu`'s command: its arguments go to sacrebleu itself, which evalign's BLEU, chrF and TER are made of."""

from __future__ import annotations

import sys

from evalign.errors import InputError


def main(arguments: list[str]) -> None:
    """What `sacrebleu ARGUMENTS` prints, and its exit code."""
    from sacrebleu.sacrebleu import main as sacrebleu

    before = sys.argv
    sys.argv = ["evalign compat sacrebleu", *arguments]
    try:
        sacrebleu()
    except OSError as error:
        raise InputError(f"{error.filename or 'the input'}: cannot be read ({error.strerror or error})") from error
    finally:
        sys.argv = before
