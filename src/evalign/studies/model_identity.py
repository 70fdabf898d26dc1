"""Which model a study uses: its identity by contents, its pin, and the name it is shown by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from evalign.encoders.digest import file_digest
from evalign.encoders.loading import FAKE
from evalign.encoders.locating import locate
from evalign.studies.step_cache import digest_of

SETTING_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")


def model_identity(model: str) -> str:
    """A digest of weights, configuration and tokenizer, for the keys of steps."""
    if model == FAKE:
        return FAKE
    located = locate(model)
    files = (located.directory / name for name in SETTING_FILES)
    return digest_of([located.sha256, *(file_digest(file) for file in files if file.is_file())])


def model_pin(model: str) -> str:
    """As signatures show the model: its name and a digest of its weights."""
    return "fake@00000000" if model == FAKE else locate(model).pinned


def shown_names(pins: Mapping[str, str]) -> dict[str, str]:
    """By model, a unique name: its own; its pin where two models share a name; as it was given if they share both."""
    labels = Counter(pin.partition("@")[0] for pin in pins.values())
    shared = Counter(pins.values())
    return {
        model: label if labels[label := pin.partition("@")[0]] == 1 else pin if shared[pin] == 1 else model
        for model, pin in pins.items()
    }
