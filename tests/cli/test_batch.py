"""`evalign batch` as a user meets it: run, status, verify, merge, report, and its refusals."""

import json

import pytest

from batch_jobs import made_rows, write_rows


@pytest.fixture
def job(tmp_path, run):
    """A finished job of 1,030 rows, one of them bad."""
    write_rows(tmp_path / "in.jsonl", [*made_rows(1030), {"id": "bad"}])
    done = run("batch", "run", "in.jsonl", "-o", "out", "-m", "rouge1", "-m", "chrf",
               "--shard-rows", "1024", "--workers", "1", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 3, done.stderr
    return done


def test_a_job_from_run_to_page(tmp_path, run, job):
    assert "1031 rows: 1019 scored, 11 flagged, 1 failed" in job.stderr
    assert f"the first row that failed is {tmp_path / 'in.jsonl'}:1031: no field 'candidate'" in job.stderr
    assert "chrf|nrefs:1" in job.stdout

    status = run("batch", "status", "out", cwd=tmp_path)
    assert "2 of 2 shards done, 1031 of 1031 rows (1019 scored, 11 flagged, 1 failed)" in status.stdout
    assert "rows a second" in status.stdout

    summary = (tmp_path / "out" / "summary.json").read_bytes()
    merged = run("batch", "merge", "out", "-o", "all.jsonl", cwd=tmp_path)
    assert merged.returncode == 0, merged.stderr
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    assert [line["id"] for line in lines if line["metric"] == "chrf"] == [f"r{number}" for number in range(1030)]
    assert (tmp_path / "out" / "summary.json").read_bytes() == summary

    page = run("batch", "merge", "out", "--html", "page.html", "--sample-rows", "200", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    html = (tmp_path / "page.html").read_text("utf-8")
    document = json.loads(html.partition('id="evalign-document">')[2].partition("</script>")[0])
    assert 172 <= len(document["rows"]) <= 176  # every sixth, and two of each metric
    assert document["results"][0]["n"] == 515
    places = [problem["place"] for problem in document["problems"]]
    assert places == ["this page", f"{tmp_path / 'in.jsonl'}:1031"]
    worst = min((line for line in lines if line["metric"] == "chrf"), key=lambda line: line["scores"]["score"])
    assert worst["id"] in {row["id"] for row in document["rows"]}


def test_a_job_with_bad_rows_is_read_with_a_word_about_them(tmp_path, run, job):
    read = run("score", "out", "-m", "chrf", cwd=tmp_path)
    assert read.returncode == 0
    assert read.stderr == "evalign: 1 rows of the job failed; out/errors.jsonl says why\n"


def test_verify_finds_a_changed_byte(tmp_path, run, job):
    assert "5 files match the manifest" in run("batch", "verify", "out", cwd=tmp_path).stdout
    shard = tmp_path / "out" / "shards" / "000001.jsonl"
    shard.write_bytes(shard.read_bytes().replace(b"rouge1", b"rouge2", 1))
    damaged = run("batch", "verify", "out", cwd=tmp_path)
    assert damaged.returncode == 2
    assert "1 of 5 files do not match the manifest, the first shards/000001.jsonl" in damaged.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "none.jsonl", "-o", "new"), "none.jsonl: no such file"),
        (("run", "in.jsonl", "-o", "new", "--shard-rows", "1000"), "expected a multiple of 1024"),
        (("run", "in.jsonl", "-o", "no/such/place"), "cannot be written (No such file or directory)"),
        (("run", "in.jsonl", "-o", "."), "holds other files"),
        (("run", "wrong.jsonl", "-o", "new"), "needs references, and this row has none"),
        (("run", "in.jsonl", "-o", "new", "--engine", "cluster"), "'cluster' is not"),
        (("status", "."), "no batch job in this folder"),
    ],
    ids=["no-file", "shard-rows", "no-folder", "other-files", "no-references", "engine", "no-job"],
)
def test_refusals_are_one_sentence(tmp_path, run, arguments, said):
    write_rows(tmp_path / "in.jsonl", made_rows(3))
    write_rows(tmp_path / "wrong.jsonl", [{"candidate": "a"}, {"candidate": "b"}])
    metric = ("-m", "rouge1") if arguments[0] == "run" else ()
    refused = run("batch", *arguments, *metric, cwd=tmp_path)
    assert refused.returncode == 2
    assert said in refused.stderr


def test_an_unfinished_job_is_not_merged(tmp_path, run, job):
    (tmp_path / "out" / "shards" / "000000.jsonl").unlink()
    refused = run("batch", "merge", "out", cwd=tmp_path)
    assert refused.returncode == 2
    assert "not finished, 1 of 2 shards done" in refused.stderr


def test_a_folder_that_may_not_be_written_to(tmp_path, run):
    write_rows(tmp_path / "in.jsonl", made_rows(3))
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    refused = run("batch", "run", "in.jsonl", "-o", "out", "-m", "rouge1", cwd=tmp_path)
    assert refused.returncode == 2


def test_meta_reads_the_scores_of_a_job(tmp_path, run):
    rows = [row | {"human": number % 7, "system": ""} for number, row in enumerate(made_rows(40))]
    write_rows(tmp_path / "in.jsonl", rows)
    assert run("batch", "run", "in.jsonl", "-o", "out", "-m", "rouge1", "-m", "chrf", cwd=tmp_path).returncode == 0
    fast = ("--resamples", "10", "--format", "json")
    judged = run("agree", "in.jsonl", "-m", "chrf", "--scores", "rouge1=out", *fast, cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    own = run("agree", "in.jsonl", "-m", "chrf", "-m", "rouge1", *fast, cwd=tmp_path)
    values = [
        {
            judgement["metric"]: judgement["statistics"]["pearson"]["value"]
            for judgement in json.loads(said)["judgements"]
        }
        for said in (judged.stdout, own.stdout)
    ]
    assert set(values[0]) == {"chrf", "rouge1"}
    assert values[0] == values[1]
    refused = run("agree", "in.jsonl", "--scores", "other=out", cwd=tmp_path)
    assert "has scores of rouge1, chrf; name one of them" in refused.stderr
