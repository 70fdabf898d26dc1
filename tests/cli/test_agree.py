"""`evalign agree` and `evalign fit layers` as a user has them."""

import json

import pytest

LINES = [
    {"id": str(place), "candidate": f"the cat sat on mat {place}", "references": [f"the cat sat on {'a ' * place}mat"],
     "human": -place, "lp": ("de-en", "fr-en")[place % 2], "doc": place // 3, "system": "ABC"[place % 3]}
    for place in range(18)
]  # fmt: skip
FAKE = ("-m", "bertscore(model=fake)", "--resamples", "50")


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rated.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    (tmp_path / "comet.tsv").write_text("\n".join(f"{line['id']}\t{line['human'] / 2}" for line in LINES))
    (tmp_path / "constant.jsonl").write_text("\n".join(json.dumps(line | {"human": 1}) for line in LINES))
    (tmp_path / "none.jsonl").write_text("\n".join(json.dumps(line | {"human": None}) for line in LINES))
    (tmp_path / "two.jsonl").write_text("\n".join(map(json.dumps, LINES[:2])))
    (tmp_path / "short.tsv").write_text("1\n2\n")
    pairs = [{"references": ["a cat"], "better": "a cat", "worse": "the dog", "id": place} for place in range(4)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    return tmp_path


def test_table_with_groups_and_somebody_elses_scores(run, data):
    done = run("agree", "rated.jsonl", *FAKE, "--scores", "comet=comet.tsv", "--within", "lp", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "comet" in done.stdout
    assert "1.000 [1.000, 1.000]" in done.stdout
    assert "de-en" in done.stdout
    assert "permutation test" in done.stdout


def test_json_names_everything(run, data):
    done = run("agree", "rated.jsonl", *FAKE, "--scores", "comet.tsv", "--format", "json", cwd=data)
    said = json.loads(done.stdout)
    assert said["rows"] == 18
    assert [one["metric"] for one in said["judgements"]] == ["comet", "bertscore(model=fake)"]
    best = said["judgements"][0]
    assert best["statistics"]["spearman"]["value"] == pytest.approx(1)
    assert best["rank"] == 1
    assert said["signatures"]["bertscore(model=fake)"].startswith("bertscore|")


def test_the_metric_is_bertscore_unless_metrics_or_scores_are_named(run, data, minilm):
    done = run("agree", "rated.jsonl", "--resamples", "50", "--format", "json", cwd=data)
    assert [entry["metric"] for entry in json.loads(done.stdout)["judgements"]] == ["bertscore"]
    done = run("agree", "rated.jsonl", "--resamples", "50", "--scores", "comet.tsv", "--format", "json", cwd=data)
    assert [entry["metric"] for entry in json.loads(done.stdout)["judgements"]] == ["comet"]


@pytest.mark.parametrize("form", ["tsv", "latex"])
def test_other_formats(run, data, form):
    done = run("agree", "rated.jsonl", *FAKE, "--format", form, "--statistic", "kendall", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "kendall" in done.stdout


def test_pairs(run, data):
    done = run("agree", "pairs.jsonl", *FAKE, "--pairs", "better", "worse", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "1.000 [1.000, 1.000]" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.jsonl", *FAKE], "no row has a human score"),
        (["two.jsonl", *FAKE], "at least 3 rows"),
        (["rated.jsonl", *FAKE, "--within", "language"], "no field 'language'"),
        (["rated.jsonl", *FAKE, "--level", "summary"], "--document"),
        (["rated.jsonl", *FAKE, "--scores", "short.tsv"], "2 scores for 18 rows"),
        (["rated.jsonl", *FAKE, "--scores", "x=nowhere.tsv"], "no such file"),
        (["rated.jsonl", *FAKE, "--statistic", "spa", "--test", "none"], "add --level system"),
        (["rated.jsonl", *FAKE, "--missing", "cells", "--html", "x.html"], "leave out --html"),
        (
            ["pairs.jsonl", *FAKE, "--pairs", "better", "worse", "--scores", "short.tsv"],
            "cannot be combined with --pairs",
        ),
        (["pairs.jsonl", *FAKE, "--pairs", "better", "other"], "no field 'other'"),
    ],
)
def test_bad_input(run, data, arguments, said):
    done = run("agree", *arguments, cwd=data)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_constant_human_scores_are_said_not_nan(run, data):
    done = run("agree", "constant.jsonl", *FAKE, cwd=data)
    assert done.returncode == 0, done.stderr
    assert "human scores are constant" in done.stdout
    assert "nan" not in done.stdout.lower()


def test_layers_tune(run, data):
    done = run("fit", "layers", "rated.jsonl", *FAKE, "--within", "lp", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "Best: bertscore(model=fake, layer=" in done.stdout
    assert "the folds chose" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two.jsonl", *FAKE], "at least 3 rated rows"),
        (["rated.jsonl", *FAKE, "--aspect", "fluency"], "people rated human"),
    ],
)
def test_layers_tune_bad_input(run, data, arguments, said):
    done = run("fit", "layers", *arguments, cwd=data)
    assert done.returncode == 2
    assert said in done.stderr


def test_baseline_fit_and_use(run, data):
    (data / "texts.txt").write_text(
        "\n".join(f"{word} number {place}" for place in range(20) for word in ("big", "red"))
    )
    done = run(
        "fit",
        "baseline",
        "texts.txt",
        "-o",
        "base.tsv",
        "-m",
        "bertscore(model=fake)",
        "--random-pairs",
        "60",
        cwd=data,
    )
    assert done.returncode == 0, done.stderr
    assert "60 pairs of 40 texts" in done.stdout
    used = run("score", "rated.jsonl", "-m", "bertscore(model=fake, rescale=base.tsv, scale=percentile)", cwd=data)
    assert used.returncode == 0, used.stderr
    assert ",percentile" in used.stdout
