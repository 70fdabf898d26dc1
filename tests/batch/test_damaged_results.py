"""Stored results are checked whenever they are read: damage is named, and repaired when the job runs again."""

import json
import os
import re
import shutil
import stat
from contextlib import closing
from dataclasses import replace

import pytest

from batch_jobs import content, made_rows, run, write_rows
from evalign.batch.job import DIGEST_DIGITS, JOB, MANIFEST, Manifest, ManifestLine, read_job, signed_job
from evalign.batch.results import FinishedJob, JobRows, job_document, summarise
from evalign.batch.run import merge_shards
from evalign.batch.shards import Worker
from evalign.cli.main import main
from evalign.encoders.weights import content_digest
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.folders import open_folder

SPECS = ("bertscore(model=fake, idf=references)", "chrf")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished job of two shards."""
    folder = tmp_path_factory.mktemp("job")
    data = write_rows(folder / "in.jsonl", made_rows(1100))
    run(data, folder / "out", SPECS)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of its folder."""
    return shutil.copytree(finished / "out", tmp_path / "out")


def change_a_digit(path, digits=rb"(?<=\d)\d(?=[,\s}])"):
    """Replace the last of the digits by another: the same length, and still valid JSON."""
    text = path.read_bytes()
    place = [match.start() for match in re.finditer(digits, text)][-1]
    path.write_bytes(text[:place] + (b"1" if text[place : place + 1] != b"1" else b"2") + text[place + 1 :])


FILES = ["shards/000001.jsonl", "shards/000000.totals.json", "idf/000001-0.json"]


@pytest.mark.parametrize("name", FILES)
def test_a_changed_digit_is_repaired_by_the_next_run(finished, folder, name):
    change_a_digit(folder / name)
    outcome = run(finished / "in.jsonl", folder, SPECS)
    assert list(outcome.damaged) == [name]
    assert content(folder) == content(finished / "out")
    assert run(finished / "in.jsonl", folder, SPECS).damaged == []


def test_a_changed_line_of_the_manifest_is_repaired_by_the_next_run(finished, folder):
    change_a_digit(folder / MANIFEST, rb'(?<="scored": )\d')
    outcome = run(finished / "in.jsonl", folder, SPECS)
    assert list(outcome.damaged) == [f"line 4 of {MANIFEST}"]
    assert outcome.shards_scored == 1
    assert content(folder) == content(finished / "out")


@pytest.mark.parametrize("name", FILES[:2])
def test_a_changed_digit_is_named_by_whoever_reads_it(folder, tmp_path, name):
    def rows():
        return JobRows.open(open_folder(folder))

    change_a_digit(folder / name)
    readers = {
        "shards/000001.jsonl": (
            lambda: merge_shards(FinishedJob.open(open_folder(folder)), tmp_path / "all.jsonl"),
            lambda: rows().score(rows().metrics(()), lambda *_: None),
        ),
        "shards/000000.totals.json": (lambda: summarise(FinishedJob.open(open_folder(folder))),),
    }
    for read in readers[name]:
        with pytest.raises(FileFormatError, match=rf"{name}: damaged.*run the job's command again"):
            read()
    assert not (tmp_path / "all.jsonl").exists()


def test_a_changed_line_of_the_manifest_is_named(folder):
    change_a_digit(folder / MANIFEST, rb'(?<="scored": )\d')
    with pytest.raises(InputError, match=r"not finished, 1 of 2 .*line 4 of manifest\.jsonl damaged.*command again"):
        FinishedJob.open(open_folder(folder))


def test_a_manifest_of_another_job_says_how_to_mend_it(folder):
    lines = (folder / MANIFEST).read_bytes().splitlines()
    entry = ManifestLine.parse(lines[-1])
    forged = ManifestLine(**{**vars(entry), "scored": entry.scored + 1}).to_line()
    (folder / MANIFEST).write_bytes(b"\n".join(lines[:-1]) + b"\n" + forged)
    with pytest.raises(FileFormatError, match=r"1101 rows in shards, 1100 in the input.*remove it and run"):
        summarise(FinishedJob.open(open_folder(folder)))


