"""Which rows a job reads: every format and packing, patterns and folders, fsspec's file systems, damaged files."""

import csv
import gzip
import json
from contextlib import closing

import pytest

from batch_jobs import made_rows, write_rows
from evalign.batch.inputs import ShardReader, find_files, make_plan
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io import records


def read(paths, shard_rows=1024, order=lambda shards: shards):
    """All records, shard by shard."""
    plan = make_plan(find_files([str(path) for path in paths]), shard_rows)
    with closing(ShardReader()) as reader:
        by_shard = {shard.number: [record.fields for record in reader.read(shard)] for shard in order(plan.shards)}
    return [row for number in sorted(by_shard) for row in by_shard[number]]


def flat(count):
    return [
        {"id": row["id"], "candidate": row["candidate"], "reference": row["references"][0]} for row in made_rows(count)
    ]


def write_csv(path, rows, delimiter=","):
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    pyarrow.parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def pack_gzip(path):
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def pack_zstd(path):
    zstandard = pytest.importorskip("zstandard")
    half, content = len(path.read_bytes()) // 2, path.read_bytes()
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(b"".join(zstandard.compress(part) for part in (content[:half], content[half:])))  # two frames
    return packed


WRITERS = {
    "jsonl": write_rows,
    "csv": write_csv,
    "tsv": lambda path, rows: write_csv(path, rows, "\t"),
    "parquet": write_parquet,
}


PACKERS = {"plain": lambda path: path, "gzip": pack_gzip, "zstd": pack_zstd}
KINDS = [(kind, pack) for kind in WRITERS for pack in PACKERS if kind != "parquet" or pack == "plain"]


@pytest.mark.parametrize(("kind", "pack"), KINDS)
def test_every_format_in_any_order_of_shards(tmp_path, kind, pack):
    rows = flat(2100)
    rows[1030]["candidate"] = 'two\nlines, a "quote"\tand a tab'
    path = PACKERS[pack](WRITERS[kind](tmp_path / f"in.{kind}", rows))
    for order in (lambda shards: shards, lambda shards: shards[::-1], lambda shards: (shards[0], shards[2], shards[1])):
        assert read([path], order=order) == rows


def test_patterns_and_folders_give_their_files_sorted_and_each_once(tmp_path):
    names = ["b.jsonl", "a.jsonl", "sub/c.csv", "notes.txt", ".hidden.jsonl"]
    (tmp_path / "sub").mkdir()
    for name in names:
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = [path for path, _ in find_files([str(tmp_path / "*.jsonl"), str(tmp_path)])]
    assert found == [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl", "sub/c.csv")]
    with pytest.raises(FileFormatError, match="no such file"):
        find_files([str(tmp_path / "none*.jsonl")])


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_urls_of_fsspec(tmp_path, protocol):
    fsspec = pytest.importorskip("fsspec")
    root = f"memory://{tmp_path.name}" if protocol == "memory" else tmp_path.as_uri()
    rows = flat(1100)
    plain = write_rows(tmp_path / "plain", rows).read_bytes()
    for name, content in (("a.jsonl", plain), ("b.jsonl.gz", gzip.compress(plain))):
        with fsspec.open(f"{root}/{name}", "wb") as stream:
            stream.write(content)
    assert read([f"{root}/a.jsonl"]) == rows
    assert read([f"{root}/*.jsonl*"]) == rows * 2
    with pytest.raises(FileFormatError, match="no such file"):
        find_files([f"{root}/none.jsonl"])


def test_the_plan_follows_from_the_rows_and_not_from_their_packing(tmp_path):
    path = write_rows(tmp_path / "in.jsonl", flat(1100))
    plans = [make_plan(find_files([str(file)]), 1024) for file in (path, pack_gzip(path))]
    assert len({tuple((shard.first, shard.rows, shard.sha256) for shard in plan.shards) for plan in plans}) == 1
    assert plans[0].files[0].sha256 == plans[1].files[0].sha256


@pytest.mark.parametrize("pack", [pack_gzip, pack_zstd])
def test_a_packed_file_that_was_cut_short_is_told(tmp_path, pack):
    path = pack(write_rows(tmp_path / "in.jsonl", flat(1100)))
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(FileFormatError, match="damaged compressed file"):
        read([path])


def test_a_line_that_is_too_long_fails_alone_and_is_never_held(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "in.jsonl"
    short, long = json.dumps({"candidate": "a"}), json.dumps({"candidate": "a" * 5000})
    path.write_text(f"{short}\n{long}\n{short}\n", encoding="utf-8")
    (shard,) = make_plan(find_files([str(path)]), 1024).shards
    with closing(ShardReader()) as reader:
        lines = list(reader.read(shard))
    assert [record.line for record in lines] == [1, 2, 3]
    assert "longer than" in lines[1].error
    assert max(len(record.raw) for record in lines) <= 1001


def test_a_bad_record_of_csv_fails_alone(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b'candidate,reference\na,b\n"x"y,b\na,b,c\n\xff,b\na,b\n')
    (shard,) = make_plan(find_files([str(path)]), 1024).shards
    with closing(ShardReader()) as reader:
        read = list(reader.read(shard))
    assert read[0].fields == read[4].fields == {"candidate": "a", "reference": "b"}
    assert all(isinstance(record, records.BadRecord) for record in read[1:4])
    assert "','-separated" in read[1].error
    assert read[2].error == "3 fields, the header has 2"
    assert read[3].error == "not UTF-8 (invalid start byte at byte 0 of the line)"


def test_shards_are_whole_blocks(tmp_path):
    path = write_rows(tmp_path / "in.jsonl", flat(5))
    with pytest.raises(SpecError, match="multiple of 1024"):
        make_plan(find_files([str(path)]), 1000)


def test_no_rows_at_all(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n")
    with pytest.raises(InputError, match="the input is empty"):
        make_plan(find_files([str(path)]), 1024)
