"""Jobs whose folder is a URL: the bytes of a job on a disk, resumed after kills, checked when read."""

import json
import os
import subprocess
import sys
import tempfile

import fsspec
import pytest
from click.testing import CliRunner

from batch_jobs import (
    StopError,
    after_shards,
    command,
    content,
    kill_at_random,
    made_rows,
    ray_engine,
    run,
    stop,
    write_rows,
)
from evalign.batch.job import JOB, MANIFEST, Manifest
from evalign.batch.local_engine import LocalEngine
from evalign.cli.main import cli
from evalign.errors import FileFormatError, SpecError
from evalign.io.folders import open_folder
from object_store import s3_server

SPECS = ("bertscore(model=fake, idf=references)", "chrf")


@pytest.fixture(scope="module")
def bucket():
    with s3_server() as url:
        yield url


@pytest.fixture
def url(bucket, request):
    return f"{bucket}/{request.node.name}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rows = [row | {"system": name, "human": len(row["candidate"])} for row in made_rows(1150) for name in "ab"]
    return write_rows(folder / "in.jsonl", [*rows, {"id": "bad"}])


@pytest.fixture(scope="module")
def whole(data):
    run(data, data.parent / "whole", SPECS)
    return data.parent / "whole"


def evalign(*arguments):
    result = CliRunner().invoke(cli, list(map(str, arguments)))
    assert result.exit_code in (0, 3), result.output
    return result.stdout


def test_a_stopped_job_resumes_to_the_same_bytes(url, data, whole):
    with pytest.raises(StopError):
        run(data, url, SPECS, watch=after_shards(1, stop))
    assert len(Manifest(open_folder(url)).done("score")) == 1
    assert run(data, url, SPECS).shards_scored == 2
    assert content(url) == content(whole)
    assert run(data, url, SPECS).shards_scored == 0


@pytest.mark.slow
def test_every_command_reads_it(url, data, whole, tmp_path):
    run(data, url, SPECS)
    assert "3 of 3 shards done" in evalign("batch", "status", url)
    assert "files match the manifest" in evalign("batch", "verify", url)
    for folder, target in ((url, tmp_path / "there.jsonl"), (whole, tmp_path / "here.jsonl")):
        evalign("batch", "merge", folder, "-o", target)
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    for name, *options in (("score",), ("compare", "-m", "chrf", "--resamples", "100"), ("agree", "--resamples", "10")):
        there, here = (evalign(name, folder, *options, "--format", "json") for folder in (url, whole))
        assert there.replace(url, "") == here.replace(str(whole), "")


def test_tables_and_scores_are_read_at_urls(url, tmp_path):
    rows = [row | {"human": len(row["candidate"])} for row in made_rows(20)]
    here = write_rows(tmp_path / "in.jsonl", rows)
    there = f"{url}/in.jsonl"
    open_folder(url).write("in.jsonl", here.read_bytes())
    assert evalign("score", there, "-m", "chrf") == evalign("score", here, "-m", "chrf")
    run(there, f"{url}/job", ("chrf",))
    run(here, tmp_path / "job", ("chrf",))
    assert content(f"{url}/job")[0] == content(tmp_path / "job")[0]
    agreement = [
        json.loads(evalign("agree", here, "--scores", f"chrf={job}", "--format", "json"))["rows"]
        for job in (f"{url}/job", tmp_path / "job")
    ]
    assert agreement[0] == agreement[1]


def test_a_copy_on_a_disk_is_the_same_job(url, data, whole, tmp_path):
    with pytest.raises(StopError):
        run(data, url, SPECS, watch=after_shards(1, stop))
    fsspec.filesystem("s3").get(url, str(tmp_path / "copy"), recursive=True)
    assert run(data, tmp_path / "copy", SPECS).shards_scored == 2
    assert content(tmp_path / "copy") == content(whole)


