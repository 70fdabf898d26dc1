"""Bad input: one clear sentence on standard error, exit code 2, no traceback, no half-written file."""

import json
import shutil

import pytest

from evalign.encoders.weights import KNOWN, local_directory

FAKE = "bertscore(model=fake)"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("a b\nc d\n")
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    (tmp_path / "latin.txt").write_bytes(b"a\n\xff\xfe\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "broken.jsonl").write_text('{"candidate": "a", "references": ["b"]}\n{oops\n')
    (tmp_path / "list.jsonl").write_text("[1, 2]\n")
    (tmp_path / "noref.jsonl").write_text('{"candidate": "a"}\n')
    (tmp_path / "typo.jsonl").write_text('{"candidat": "a", "references": ["b"]}\n')
    (tmp_path / "number.jsonl").write_text('{"candidate": 3, "references": ["b"]}\n')
    (tmp_path / "ragged.csv").write_text("candidate,reference\na,b\na,b,c\n")
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab")
    (tmp_path / "no-weights").mkdir()
    (tmp_path / "no-weights" / "config.json").write_text('{"model_type": "bert"}')
    return tmp_path


TWO = ["-c", "two.txt", "-r", "two.txt"]
# arguments, what the sentence must say
CASES = {
    "unequal lengths": (["-c", "two.txt", "-r", "three.txt"], "two.txt has 2 lines, three.txt has 3 lines"),
    "missing file": (["-c", "nope.txt", "-r", "two.txt"], "nope.txt: no such file"),
    "directory": (["-c", ".", "-r", "two.txt"], "directory"),
    "invalid UTF-8": (["-c", "latin.txt", "-r", "two.txt"], "latin.txt:2: not UTF-8"),
    "unknown metric": ([*TWO, "-m", "bretscore"], "did you mean bertscore"),
    "unknown option": ([*TWO, "-m", "bertscore(laier=3)"], "did you mean layer"),
    "unknown value": ([*TWO, "-m", "bertscore(specials=kep)"], "did you mean keep?"),
    "not a number": ([*TWO, "-m", "bertscore(threads=x)"], "expected a whole number"),
    "broken spec": ([*TWO, "-m", "bertscore(layer=4"], "at position 18"),
    "negative layer": ([*TWO, "-m", "bertscore(model=fake, layer=-4)"], "layer=-4"),
    "layer too high": ([*TWO, "-m", "bertscore(model=fake, layer=99)"], "0 (the embeddings)"),
    "no safetensors": ([*TWO, "-m", "bertscore(model=no-weights)"], "no model.safetensors"),
    "no such model": ([*TWO, "-m", 'bertscore(model="no such")'], "no such directory"),
    "no idf table": ([*TWO, "-m", "bertscore(model=fake, idf=x.json)"], "no table there"),
    "no baseline": ([*TWO, "-m", "bertscore(model=fake, rescale=x.tsv)"], "no baseline file"),
    "no sources for idf": ([*TWO, "-m", "bertscore(model=fake, idf=sources)"], "needs a source"),
    "not JSON": (["broken.jsonl"], "broken.jsonl:2: not JSON"),
    "JSON but no object": (["list.jsonl"], "list.jsonl:1: expected a JSON object"),
    "no references": (["noref.jsonl"], "needs references"),
    "misspelt field": (["typo.jsonl"], "no field 'candidate'"),
    "not a text": (["number.jsonl"], "candidate must be a text, found int"),
    "ragged CSV": (["ragged.csv"], "ragged.csv:3: 3 fields, the header has 2"),
    "damaged gzip": (["cut.jsonl.gz"], "cut.jsonl.gz: damaged compressed file"),
    "unknown format": (["two.txt"], "--input-format"),
    "no input at all": ([], "nothing to score"),
    "two text files": (["two.txt", "other.txt"], "evalign score -c two.txt -r other.txt"),
    "nothing on standard input": (["-r", "two.txt"], "standard input has 0 lines"),
    "no references given": (["-c", "two.txt"], "no references"),
    "empty files": (["-c", "empty.txt", "-r", "empty.txt"], "the input is empty"),
    "both kinds of input": (["broken.jsonl", "-c", "two.txt"], "not both"),
    "segments in a table": ([*TWO, "--segments", "-"], "--format json or tsv"),
    "unknown tokenizer": ([*TWO, "-m", "rouge1(tokens=words)"], "evalign.register_tokenizer"),
    "a checkpoint file": ([*TWO, "-m", "bartscore(model=bart.pth)"], "save_pretrained(DIR)"),
    "a language's name": ([*TWO, "-m", "bleu(trg_lang=German)"], "code of a language"),
    "segments into nowhere": ([*TWO, "--segments", "no/where.jsonl"], "no such folder"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_exit_code_2(case, folder, run):
    arguments, said = CASES[case]
    if "-m" not in arguments:
        arguments = [*arguments, "-m", FAKE]
    if "--segments" not in arguments:
        arguments = [*arguments, "--segments", "out.jsonl"]
    result = run("score", *arguments, cwd=folder)
    assert result.returncode == 2, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not list(folder.glob("*out.jsonl*")), "no half-written output"


def test_a_stream_cannot_be_read_twice_for_idf(folder, run):
    row = json.dumps({"candidate": "a", "references": ["b"]})
    result = run("score", "-", "-m", "bertscore(model=fake, idf=references)", cwd=folder, stdin=row)
    assert result.returncode == 2
    assert "evalign fit idf" in result.stderr


def test_damaged_weights_and_wrong_digest(folder, run, minilm, monkeypatch):
    damaged = folder / "damaged"
    shutil.copytree(minilm, damaged)
    with (damaged / "model.safetensors").open("r+b") as stream:
        stream.truncate(1_000_000)
    result = run("score", "-c", "two.txt", "-r", "two.txt", "-m", "bertscore(model=damaged)", cwd=folder)
    assert (result.returncode, "cut short" in result.stderr) == (2, True), result.stderr

    wrong = folder / "cache" / "models" / KNOWN["minilm"].label
    shutil.copytree(minilm, wrong)
    with (wrong / "model.safetensors").open("r+b") as stream:
        stream.seek(-4, 2)
        stream.write(b"\x00\x00\x80\x3f")
    with monkeypatch.context() as patch:
        patch.setenv("EVALIGN_CACHE", str(folder / "cache"))
        result = run("score", "-c", "two.txt", "-r", "two.txt", cwd=folder)
    assert result.returncode == 2
    assert "model.safetensors is not that of all-MiniLM-L6-v2" in result.stderr
    assert local_directory(KNOWN["minilm"]) == minilm


def test_rows_that_fail_alone_give_exit_code_3(folder, run, minilm):
    rows = [{"id": name, "candidate": text, "references": ["short"]} for name, text in
            (("fits", "short"), ("long", "far too long for five tokens"), ("also", "short too"))]  # fmt: skip
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    spec = "bertscore(overlong=error, max_length=5)"
    result = run("score", "rows.jsonl", "-m", spec, "--format", "json", "--segments", "out.jsonl", cwd=folder)
    assert result.returncode == 3
    [report] = json.loads(result.stdout)["results"]
    assert (report["n"], report["failed"]) == (2, 1)
    assert "1 rows failed under bertscore" in result.stderr
    assert "row long: " in result.stderr
    segments = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [bool(segment.get("error")) for segment in segments] == [False, True, False]
    assert "far too long" in segments[1]["error"]
