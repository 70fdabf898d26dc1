"""The commands as a user types them."""

import csv
import gzip
import json

import pytest

import evalign

SPEC = "bertscore(model=fake)"
ROWS = [
    ("the cat sat on the mat", "a cat was sitting on the mat", "x"),
    ("dogs bark", "the dogs are barking loudly tonight", "y"),
    ("it rains in the north of the country today", "rain", "x"),
    ("one two three", "one two three", "y"),
    ("so", "something quite different from that", "x"),
]


@pytest.fixture
def expected():
    return evalign.metric(SPEC).score([row[0] for row in ROWS], [row[1] for row in ROWS])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "cand.txt").write_text("\n".join(row[0] for row in ROWS) + "\n")
    (tmp_path / "ref.txt").write_text("\r\n".join(row[1] for row in ROWS), encoding="utf-8-sig")
    records = [{"candidate": c, "references": [r], "system": s} for c, r, s in ROWS]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n\n")
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt") as stream:
        stream.write((tmp_path / "rows.jsonl").read_text())
    for name, delimiter in (("rows.csv", ","), ("rows.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter=delimiter)
            writer.writerows([("hyp", "gold"), *((c, r) for c, r, _ in ROWS)])
    return tmp_path


def means(result):
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["results"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "cand.txt", "-r", "ref.txt"],
        ["rows.csv", "--candidate-field", "hyp", "--reference-field", "gold"],
        ["rows.tsv", "--candidate-field", "hyp", "--reference-field", "gold"],
    ],
    ids=["text", "csv", "tsv"],
)
def test_every_input_gives_the_librarys_numbers(arguments, files, run, expected):
    [result] = means(run("score", *arguments, "-m", SPEC, "--format", "json", cwd=files))
    assert result["n"] == 5
    assert result["signature"] == expected.signature
    for name in ("precision", "recall", "f1"):
        assert result["scores"][name] == pytest.approx(expected.mean(name), abs=1e-12)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "-"])
def test_jsonl_is_grouped_by_system(name, files, run, expected):
    stdin = (files / "rows.jsonl").read_text() if name == "-" else ""
    results = means(run("score", name, "-m", SPEC, "--format", "json", cwd=files, stdin=stdin))
    assert [(result["system"], result["n"]) for result in results] == [("x", 3), ("y", 2)]
    assert results[0]["scores"]["f1"] == pytest.approx(expected["f1"][[0, 2, 4]].mean())


def test_parquet(files, run, expected):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    pandas.DataFrame({"candidate": [r[0] for r in ROWS], "references": [[r[1]] for r in ROWS]}).to_parquet(
        files / "rows.parquet"
    )
    [result] = means(run("score", "rows.parquet", "-m", SPEC, "--format", "json", cwd=files))
    assert result["scores"]["f1"] == pytest.approx(expected.mean("f1"))


def test_intervals_are_printed_if_asked_for(files, run):
    arguments = ["score", "-c", "cand.txt", "-r", "ref.txt", "-m", "rouge1", "-m", "bleu", "--resamples", "100"]
    rouge, bleu = means(run(*arguments, "--format", "json", cwd=files))
    low, high = rouge["mean_intervals"]["f1"]
    assert low <= rouge["scores"]["f1"] <= high
    assert bleu["intervals"]["score"][0] <= bleu["corpus"]["score"] <= bleu["intervals"]["score"][1]
    table = run(*arguments, cwd=files).stdout
    assert f"[{low:.4f}, {high:.4f}]" in table
    header, first, *_ = run(*arguments, "--format", "tsv", cwd=files).stdout.splitlines()
    cells = dict(zip(header.split("\t"), first.split("\t"), strict=True))
    assert (float(cells["f1_low"]), float(cells["f1_high"])) == pytest.approx((low, high), abs=1e-6)


def test_several_systems_references_and_metrics(files, run):
    (files / "other.txt").write_text("\n".join(row[1].upper() for row in ROWS))
    arguments = ["-c", "cand.txt", "-c", "other.txt", "-r", "ref.txt", "-r", "cand.txt", "-m", SPEC]
    results = means(run("score", *arguments, "-m", "bertscore(model=fake, layer=0)", "--format", "json", cwd=files))
    assert [result["system"] for result in results] == ["cand", "cand", "other", "other"]
    assert results[0]["scores"]["f1"] == pytest.approx(1, abs=1e-6), "the second reference is the candidate itself"


