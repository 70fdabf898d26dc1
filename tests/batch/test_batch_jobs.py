"""A batch job: the same summary for any sharding, resumable, and every row accounted for."""

import json
import time

import pytest

from batch_jobs import StopError, after_shards, content, ids, made_rows, run, stop, write_rows
from evalign.analysis.scoring import score_source
from evalign.batch.job import MANIFEST
from evalign.batch.results import FinishedJob
from evalign.batch.run import BUSY, merge_shards
from evalign.batch.shards import decode
from evalign.core.registry import metric
from evalign.encoders.fake import FakeEncoder
from evalign.errors import FileFormatError, SpecError
from evalign.io.files import lock_folder
from evalign.io.folders import open_folder
from evalign.io.rows import Columns, TableFile

SPECS = ("bertscore(model=fake, idf=references)", "chrf", "rouge1(mode=rouge155)")


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "in.jsonl", made_rows(2300))


def test_any_sharding_gives_the_same_bytes_and_the_scores_of_score(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(1100))
    outcomes = [run(data, tmp_path / str(rows), SPECS, shard_rows=rows) for rows in (1024, 2048)]
    assert content(tmp_path / "1024") == content(tmp_path / "2048")
    assert [outcome.shards_scored for outcome in outcomes] == [2, 1]
    expected = score_source(TableFile(str(data), Columns()), [metric(spec) for spec in SPECS])
    results = {(result.system, result.metric): result.to_dict() for result in outcomes[0].summary.results}
    assert results == {(result.system, result.metric): result.to_dict() for result in expected}
    for entry in json.loads((tmp_path / "1024" / "summary.json").read_bytes())["results"]:
        for name, (low, high) in entry["bootstrap"].items():
            assert low < entry.get("corpus", entry["scores"])[name] < high


def test_the_texts_that_are_encoded_together_do_not_depend_on_the_shards(tmp_path, monkeypatch):
    """All rows have one of ten references: none may be remembered from an earlier block, which a worker may not see."""
    rows = [row | {"references": [f"reference {number % 10}"]} for number, row in enumerate(made_rows(2100))]
    data, real = write_rows(tmp_path / "in.jsonl", rows), FakeEncoder.encode
    calls = {shard_rows: [] for shard_rows in (1024, 3072)}
    for shard_rows, own in calls.items():

        def encode(self, texts, pad_to=None, own=own):
            own.append(list(texts))
            return real(self, texts, pad_to)

        monkeypatch.setattr(FakeEncoder, "encode", encode)
        run(data, tmp_path / str(shard_rows), ("bertscore(model=fake)",), shard_rows=shard_rows)
    assert len(calls[1024]) == 3
    assert calls[1024] == calls[3072]


def test_a_torn_line_of_the_manifest_is_ignored_and_its_shard_made_again(tmp_path, data):
    run(data, tmp_path / "out")
    before = content(tmp_path / "out")
    manifest = tmp_path / "out" / MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert run(data, tmp_path / "out").shards_scored == 1
    assert content(tmp_path / "out") == before
    assert len([json.loads(line) for line in manifest.read_bytes().splitlines()]) == 3


def test_a_file_that_was_removed_is_made_again(tmp_path, data):
    run(data, tmp_path / "out")
    (tmp_path / "out" / "shards" / "000001.jsonl").unlink()
    assert run(data, tmp_path / "out").shards_scored == 1