@pytest.mark.slow
def test_damage_is_named_and_repaired(url, data, whole):
    run(data, url, SPECS)
    folder, name = open_folder(url), "shards/000001.jsonl"
    folder.write(name, folder.read(name).replace(b"0.", b"1.", 1))
    with pytest.raises(AssertionError, match=f"{url}/{name}: damaged, it does not fit its digest"):
        evalign("score", url)
    line = folder.read("manifest/score-000000.jsonl")
    folder.write("manifest/score-000000.jsonl", line.replace(b'"scored": 1', b'"scored": 2'))
    outcome = run(data, url, SPECS)
    assert sorted(outcome.damaged) == [f"line 4 of {MANIFEST}", name]
    assert outcome.shards_scored == 2
    assert content(url) == content(whole)


def test_another_job_and_other_files_are_refused(url, data):
    run(data, url)
    with pytest.raises(SpecError, match=f"{url}: its job was started with another value of `specs`"):
        run(data, url, ("chrf",))
    open_folder(f"{url}-other").write("notes.txt", b"mine")
    with pytest.raises(FileFormatError, match=r"holds other files \(notes.txt\)"):
        run(data, f"{url}-other")


def test_a_second_run_does_not_take_the_place_of_the_first(url, data):
    """Two runs that begin at the same moment: the second finds no job, and then the first has written its own."""
    folder = open_folder(url)
    run(data, url)
    first = folder.read(JOB)
    folder.write_new(JOB, b"second")
    assert folder.read(JOB) == first


def test_attempts_are_counted_until_they_are_forgotten(url):
    folder = open_folder(url)
    assert [folder.count_attempt("shards/score-000001") for _ in range(3)] == [1, 2, 3]
    assert folder.count_attempt("shards/score-000002") == 1
    folder.forget_attempts("shards/score-000001")
    assert folder.count_attempt("shards/score-000001") == 1
    folder.remove_parts()
    assert folder.names() == []


def test_a_bucket_that_does_not_exist_or_a_server_that_is_down_is_a_sentence(data, url):
    def refused(out):
        answer = subprocess.run(command(data, out, "chrf"), capture_output=True, text=True)
        assert (answer.returncode, answer.stdout) == (2, "")
        return answer.stderr.splitlines()[-1]

    assert "s3://missing/out/job.json: cannot be written (The specified bucket does not exist)" in refused(
        "s3://missing/out"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # where nothing listens
        assert "cannot be read (Could not connect to the endpoint URL" in refused(url)
    assert "no batch job in this folder" in CliRunner().invoke(cli, ["batch", "status", url]).stderr


def test_a_url_whose_library_is_missing_is_a_sentence(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(FileFormatError, match=r"gs://other/x: cannot be opened \(Please install gcsfs"):
        run(data, "gs://other/x")


def test_a_file_url_is_a_path(data, whole, tmp_path):
    run(data, f"file://{tmp_path}/out", SPECS)
    assert content(tmp_path / "out") == content(whole)
    assert (tmp_path / "out" / MANIFEST).exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_kills_at_random_moments_lose_nothing(url, tmp_path, monkeypatch, engine):
    """The driver is killed; with Ray, its cluster and actors end with it."""
    data = write_rows(tmp_path / "in.jsonl", made_rows(2300))
    options = ("--engine", engine, "--workers", "1")
    if engine == "ray":
        pytest.importorskip("ray")
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
    spec = "bertscore(model=fake)"
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        contents = kill_at_random(lambda out: command(data, out, spec, *options), url, seed=3)
    run(data, tmp_path / "here", (spec,))
    assert set(contents) == {content(tmp_path / "here")}


@pytest.mark.slow
def test_actors_and_processes_write_the_same_bytes(url, data, whole):
    run(data, f"{url}/processes", SPECS, engine=LocalEngine(2))
    engine = ray_engine(workers=2)
    try:
        run(data, f"{url}/ray", SPECS, engine=engine)
    finally:
        engine.close()
    assert content(f"{url}/processes") == content(f"{url}/ray") == content(whole)
