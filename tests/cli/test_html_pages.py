"""`--html` of align, score and compare: one file whose document fits its schema and holds the command's own numbers."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from evalign.render.documents import schema

DATA = str(Path(__file__).resolve().parents[2] / "examples" / "simplification.jsonl")
FAKE = "bertscore(model=fake)"


def document(file):
    data = re.search(r'id="evalign-document">(.*?)</script>', file.read_text("utf-8"), re.DOTALL)[1]
    read = json.loads(data)
    jsonschema.validate(read, schema(read["format"].removeprefix("evalign.")), cls=jsonschema.Draft202012Validator)
    return read


def test_align(run, tmp_path):
    done = run("align", "the cat sat", "a cat was here", "-m", FAKE, "--html", str(tmp_path / "a.html"))
    assert done.returncode == 0, done.stderr
    read = document(tmp_path / "a.html")
    plain = json.loads(run("align", "the cat sat", "a cat was here", "-m", FAKE, "--format", "json").stdout)
    assert read["scores"] == plain["scores"]
    assert len(read["matchings"]) == 8


def test_score(run, tmp_path):
    done = run("score", DATA, "-m", FAKE, "-m", "bleu", "--format", "json", "--html", str(tmp_path / "s.html"))
    assert done.returncode == 0, done.stderr
    read, results = document(tmp_path / "s.html"), json.loads(done.stdout)["results"]
    assert read["results"] == results
    assert read["systems"] == ["simple-a", "simple-b"]
    assert [row["id"] for row in read["rows"]] == [
        json.loads(line)["id"] for line in Path(DATA).read_text("utf-8").splitlines()
    ]
    ours = [row["scores"][0]["f1"] for row in read["rows"] if row["system"] == "simple-a"]
    assert sum(ours) / len(ours) == pytest.approx(results[0]["scores"]["f1"])


def test_compare(run, tmp_path):
    done = run("compare", DATA, "-m", FAKE, "--format", "json", "--html", str(tmp_path / "c.html"))
    assert done.returncode == 0, done.stderr
    assert document(tmp_path / "c.html")["comparison"] == json.loads(done.stdout)
    assert len(document(tmp_path / "c.html")["rows"]) == 8


def test_a_stream_is_read_once_and_shown(run, tmp_path):
    rows = '{"candidate": "a </script> cat", "references": ["cat"], "human": 3}\n{"candidate": "b"}\n'
    done = run("score", "-", "-m", FAKE, "--html", str(tmp_path / "p.html"), stdin=rows)
    assert done.returncode == 3, done.stderr  # the second row has no references
    read = document(tmp_path / "p.html")
    assert [row["candidate"] for row in read["rows"]] == ["a </script> cat", "b"]
    assert read["rows"][1]["scores"] == [None]
    assert "references" in read["rows"][1]["errors"][0]


def test_a_file_that_cannot_be_written(run, tmp_path):
    done = run("align", "a", "b", "-m", FAKE, "--html", str(tmp_path / "no" / "x.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
