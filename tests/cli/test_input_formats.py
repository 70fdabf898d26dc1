"""Every command that reads rows reads every format and compression, and answers the same."""

import csv
import gzip
import json
import sys

import pytest

from evalign.io.rows import Columns
from evalign.io.score_files import read_scores
from evalign.training.rated_pairs import read_files, training_rows

WORDS = ["river", "stone", "bridge", "winter", "letter", "garden", "silver", "music"]
COMMANDS = {
    "score": "score DATA -m chrf --format json",
    "compare": "compare DATA -m chrf --format json",
    "agree": "agree DATA -m chrf --format json --resamples 100",
    "audit": "audit DATA -m chrf -m rouge1 --resamples 100",
    "fit layers": "fit layers DATA -m bertscore(model=fake) --resamples 10",
    "train combine": "train combine DATA -m chrf -o combined.json",
    "batch run": "batch run DATA -m chrf --workers 1 -o job",
}
TIMED = ("audit",)  # its answer contains measured seconds


def made_rows():
    """Two systems on the same inputs; the rating is the number of words that were kept."""
    for number in range(48):
        item, kept = number // 2, number * 5 % 9
        words = [WORDS[(item * 3 + step * (1 + item % 5)) % 8] for step in range(8)]
        candidate = " ".join([*words[:kept], *["other"] * (8 - kept), f"c{number}"])
        yield {"id": str(item), "system": "AB"[number % 2], "candidate": candidate,
               "reference": " ".join([*words, f"r{item}"]), "human": str(kept)}  # fmt: skip


def write(folder, ending):
    """The rows in the format and compression of a file name."""
    name, _, packed = ending.partition(".")
    rows, path = list(made_rows()), folder / f"rows.{name}"
    if name == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif name == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0], delimiter={"csv": ",", "tsv": "\t"}[name])
            writer.writeheader()
            writer.writerows(rows)
    return pack(path, packed)


def pack(path, packed):
    """The file as it is, or a compressed copy instead of it."""
    if not packed:
        return path
    compress = gzip.compress if packed == "gz" else pytest.importorskip("zstandard").compress
    target = path.with_name(f"{path.name}.{packed}")
    target.write_bytes(compress(path.read_bytes()))
    path.unlink()
    return target


def answer(run, folder, command, ending):
    folder.mkdir()
    path = write(folder, ending)
    done = run(*(path.name if word == "DATA" else word for word in command.split()), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "ending",
    [
        "jsonl.zst",
        "parquet",
        *(pytest.param(ending, marks=pytest.mark.slow) for ending in ("jsonl.gz", "csv.gz", "tsv.zst", "parquet.zst")),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_reads_every_format(tmp_path, run, command, ending):
    plain = answer(run, tmp_path / "plain", COMMANDS[command], "jsonl")
    packed = answer(run, tmp_path / "packed", COMMANDS[command], ending)
    if command not in TIMED:
        assert packed == plain.replace("rows.jsonl", f"rows.{ending}")


@pytest.mark.parametrize("packed", ["", "gz", "zst"])
def test_text_files_and_score_files(tmp_path, run, packed):
    (tmp_path / "a.txt").write_text("the cat\na dog\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("the cat\na cat\n", encoding="utf-8")
    (tmp_path / "scores.txt").write_text("0.5\n0.25\n", encoding="utf-8")
    candidates, references, scores = (str(pack(tmp_path / name, packed)) for name in ("a.txt", "b.txt", "scores.txt"))
    done = run("score", "-c", candidates, "-r", references, "-m", "rouge1", "--format", "json")
    (result,) = json.loads(done.stdout)["results"]
    assert result["scores"]["f1"] == 0.75
    assert read_scores(scores, [None, None]) == {0: 0.5, 1: 0.25}


@pytest.mark.parametrize("ending", ["jsonl.zst", "csv.gz", "tsv.zst", "parquet"])
def test_rows_to_train_on(tmp_path, ending):
    path = str(write(tmp_path, ending))
    rows = [(row.candidate, row.references[0], row.human) for row in training_rows(path, Columns())]
    assert rows == [(row["candidate"], row["reference"], row["human"]) for row in made_rows()]
    assert len(read_files([path], [], Columns(), None, None).pairs) == 48


@pytest.mark.parametrize("packed", ["gz", "zst"])
def test_pairs_without_a_header(tmp_path, packed):
    (tmp_path / "pairs.tsv").write_text('1\ta "b\ta c\t3\n2\td\te\t4\n', encoding="utf-8")
    rows = list(training_rows(str(pack(tmp_path / "pairs.tsv", packed)), Columns()))
    assert [(row.candidate, row.human) for row in rows] == [('a "b', 3.0), ("d", 4.0)]


def test_a_missing_library_is_one_sentence_with_the_install_command(tmp_path, run, monkeypatch):
    write(tmp_path, "jsonl.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    done = run("score", "rows.jsonl.zst", "-m", "chrf", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines() == [
        "evalign: reading zstd needs the extra 'data': pip install 'evalign[data]'"
    ]


@pytest.mark.parametrize("command", ["score", "batch run"])
def test_a_field_that_is_read_stands_once_in_a_header(tmp_path, run, command):
    (tmp_path / "rows.csv").write_text("candidate,reference,candidate,x,x\na,b,c,d,e\n", encoding="utf-8")
    options = ("-o", "job") if command == "batch run" else ()
    done = run(*command.split(), "rows.csv", "-m", "chrf", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert "rows.csv: the header has 2 fields 'candidate': rename all but one" in done.stderr
    assert "'x'" not in done.stderr
