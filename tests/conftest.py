"""Models and data for all tests: tiny random models made here, real models and texts where this machine has them."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from shared_files import NO_DATA, shared_rows
from skip_summary import not_checked

# The same examples on every run of the same code, so that a red run is about the change; `make fuzz` draws new ones.
# How long an example takes, or is drawn for, says how busy the machine is.
for profile, count in (("fixed", 100), ("fresh", 500)):
    settings.register_profile(
        profile,
        max_examples=count,
        derandomize=profile == "fixed",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("EVALIGN_EXAMPLES", "fixed"))

os.environ["HF_HUB_OFFLINE"] = "1"  # no test may reach the hub; must be set before huggingface_hub is imported
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Threads that wait for a core spin: with more of them than cores, small models take five times as long.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def pytest_collection_finish() -> None:
    """What was imported stays: the garbage collector need not look through a million objects of it again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """The last line says what was skipped and why, instead of a list with a line per test file."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not session.config.option.collectonly:  # xdist's workers have no reporter
        reporter.write_line(not_checked(report.longrepr[2] for report in reporter.stats.get("skipped", ())))


@pytest.fixture(scope="session", autouse=True)
def evalign_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the tests' own, with links to the models the user has fetched."""
    from evalign.io.files import cache_folder

    fetched = cache_folder() / "models"
    folder = tmp_path_factory.mktemp("evalign-cache")
    (folder / "models").mkdir()
    for model in fetched.iterdir() if fetched.is_dir() else ():
        (folder / "models" / model.name).symlink_to(model.resolve())
    parsed = cache_folder() / "meteor"
    parsed.mkdir(parents=True, exist_ok=True)  # parsing METEOR's paraphrases takes half a minute: once per machine
    (folder / "meteor").symlink_to(parsed.resolve())
    os.environ["EVALIGN_CACHE"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`tiny("bert", hidden_act="relu")`: the directory of a tiny random model, built once per session."""
    from tiny_models import build_model

    built: dict[str, Path] = {}

    def directory(family: str, **changes: Any) -> Path:
        key = repr((family, sorted(changes.items())))
        if key not in built:
            built[key] = build_model(family, tmp_path_factory.mktemp("tiny") / f"tiny-{family}", **changes)
        return built[key]

    return directory


@pytest.fixture(scope="session")
def minilm() -> Path:
    return _known("minilm")


@pytest.fixture(scope="session")
def mpnet() -> Path:
    return _known("mpnet")


def _known(name: str) -> Path:
    from evalign.encoders.weights import KNOWN, local_directory

    directory = local_directory(KNOWN[name])
    if directory is None:
        pytest.skip(f"the {name} weights are not on this machine: evalign models get {name}")
    return directory


@pytest.fixture(scope="session")
def real_rows() -> Callable[[str], list[dict[str, Any]]]:
    """`real_rows("wmt16_daseg")`: the rows of one file of human judgements, for tests that only these can satisfy."""

    def rows(name: str) -> list[dict[str, Any]]:
        judged = shared_rows(name)
        if judged is None:
            pytest.skip(NO_DATA)
        return judged

    return rows


@pytest.fixture(scope="session")
def real_pairs() -> list[tuple[str, str]]:
    """Hundreds of different pairs: translations of WMT16, spread over its language pairs; else texts of our own."""
    from own_texts import own_pairs

    rows = shared_rows("wmt16_daseg")
    if rows is None:
        return own_pairs()
    return [(row["candidate"], row["references"][0]) for row in rows[:: len(rows) // 700]]


@pytest.fixture(scope="session")
def summary_rows() -> list[dict[str, Any]]:
    """1,600 summaries by 16 systems with 11 references each, those of SummEval; else texts of our own."""
    from own_texts import own_summaries

    return shared_rows("summeval") or own_summaries()
