"""`evalign train --combine`, from a rated file to scores with what was learned."""

import json

import pytest

WORDS = ["river", "stone", "bridge", "winter", "letter", "garden", "silver", "music"]


@pytest.fixture
def rated(tmp_path):
    """Candidates that keep some words of their reference, rated 0 to 100 by how many."""
    with (tmp_path / "rated.jsonl").open("w", encoding="utf-8") as stream:
        for place in range(48):
            words = [WORDS[(place * 3 + step * (1 + place % 5)) % 8] for step in range(8)]
            kept = place * 5 % 9
            candidate = " ".join([*words[:kept], *["other"] * (8 - kept)])
            row = {
                "id": str(place),
                "candidate": candidate,
                "references": [" ".join(words)],
                "source": f"s{place % 12}",
            }
            stream.write(json.dumps(row | {"human": {"adequacy": kept * 12.5, "style": 3}}) + "\n")
    return tmp_path


def test_train_and_score(run, rated):
    done = run("train", "rated.jsonl", "--combine", "-m", "layers(bertscore(model=fake)).f1", "-m", "chrf", "-m",
               "length-ratio", "--scale", "0", "100", "--aspect", "adequacy", "-o", "ours.json", cwd=rated)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "On rows not seen (48 rows of 12 sources, 5 folds), scale 0 to 100" in done.stdout
    assert "learned(file=ours.json)" in done.stdout
    scored = run("score", "rated.jsonl", "-m", "learned(file=ours.json)", "--format", "json", cwd=rated)
    assert scored.returncode == 0, scored.stderr
    (result,) = json.loads(scored.stdout)["results"]
    assert 30 < result["scores"]["score"] < 70
    content = json.loads((rated / "ours.json").read_text("utf-8"))
    assert result["signature"].startswith(f"learned|file:{content['sha256'][:8]}|parts:")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "chrf", "--aspect", "style", "-o", "a.json"], "every row is rated 3"),
        (["-m", "chrf", "--aspect", "grammar", "-o", "a.json"], "people rated adequacy, style"),
        (["-m", "chrf", "--folds", "20", "-o", "a.json"], "20 folds need rows of at least as many sources, found 12"),
        (["-m", "nothing", "-o", "a.json"], "unknown metric 'nothing'"),
        (["-o", "a.json"], "nothing to combine"),
        (["-m", "chrf", "-o", "none/a.json"], "no such folder"),
        (["-m", "chrf", "--human-field", "rating", "-o", "a.json"], "no row has a human score"),
        (["-m", "chrf", "--scale", "0", "50", "-o", "a.json"], "ratings run from 0 to 100"),
    ],
)
def test_bad_input(run, rated, arguments, said):
    done = run("train", "rated.jsonl", "--combine", *arguments, cwd=rated)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (rated / "a.json").exists()