def test_a_changed_job_file_is_refused(finished, folder):
    job = json.loads((folder / JOB).read_bytes())
    (folder / JOB).write_text(json.dumps(job | {"metrics": ["chrf", "chrf"]}), "utf-8")
    for read in (lambda: FinishedJob.open(open_folder(folder)), lambda: run(finished / "in.jsonl", folder, SPECS)):
        with pytest.raises(FileFormatError, match=r"job\.json: changed or damaged"):
            read()


def signed(folder, change):
    """Change job.json, with a digest that fits."""
    job = json.loads((folder / JOB).read_bytes())
    del job["sha256"]
    change(job)
    (folder / JOB).write_bytes(signed_job(job))


CHANGES = {
    "no input": lambda job: job.pop("input"),
    "another field": lambda job: job.update(own=1),
    "a field of the input is missing": lambda job: job["input"][0].pop("rows"),
    "rows of words": lambda job: job["input"][0].update(rows="many"),
    "shards in a list": lambda job: job.update(shards=[2]),
    "a truth value for shards": lambda job: job.update(shards=True),
    "metrics that are numbers": lambda job: job.update(metrics=[1]),
    "another column": lambda job: job["columns"].update(sourc="a"),
    "one reference": lambda job: job["columns"].update(references="reference"),
    "libraries in a list": lambda job: job.update(libraries=[]),
    "content that is none": lambda job: job.update(content={"chrf": None}),
    "changes that are none": lambda job: job.update(changes=None),
    "no shards": lambda job: job.update(shards=0),
    "fewer shards": lambda job: job.update(shards=-1),
    "an unknown format of shards": lambda job: job.update(output="xml"),
    "other metrics": lambda job: job.update(metrics=["chrf", "bleu"]),
    "fewer metrics": lambda job: job.update(metrics=["chrf"]),
    "a metric twice": lambda job: job.update(metrics=[*job["metrics"], "chrf()"]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_job_file_with_other_fields_is_refused_even_with_a_digest_that_fits(folder, name):
    signed(folder, CHANGES[name])
    with pytest.raises(FileFormatError, match=r"job\.json: |manifest\.jsonl is of another job"):
        summarise(FinishedJob.open(open_folder(folder)))


def test_the_page_of_a_job_whose_rows_are_read_otherwise_is_refused(folder):
    signed(folder, lambda job: job["columns"].update(candidate="none"))
    source = JobRows.open(open_folder(folder))
    with pytest.raises(FileFormatError, match=r"another number of rows.*manifest\.jsonl is of another job"):
        job_document(source, summarise(source.finished), 10)


def test_a_job_file_of_the_same_fields_is_read(folder):
    before = summarise(FinishedJob.open(open_folder(folder)))
    signed(folder, lambda job: job.update(changes=["another numpy (1, now 2)"]))
    after = summarise(FinishedJob.open(open_folder(folder)))
    assert [result.to_dict() for result in after.results] == [result.to_dict() for result in before.results]


def test_a_job_file_that_is_nested_without_end_is_refused(folder):
    for raw in (
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[]",
        b"3",
        b'{"format": 1}',
        b'{"format": NaN, "version": 1}',
    ):
        (folder / JOB).write_bytes(raw)
        with pytest.raises(FileFormatError, match=r"job\.json: "):
            FinishedJob.open(open_folder(folder))


LINES = {
    "another field": {"own": 1},
    "a shard of another number": {"shard": 7},
    "a shard in words": {"shard": "1"},
    "files in an object": {"files": {}},
    "signatures in a text": {"signatures": "chrf"},
    "notes that are numbers": {"notes": [1]},
    "rows in a text": {"scored": "76"},
    "a file outside of the folder": {"files": [{"name": "../secret", "size": 1, "sha256": ""}]},
    "an absolute file": {"files": [{"name": "/etc/passwd", "size": 1, "sha256": ""}]},
    "a file with a long name": {"files": [{"name": "shards/" + "x" * 5000, "size": 1, "sha256": ""}]},
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_the_manifest_with_other_fields_counts_as_damaged(folder, name):
    *lines, last = (folder / MANIFEST).read_bytes().splitlines()
    plain = json.loads(last)
    del plain["digest"]
    plain |= LINES[name]
    plain["digest"] = content_digest(plain)[:DIGEST_DIGITS]
    (folder / MANIFEST).write_bytes(b"\n".join([*lines, json.dumps(plain).encode(), b""]))
    with pytest.raises(InputError, match="not finished, "):
        FinishedJob.open(open_folder(folder))


def test_shards_without_the_signatures_of_the_job_are_of_another_one(folder):
    manifest = Manifest(open_folder(folder))
    last = manifest.done("score")[1]
    manifest.append(replace(last, signatures={}))
    with pytest.raises(FileFormatError, match=r"no signature of chrf.*of another job"):
        FinishedJob.open(open_folder(folder)).signature("chrf")


def test_a_finished_job_that_may_only_be_read_is_merged(folder, tmp_path, monkeypatch):
    """Root may write anywhere, so the folder refuses writes by its own."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    real = os.open

    def refuse(path, flags, *rest, **options):
        if str(path).startswith(str(folder)) and flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SystemExit) as ended:
        main(["batch", "merge", str(folder), "-o", str(tmp_path / "all.jsonl")])
    assert ended.value.code == 0
    assert len((tmp_path / "all.jsonl").read_bytes().splitlines()) == 2200
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def with_other_config(model):
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.5}))


@pytest.fixture
def half_done(tmp_path, tiny):
    """A job of two shards, the second of which is missing, with a model in a folder of its own."""
    data, model = write_rows(tmp_path / "in.jsonl", made_rows(1030)), shutil.copytree(tiny("bert"), tmp_path / "model")
    specs = (f"bertscore(model={model}, layer=1)", "chrf")
    run(data, tmp_path / "out", specs)
    (tmp_path / "out" / "shards" / "000001.jsonl").unlink()
    return data, model, specs


def test_a_job_is_not_resumed_with_a_changed_model(tmp_path, half_done):
    data, model, specs = half_done
    with_other_config(model)
    with pytest.raises(
        SpecError, match=r"with another model of bertscore.* \(model@\w+, now model@\w+\).*may change scores"
    ):
        run(data, tmp_path / "out", specs)


def test_a_job_is_not_resumed_on_another_processor_or_with_other_libraries(tmp_path, half_done, monkeypatch):
    data, _, specs = half_done
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Another")
    with pytest.raises(SpecError, match=r"another processor of bertscore.*\(now .*with OPENBLAS_CORETYPE=Another\)"):
        run(data, tmp_path / "out", specs)
    monkeypatch.undo()
    monkeypatch.setattr("evalign.core.installed.version_of", lambda library: "0.0.1")
    with pytest.raises(SpecError, match=r"started with another numpy \([\d.]+, now 0\.0\.1\)"):
        run(data, tmp_path / "out", specs)


def test_accepted_changes_are_flagged(tmp_path, half_done):
    data, model, specs = half_done
    with_other_config(model)
    outcome = run(data, tmp_path / "out", specs, accept_changes=True)
    assert outcome.shards_scored == 1
    assert "scores are mixed: another model of bertscore" in outcome.notes[0]
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert len(summary["changes"]) == 1
    signatures = {result["metric"]: result["signature"] for result in summary["results"]}
    assert "|model:var|" in signatures[specs[0]]
    assert ":var|" not in signatures["chrf"]
    assert len(read_job(open_folder(tmp_path / "out"))["changes"]) == 1
    again = run(data, tmp_path / "out", specs)
    assert (again.shards_scored, again.notes) == (0, outcome.notes)


def test_a_model_that_changes_while_the_job_runs_ends_it(tmp_path, tiny):
    """Processes of their own load the model when they start: the second run finds another one than the first."""
    data, model = write_rows(tmp_path / "in.jsonl", made_rows(1030)), shutil.copytree(tiny("bert"), tmp_path / "model")
    changed = []

    def watch(what, total):
        def advance(rows):
            if what == "scoring" and not changed:
                changed.append(with_other_config(model))

        return advance

    spec = f"bertscore(model={model}, layer=1)"
    with pytest.raises(InputError, match=r"changed while the job ran"):
        run(data, tmp_path / "out", (spec,), watch=watch, engine=FreshWorkers())
    done = (tmp_path / "out" / MANIFEST).read_bytes().splitlines()
    assert len(done) == 1


class FreshWorkers:
    """Run each task in a worker that loads its own scorers."""

    def run(self, work, tasks):
        for task in tasks:
            with closing(Worker(work)) as worker:
                yield worker.run(task)


def test_files_of_a_finished_job_keep_the_permissions_of_the_umask(folder):
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o111 for path in folder.rglob("*") if path.is_file()}
    assert modes == {0}
