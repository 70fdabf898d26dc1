"""Files that commands write: no input is overwritten, and a name that ends in .gz or .zst is compressed."""

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from evalign.io.files import whole_file
from evalign.io.rows import Columns, TableFile

ROWS = [
    {"id": "1", "candidate": "the cat", "reference": "a cat", "system": "a", "human": 1},
    {"id": "1", "candidate": "a cat", "reference": "a cat", "system": "b", "human": 2},
    {"id": "2", "candidate": "a dog", "reference": "two dogs", "system": "a", "human": 3},
]


@pytest.fixture
def rows(tmp_path, monkeypatch) -> str:
    """Rows in the working folder, which is the test's own."""
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    Path("a.txt").write_text("the cat\na dog\n", encoding="utf-8")
    return "rows.jsonl"


@pytest.mark.parametrize(
    "command",
    [
        "score rows.jsonl -m chrf --segments rows.jsonl",
        "score --segments ./rows.jsonl -m chrf rows.jsonl",
        "score rows.jsonl -m chrf --html rows.jsonl",
        "score rows.jsonl -m chrf --html link.html",
        "score -c a.txt -r rows.jsonl -m chrf --segments a.txt",
        "compare rows.jsonl -m chrf --html rows.jsonl",
        "agree rows.jsonl -m chrf --html rows.jsonl",
        "audit rows.jsonl -m chrf --html rows.jsonl",
        "fit idf a.txt -o a.txt",
        "fit baseline a.txt -o a.txt",
        "train combine rows.jsonl -m chrf -o rows.jsonl",
    ],
)
def test_an_input_is_not_overwritten(rows, run, command):
    Path("link.html").symlink_to(rows)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "would be written and read: name another file for the output" in done.stderr
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_two_results_need_two_files(rows, run):
    done = run("score", rows, "-m", "chrf", "--segments", "out", "--html", "./out")
    assert done.returncode == 2
    assert "out would be written twice: name another file for the output" in done.stderr
    assert not Path("out").exists()


def test_an_earlier_result_is_replaced_and_devices_take_several(rows, run):
    for _ in range(2):
        assert run("score", rows, "-m", "chrf", "--segments", "segments.jsonl", "--html", "page.html").returncode == 0
    assert run("score", rows, "-m", "chrf", "--segments", "/dev/null", "--html", "/dev/null").returncode == 0


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_rows_are_compressed_as_their_name_says(rows, run, packed):
    """What a command writes another one reads: by the content, not only by the name."""
    assert run("score", rows, "-m", "chrf", "--segments", f"segments.jsonl{packed}").returncode == 0
    assert run("batch", "run", rows, "-m", "chrf", "-o", "job").returncode == 0
    assert run("batch", "merge", "job", "-o", f"merged.jsonl{packed}").returncode == 0
    unpack = {
        "": bytes,
        ".gz": gzip.decompress,
        ".zst": lambda raw: zstandard.ZstdDecompressor().stream_reader(raw).read(),
    }
    for name in ("segments", "merged"):
        lines = unpack[packed](Path(f"{name}.jsonl{packed}").read_bytes()).splitlines()
        assert [json.loads(line)["id"] for line in lines] == ["1", "1", "2"]
    done = run("agree", rows, "--scores", f"chrf=segments.jsonl{packed}", "--format", "json")
    assert done.returncode == 0, done.stderr


def test_compressed_files_are_the_same_bytes_each_time(tmp_path):
    for name in ("first.gz", "first.zst"):
        for _ in range(2):
            with whole_file(tmp_path / name, compress=True) as stream:
                stream.write("the cat\n" * 1000)
        with whole_file(tmp_path / name.replace("first", "second"), compress=True) as stream:
            stream.write("the cat\n" * 1000)
        assert (tmp_path / name).read_bytes() == (tmp_path / name.replace("first", "second")).read_bytes()
        assert (tmp_path / name).stat().st_size < 200


@pytest.mark.parametrize("ending", ["jsonl", "csv", "jsonl.gz"])
def test_tables_are_counted_by_their_references(rows, run, ending):
    """A table's texts are its references, not its lines; both commands that take texts read them alike."""
    source = TableFile(rows, Columns())
    Path("lines.txt").write_text("".join(f"{row.references[0]}\n" for row in source), encoding="utf-8")
    table = Path(f"table.{ending}")
    with whole_file(table, compress=True) as stream:
        if ending == "csv":
            stream.write("reference,x\n" + "".join(f"{row['reference']},1\n" for row in ROWS))
        else:
            stream.write(Path(rows).read_text(encoding="utf-8"))
    for file in (table, "lines.txt"):
        assert run("fit", "idf", str(file), "-o", f"{Path(file).name}.json").returncode == 0
    assert Path(f"{table.name}.json").read_bytes() == Path("lines.txt.json").read_bytes()


def test_a_table_without_references_has_no_texts(rows, run):
    Path("table.csv").write_text("target,x\na cat,1\n", encoding="utf-8")
    done = run("fit", "idf", "table.csv", "-o", "idf.json")
    assert done.returncode == 2
    assert "table.csv" in done.stderr
    assert "no field 'references'" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "agree rows.jsonl --scores x=scores.json --html scores.json",
        "agree rows.jsonl --html scores.json --scores scores.json",
        "fit baseline scores.json -o scores.tsv -m bertscore(model=fake)",
    ],
)
def test_inputs_inside_of_options_and_notes_beside_a_table_are_files_too(rows, run, command):
    Path("scores.json").write_text("1\n2\n3\n", encoding="utf-8")
    done = run(*command.split())
    assert done.returncode == 2
    assert "scores.json would be written and read" in done.stderr
    assert Path("scores.json").read_text(encoding="utf-8") == "1\n2\n3\n"