def test_another_run_in_the_folder_is_refused(tmp_path, data):
    with lock_folder(tmp_path / "out", ""), pytest.raises(FileFormatError, match=BUSY):
        run(data, tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"specs": ("rouge2",)}, "another value of `specs`"),
        ({"shard_rows": 2048}, "another value of `shard_rows`"),
        ({"form": "parquet"}, "another value of `shard_format`"),
        ({"candidate": "output"}, "another value of the fields"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_options_are_refused(tmp_path, changed, reason):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    run(data, tmp_path / "out")
    with pytest.raises(SpecError, match=reason):
        run(data, tmp_path / "out", **changed)


def test_two_tables_of_idf_are_refused_before_a_folder_is_made(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    with pytest.raises(SpecError, match=r"preset=moverscore_v2 .*evalign score, compare or agree"):
        run(data, tmp_path / "out", specs=("moverscore(preset=moverscore_v2, model=fake)",))
    assert not (tmp_path / "out").exists()
    run(data, tmp_path / "out", specs=("moverscore(preset=moverscore_v2-plain, model=fake)",))


def test_other_input_is_refused(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    run(data, tmp_path / "out")
    write_rows(data, made_rows(5, seed=2))
    with pytest.raises(SpecError, match=r"in\.jsonl is not what it was"):
        run(data, tmp_path / "out")
    more = write_rows(tmp_path / "more.jsonl", made_rows(5))
    with pytest.raises(SpecError, match=r"without the input file .*more\.jsonl"):
        run([write_rows(data, made_rows(5)), more], tmp_path / "out")


def test_a_clock_that_goes_backwards_changes_nothing(tmp_path, monkeypatch):
    data = write_rows(tmp_path / "in.jsonl", made_rows(1100))
    run(data, tmp_path / "whole")
    now = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(now)))
    with pytest.raises(StopError):
        run(data, tmp_path / "out", watch=after_shards(1, stop))
    assert run(data, tmp_path / "out").shards_scored == 1
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_bad_rows_are_told_with_file_and_line_and_all_rows_are_accounted_for(tmp_path):
    lines = [json.dumps(row).encode() for row in made_rows(6)]
    lines[1] = b"{not json"
    lines[2] = b'{"candidate": "\xff", "references": ["a"]}'
    lines[3] = b'{"candidate": "a", "references": []}'
    lines[4] = b'["a list"]'
    data = tmp_path / "in.jsonl"
    data.write_bytes(b"\n".join(lines) + b"\n\n")
    summary = run(data, tmp_path / "out").summary
    assert (summary.rows, summary.scored, summary.flagged, summary.failed) == (6, 1, 1, 4)
    errors = [json.loads(line) for line in content(tmp_path / "out")[1].splitlines()]
    said = {error["line"]: error["error"] for error in errors}
    assert {error["file"] for error in errors} == {str(data)}
    for line, words in {2: "not JSON", 3: "not UTF-8", 4: "needs references", 5: "JSON object"}.items():
        assert words in said[line]


def test_duplicate_ids_are_counted_and_scored(tmp_path):
    rows = [*made_rows(5), *made_rows(2)]
    summary = run(write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out").summary
    assert (summary.rows, summary.duplicate_ids, summary.duplicate) == (7, 2, "r0")


def test_rows_without_ids_of_several_files_get_ids_of_their_own(tmp_path):
    rows = [{key: row[key] for key in ("candidate", "references")} for row in made_rows(3)]
    files = [write_rows(tmp_path / name, rows) for name in ("a.jsonl", "b.jsonl")]
    assert run(files, tmp_path / "out").summary.duplicate_ids == 0
    assert ids(tmp_path / "out") == [f"{name}:{number}" for name in ("a.jsonl", "b.jsonl") for number in (1, 2, 3)]


def test_parquet_holds_the_same_scores(tmp_path):
    pytest.importorskip("pyarrow")
    data = write_rows(tmp_path / "in.jsonl", made_rows(1100))
    lines = run(data, tmp_path / "lines", SPECS[1:]).summary
    table = run(data, tmp_path / "table", SPECS[1:], form="parquet").summary
    assert table.to_json() == lines.to_json()


def test_parquet_shards_are_merged_one_by_one_with_all_columns(tmp_path):
    """A shard whose rows all failed under SARI, which needs sources, has no column for it."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [row | {"source": "the cat sat"} if number < 1024 else row for number, row in enumerate(made_rows(1100))]
    data = write_rows(tmp_path / "in.jsonl", rows)
    run(data, tmp_path / "out", ("rouge1", "sari"), form="parquet")
    finished = FinishedJob.open(open_folder(tmp_path / "out"))
    merge_shards(finished, tmp_path / "all.parquet")
    merged = parquet.ParquetFile(tmp_path / "all.parquet")
    assert merged.num_row_groups == 2
    assert {"score.f1", "score.score"} <= set(merged.schema_arrow.names)
    assert merged.read().num_rows == 2200
    assert list(decode((tmp_path / "all.parquet").read_bytes(), "parquet")) == list(finished.rows())


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    data = write_rows(tmp_path / "in.jsonl", made_rows(5))
    with pytest.raises(FileFormatError, match=r"holds other files \(in\.jsonl\)"):
        run(data, tmp_path)
