"""Folders of batch jobs: JSON that evalign wrote, and anybody may have changed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fuzzing import any_text, damaged, dumped, examples, json_values, mutated, numbers, value_or_sentence
from hypothesis import given
from hypothesis import strategies as st

from batch_jobs import made_rows, run, write_rows
from evalign.batch.job import DIGEST_DIGITS, JOB, MANIFEST, signed_job
from evalign.batch.results import FinishedJob, JobRows, job_document, summarise
from evalign.core import Row
from evalign.encoders.weights import content_digest
from evalign.io.folders import open_folder
from evalign.io.score_files import read_scores

pytestmark = pytest.mark.slow

SPECS = ("bertscore(model=fake, idf=references)", "rouge1")
TOTALS = "shards/000000.totals.json"
words = st.sampled_from(["shards/000000.jsonl", "../job.json", "/dev/null", "jsonl", "parquet", *SPECS, "chrf", "\x00"])
hostile = st.one_of(json_values, numbers, words, any_text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished job."""
    folder = tmp_path_factory.mktemp("job")
    run(write_rows(folder / "in.jsonl", made_rows(30)), folder / "out", SPECS)
    return folder / "out"


@pytest.fixture(scope="module")
def expected(finished: Path) -> Any:
    """What is read of it."""
    return results(finished)


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "out")


def results(folder: Path) -> Any:
    """Return what the commands on a finished job read of its folder, or None if they refuse it."""
    return value_or_sentence(lambda: _results(folder))


def _results(folder: Path) -> Any:
    job = FinishedJob.open(open_folder(folder))
    source = JobRows.open(open_folder(folder))
    summary = summarise(job)
    scored = source.score(source.metrics(()), lambda *_: None)
    rows = [Row(row.id, "", system=row.system) for row in source]
    read_scores(str(folder), rows, "rouge1")
    document, _ = job_document(source, summary, 10)
    return [result.to_dict() for result in [*summary.results, *scored]], json.dumps(document)


@examples(1)
@given(data=st.data())
def test_mutated_job_files_with_a_digest_that_fits(finished: Path, folder: Path, data: st.DataObject) -> None:
    job = json.loads((finished / JOB).read_bytes())
    del job["sha256"]
    changed = json.loads(json.dumps(data.draw(mutated(job, hostile))))
    if type(changed) is dict:
        signed = value_or_nothing(lambda: signed_job(changed))
        (folder / JOB).write_bytes(signed or dumped(changed).encode())
        results(folder)


def value_or_nothing(make: Callable[[], bytes]) -> bytes | None:
    try:
        return make()
    except (ValueError, RecursionError):  # NaN, a lone surrogate, nested too deeply
        return None


@examples(1)
@given(data=st.data())
def test_changed_job_files_are_refused(finished: Path, folder: Path, data: st.DataObject) -> None:
    job = json.loads((finished / JOB).read_bytes())
    changed = dumped(data.draw(mutated(job, hostile)))
    raw = data.draw(st.one_of(st.just(changed.encode()), damaged((finished / JOB).read_bytes())))
    (folder / JOB).write_bytes(raw)
    found = results(folder)
    assert (found is not None) == (value_or_nothing(lambda: canonical(raw)) == canonical((finished / JOB).read_bytes()))


def canonical(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), sort_keys=True).encode()


@examples(1)
@given(line=st.integers(0, 3), data=st.data())
def test_mutated_manifests_with_digests_that_fit(finished: Path, folder: Path, line: int, data: st.DataObject) -> None:
    lines = (finished / MANIFEST).read_bytes().splitlines()
    plain = json.loads(lines[line % len(lines)])
    del plain["digest"]
    changed = json.loads(json.dumps(data.draw(mutated(plain, hostile))))
    if type(changed) is dict and (digest := value_or_nothing(lambda: content_digest(changed).encode())):
        changed["digest"] = digest.decode()[:DIGEST_DIGITS]
    lines[line % len(lines)] = json.dumps(changed).encode()
    (folder / MANIFEST).write_bytes(b"\n".join(lines) + b"\n")
    results(folder)


@examples(1)
@given(data=st.data())
def test_damaged_manifests_and_totals_change_no_result(
    finished: Path, expected: Any, folder: Path, data: st.DataObject
) -> None:
    """A line that does not fit its digest counts for nothing; one that occurs twice counts once."""
    for name in (MANIFEST, TOTALS):
        (folder / name).write_bytes((finished / name).read_bytes())
    name = data.draw(st.sampled_from([MANIFEST, TOTALS]))
    (folder / name).write_bytes(data.draw(damaged((finished / name).read_bytes())))
    assert results(folder) in (None, expected)


@examples(0.5)
@given(indent=st.sampled_from([None, 0, 1, 4]), random=st.randoms(use_true_random=False))
def test_a_job_file_in_another_layout_is_read(
    finished: Path, expected: Any, folder: Path, indent: int | None, random: Any
) -> None:
    entries = [*json.loads((finished / JOB).read_bytes()).items()]
    random.shuffle(entries)
    (folder / JOB).write_text(json.dumps(dict(entries), indent=indent, ensure_ascii=random.random() < 0.5), "utf-8")
    assert results(folder) == expected is not None
