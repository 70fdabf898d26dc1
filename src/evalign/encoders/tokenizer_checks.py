"""Checks of a tokenizer definition before this process loads it: anybody may have written it.

The tokenizers library is native code. A definition can make it panic, which Python can catch, but also abort, loop or
fill the memory, which it cannot. So one that is not a known model's is loaded in a child process with limits first,
once; and steps whose output would outgrow any text are refused, because no trial with a few texts can show that.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Fingerprints of the known models' tokenizers: they need no child process, which takes a tenth of a second.
KNOWN = {
    "minilm": "7e5dd88cf8824701231549eb64f47e7db44b2568212037479f9298ec646d9d48",
    "mpnet": "8107c809d782bf1738e22664d345c5dcf5a96b677cb24c3aa1e82f9d92089eb6",
}
MEMORY_BYTES = 4 * 2**30  # the largest vocabularies in use take half a gigabyte
CPU_SECONDS = 10
WALL_SECONDS = 120  # for a busy machine; without limits of processor time the only one
MAX_GROWTH = 1000  # characters for one of the text, by all steps together
BYTES_PER_CHARACTER = 4
MAX_ADDED_CHARACTERS = 1_000_000  # of all added tokens: their search tree is built slowly, and twice
NESTED = ("normalizers", "pretokenizers", "processors")

_usable: set[str] = set()  # fingerprints of definitions that this process has checked


def check_definition(settings: dict[str, Any], canonical: str, fingerprint: str) -> None:
    """Raise ValueError unless a definition can be loaded in this process.

    Args:
        settings: Definition.
        canonical: Definition as the tokenizers library reads it.
        fingerprint: sha256 of `canonical`.
    """
    if fingerprint in _usable or fingerprint in KNOWN.values():
        return
    if dropout := (settings.get("model") or {}).get("dropout"):
        raise ValueError(
            f"its model leaves out merges at random, so that scores would change from run to run: set dropout to null, "
            f"not {dropout!r:.20}"
        )
    if growth(settings) > MAX_GROWTH:
        raise ValueError(f"its steps turn one character into more than {MAX_GROWTH}")
    if sum(len(str(token["content"])) for token in settings.get("added_tokens") or ()) > MAX_ADDED_CHARACTERS:
        raise ValueError(f"its added tokens have more than {MAX_ADDED_CHARACTERS:,} characters")
    for step in _steps(settings.get("post_processor")):
        if step.get("type") == "TemplateProcessing":
            _check_template(step)
    _load_in_child(canonical)
    _usable.add(fingerprint)


def _check_template(step: dict[str, Any]) -> None:
    """Raise ValueError if a template loses the text or repeats it, or if its pieces do not fit its ids."""
    if sum("Sequence" in piece for piece in step["single"]) != 1:
        raise ValueError("its post_processor does not hold the text exactly once")
    for name, special in step["special_tokens"].items():
        if len(special["ids"]) != len(special["tokens"]):
            raise ValueError(
                f"its post_processor has {len(special['ids'])} ids and {len(special['tokens'])} pieces for {name!r:.40}"
            )


def growth(settings: dict[str, Any]) -> float:
    """Return an upper bound of the characters that normalizer and pre-tokenizer make of one."""
    product = 1.0
    for name in ("normalizer", "pre_tokenizer"):
        for step in _steps(settings.get(name)):
            product *= _growth(step)
    return product


def _steps(step: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps inside sequences, from first to last."""
    if isinstance(step, dict):
        nested = [inner for name in NESTED if isinstance(step.get(name), list) for inner in step[name]]
        for inner in nested:
            yield from _steps(inner)
        if not nested:
            yield step


def _growth(step: dict[str, Any]) -> float:
    if step.get("type") == "ByteLevel":  # a character for each byte
        return BYTES_PER_CHARACTER
    if step.get("type") == "Prepend":
        return 1 + len(str(step.get("prepend")))
    if step.get("type") != "Replace":
        return 1
    pattern = step.get("pattern")
    literal = pattern.get("String") if isinstance(pattern, dict) else pattern
    matched = len(literal) if isinstance(literal, str) else 0  # a regular expression may match between two characters
    content = len(str(step.get("content")))
    return max(1.0, content / matched) if matched else 1 + content


def _load_in_child(canonical: str) -> None:
    if not sys.executable or getattr(sys, "frozen", False):  # Python inside another program
        return
    script = str(Path(__file__).with_name("tokenizer_probe.py"))
    command = [sys.executable, "-P", script, str(MEMORY_BYTES), str(CPU_SECONDS)]
    try:
        done = subprocess.run(command, input=canonical.encode(), capture_output=True, timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError(f"loading it takes more than {WALL_SECONDS} s") from None
    if done.returncode:
        reason = " ".join(done.stdout.decode("utf-8", "replace").split())[:200]
        limits = f"{MEMORY_BYTES // 2**30} GiB or {CPU_SECONDS} s of processor time"
        raise ValueError(reason or f"loading it takes more than {limits}, or crashes the tokenizers library")
