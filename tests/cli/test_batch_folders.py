"""`score`, `meta` and `compare` read the folder of a finished batch job: the same numbers as from its input."""

import json

import pytest

from batch_jobs import made_rows, write_rows

METRICS = ("-m", "bertscore(model=fake, idf=references)", "-m", "chrf", "-m", "ter")


@pytest.fixture
def folder(tmp_path, run):
    """A finished job over 60 pairs of rows of two systems, with ratings."""
    rows = [
        row | {"id": f"r{number // 2}", "references": [f"reference of {number // 2} the cat"], "human": number % 7}
        for number, row in enumerate(made_rows(120))
    ]
    for row in rows:
        row["lp"] = "de" if int(row["id"][1:]) % 2 else "en"
    write_rows(tmp_path / "in.jsonl", rows)
    done = run("batch", "run", "in.jsonl", "-o", "out", *METRICS, "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def outputs(run, folder, command, *options, metrics=METRICS):
    """What a command says of the input, and of the finished job."""
    said = []
    for data, chosen in (("in.jsonl", metrics), ("out", ())):
        done = run(command, data, *chosen, *options, "--format", "json", cwd=folder)
        assert done.returncode == 0, done.stderr
        said.append(json.loads(done.stdout))
    return said


@pytest.mark.parametrize("options", [(), ("--resamples", "100")], ids=["plain", "bootstrap"])
def test_score(folder, run, options):
    scored, read = outputs(run, folder, "score", *options)
    assert read == scored


def test_score_reads_what_is_asked_for_and_needs_no_input(folder, run):
    (folder / "in.jsonl").unlink()
    read = run("score", "out", "-m", "chrf", "--segments", "all.jsonl", "--format", "json", cwd=folder)
    assert read.returncode == 0, read.stderr
    assert {result["metric"] for result in json.loads(read.stdout)["results"]} == {"chrf"}
    assert len((folder / "all.jsonl").read_bytes().splitlines()) == 120
    refused = run("score", "out", "-m", "bleu", cwd=folder)
    assert refused.returncode == 2
    assert (
        "--metric bleu: out has scores of bertscore(model=fake, idf=references), chrf, ter; name one" in refused.stderr
    )


def test_compare(folder, run):
    scored, read = outputs(run, folder, "compare", "--resamples", "100", "--baseline", "b")
    assert read == scored


def test_meta(folder, run):
    judged, read = outputs(run, folder, "agree", "--within", "lp", "--resamples", "20")
    assert read == judged


def test_pages_have_the_texts(folder, run):
    assert run("compare", "out", "-m", "chrf", "--resamples", "10", "--html", "page.html", cwd=folder).returncode == 0
    assert "reference of 7 the cat" in (folder / "page.html").read_text("utf-8")


@pytest.mark.parametrize("command", ["score", "compare", "agree"])
def test_an_unfinished_folder_is_refused(folder, run, command):
    (folder / "out" / "shards" / "000000.jsonl").unlink()
    refused = run(command, "out", cwd=folder)
    assert refused.returncode == 2
    assert "out: not finished, 0 of 1 shards done" in refused.stderr
    assert "run the job's command again first" in refused.stderr


def test_a_folder_without_a_job_is_refused(tmp_path, run):
    refused = run("score", str(tmp_path))
    assert refused.returncode == 2
    assert "no batch job in this folder" in refused.stderr


def test_a_field_that_the_input_lacks(folder, run):
    refused = run("agree", "out", "--within", "language", cwd=folder)
    assert refused.returncode == 2
    assert "in.jsonl:1: no field 'language'" in refused.stderr