def test_idf_counts_each_system_alone(files, run):
    spec = "bertscore(model=fake, idf=references)"
    once = means(run("score", "-c", "cand.txt", "-r", "ref.txt", "-m", spec, "--format", "json", cwd=files))
    arguments = ["-c", "cand.txt", "-c", "ref.txt", "-r", "ref.txt", "-m", spec, "--format", "json"]
    assert means(run("score", *arguments, cwd=files))[0]["signature"] == once[0]["signature"]


def test_idf_table_fitted_merged_and_used(files, run):
    assert run("fit", "idf", "ref.txt", "-o", "idf.json", "--model", "fake", cwd=files).returncode == 0
    assert run("fit", "idf", "idf.json", "idf.json", "-o", "twice.json", "--merge", cwd=files).returncode == 0
    table = evalign.IDFTable.load(files / "idf.json")
    assert evalign.IDFTable.load(files / "twice.json") == table.merge(table)
    of_rows, of_table = (
        means(run("score", "-c", "cand.txt", "-r", "ref.txt", "-m", f"bertscore(model=fake, idf={idf})", "--format",
                  "json", cwd=files))[0]
        for idf in ("references", "idf.json")
    )  # fmt: skip
    assert of_rows["scores"] == of_table["scores"]
    pinned = of_rows["signature"].replace("references@", "table@").replace("idf=references", "idf=idf.json")
    assert pinned == of_table["signature"]


def test_segments(files, run, expected):
    arguments = ["-c", "cand.txt", "-r", "ref.txt", "-m", SPEC]
    run("score", *arguments, "--segments", "out.jsonl", cwd=files)
    lines = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    assert [line["scores"]["f1"] for line in lines] == expected["f1"].tolist()
    [inside] = means(run("score", *arguments, "--format", "json", "--segments", "-", cwd=files))
    assert [segment["scores"]["f1"] for segment in inside["segments"]] == expected["f1"].tolist()
    table = run("score", *arguments, "--format", "tsv", "--segments", "-", cwd=files).stdout.splitlines()
    assert table[0].split("\t") == ["system", "metric", "id", "precision", "recall", "f1", "flags", "error"]
    assert [float(line.split("\t")[5]) for line in table[1:]] == pytest.approx(expected["f1"], abs=1e-6)


@pytest.mark.parametrize(("form", "digits"), [("table", 4), ("tsv", 6), ("latex", 4)])
def test_formats_show_the_means_and_the_signature(form, digits, files, run, expected):
    result = run("score", "-c", "cand.txt", "-r", "ref.txt", "-m", SPEC, "--format", form, cwd=files)
    assert result.returncode == 0
    assert f"{expected.mean('f1'):.{digits}f}" in result.stdout
    assert expected.signature in result.stdout


def test_align_shows_partners_and_json_holds_the_matrix(run):
    picture = run("align", "the cat sat", "a cat was here", "-m", SPEC)
    assert picture.returncode == 0
    assert "best partner" in picture.stdout
    document = json.loads(run("align", "the cat sat", "a cat was here", "-m", SPEC, "--format", "json").stdout)
    assert document["candidate"]["pieces"] == ["<s>", "the", "cat", "sat", "</s>"]
    assert len(document["similarity"]) == 5
    assert document["matchings"][0]["candidate_partners"][2] == 2


def test_explain_writes_out_the_arithmetic(run):
    shown = run("explain", "the cat sat", "a cat was here", "-m", SPEC).stdout
    alignment = evalign.metric(SPEC).align("the cat sat", "a cat was here")
    terms = " + ".join(f"{value:.3f}" for value in alignment.candidate_values[1:-1])
    assert f"P = ({terms}) / 3 = {alignment.scores['precision']:.4f}" in shown
    assert f"= {alignment.scores['f1']:.4f}" in shown


def test_metrics_and_models_list_everything(run):
    assert "bertscore" in run("metrics").stdout
    assert "overlong" in run("metrics", "bertscore").stdout
    assert "minilm" in run("models").stdout
    assert "roberta-large\t17" in run("models", "layers", "--format", "tsv").stdout


def test_tokens_cannot_steer_the_terminal(run):
    shown = run("align", "a \x1b[31m b \u202e c", "a b", "-m", SPEC).stdout
    assert "\x1b[31m" not in shown
    assert "\u202e" not in shown
