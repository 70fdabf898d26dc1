"""sacrebleu's own test files, run against evalign's bleu, chrf, ter and paired tests (the latter take a minute)."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from peers import as_sacrebleu
from peers.suites import Suite
from peers.test_files import Known, left_out_files, run_test_files, source_distribution, with_stand_in

FILES = ("test_bleu", "test_chrf", "test_sentence_bleu", "test_ter", "test_tokenizer_ter", "test_significance")
OTHERS = ("test_api", "test_dataset")
DATA = "sacrebleu's list of data sets and their downloads; evalign has none"


def run(folder: Path) -> Suite:
    """Fetches the source distribution of the installed version into the folder, and runs its tests."""
    root = source_distribution("sacrebleu", version("sacrebleu"), folder)
    copied = folder / "tests_of_sacrebleu"
    copied.mkdir()
    files, others = ([root / "test" / f"{name}.py" for name in names] for names in (FILES, OTHERS))
    cases = run_test_files(with_stand_in(files, copied, "sacrebleu", as_sacrebleu.install()), Known(), root)
    return Suite("sacrebleu", version("sacrebleu"), "its source distribution", (*cases, *left_out_files(others, DATA)))
