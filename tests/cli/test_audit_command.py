"""`evalign audit` as a user has it."""

import json

import pytest

LINES = [
    {"id": str(place), "candidate": f"the cat sat on mat {place}", "references": [f"the cat sat on {'a ' * place}mat"],
     "human": [-place, -place + place % 2], "system": "ABC"[place % 3]}
    for place in range(12)
]  # fmt: skip
QUICK = ("--resamples", "50")


@pytest.fixture
def data(tmp_path):
    (tmp_path / "rated.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    (tmp_path / "constant.jsonl").write_text("\n".join(json.dumps(line | {"human": 1}) for line in LINES))
    (tmp_path / "none.jsonl").write_text("\n".join(json.dumps(line | {"human": None}) for line in LINES))
    (tmp_path / "one.jsonl").write_text(json.dumps(LINES[0]))
    (tmp_path / "bad.jsonl").write_text("{oops")
    head = "candidate,reference,anna,ben\n"
    (tmp_path / "raters.csv").write_text(head + "".join(f"the cat {k},the cat,{k},{k + k % 2}\n" for k in range(9)))
    return tmp_path


def test_table_and_page(run, data):
    done = run(
        "audit", "rated.jsonl", "-m", "bertscore(model=fake)", "-m", "rouge1", *QUICK, "--html", "audit.html", cwd=data
    )
    assert done.returncode == 0, done.stderr
    page = (data / "audit.html").read_text()
    for said in ("Krippendorff", "Pearson", "Cost and its growth", "misspelling", "Two halves", "rouge1|mode:paper"):
        assert said in done.stdout
        assert said in page
    assert "nan" not in done.stdout.lower()
    assert "12 rows (all rated rows)" in done.stdout
    assert "<script" not in page


def test_json_and_sample(run, data):
    done = run("audit", "rated.jsonl", "-m", "rouge1", *QUICK, "--sample-rows", "5", "--format", "json", cwd=data)
    said = json.loads(done.stdout)
    assert (said["sampled"], said["data"]["rows"], said["data"]["ratings"]["human"]["raters"]) == (5, 12, 2)
    (one,) = said["metrics"]
    assert set(one) == {"metric", "signature", "agreement", "cost", "robustness", "reliability"}
    assert one["agreement"]["human"]["segment"]["pearson"]["n"] == 5


def test_raters_in_columns(run, data):
    done = run("audit", "raters.csv", "-m", "rouge1", *QUICK, "--rater-field", "anna", "--rater-field", "ben", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "one rating each" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["constant.jsonl", "-m", "rouge1"], "human scores are constant (1 in all 12 rows)"),
        (["none.jsonl", "-m", "rouge1"], "no row has a human score"),
        (["one.jsonl", "-m", "rouge1"], "at least 3 rows with human scores, found 1"),
        (["rated.jsonl", "-m", "rogue1"], "did you mean rouge1"),
        (["nowhere.jsonl", "-m", "rouge1"], "no such file"),
        (["bad.jsonl", "-m", "rouge1"], "not JSON"),
        (["rated.jsonl", "-m", "rouge1", "--rater-field", "carla"], "no field 'carla'"),
        (["rated.jsonl", "-m", "rouge1", "--sample-rows", "2"], "sample_rows=2"),
        (["rated.jsonl", "-m", "rouge1", "--html", "no/where.html"], "no/where.html"),
    ],
)
def test_bad_input(run, data, arguments, said):
    done = run("audit", *arguments, cwd=data)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
