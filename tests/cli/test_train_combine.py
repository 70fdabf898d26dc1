"""`evalign train combine`, from a rated file to scores with what was learned."""

import json

import pytest

WORDS = ["river", "stone", "bridge", "winter", "letter", "garden", "silver", "music"]
ADEQUACY = ["-m", "chrf", "--aspect", "adequacy"]


@pytest.fixture
def rated(tmp_path):
    """Candidates that keep some words of their reference, rated 0 to 100 by how many; four share a source."""
    with (tmp_path / "rated.jsonl").open("w", encoding="utf-8") as stream:
        for place in range(48):
            words = [WORDS[(place * 3 + step * (1 + place % 5)) % 8] for step in range(8)]
            kept = place * 5 % 9
            candidate = " ".join([*words[:kept], *["other"] * (8 - kept), f"c{place}"])
            row = {
                "id": str(place),
                "candidate": candidate,
                "references": [" ".join([*words, f"r{place}"])],
                "source": f"s{place % 12}",
            }
            stream.write(json.dumps(row | {"human": {"adequacy": kept * 12.5, "style": 3}}) + "\n")
    return tmp_path


def test_train_and_score(run, rated):
    done = run("train", "combine", "rated.jsonl", "-m", "layers(bertscore(model=fake)).f1", "-m", "chrf", "-m",
               "length-ratio", "--scale", "0", "100", "--aspect", "adequacy", "-o", "ours.json", cwd=rated)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "On held-out rows (48 rows in 12 groups, 5 folds), scale 0 to 100" in done.stdout
    assert "learned(file=ours.json)" in done.stdout
    scored = run("score", "rated.jsonl", "-m", "learned(file=ours.json)", "--format", "json", cwd=rated)
    assert scored.returncode == 0, scored.stderr
    (result,) = json.loads(scored.stdout)["results"]
    assert 30 < result["scores"]["score"] < 70
    content = json.loads((rated / "ours.json").read_text("utf-8"))
    assert result["signature"].startswith(f"learned|file:{content['sha256'][:8]}|parts:")


def test_a_finished_file_is_not_lost(run, rated):
    command = ("train", "combine", "rated.jsonl", "-m", "chrf", "--aspect", "adequacy", "-o", "ours.json")
    assert run(*command, cwd=rated).returncode == 0
    made = (rated / "ours.json").read_bytes()
    assert run(*command, "--threads", "1", cwd=rated).returncode == 0
    assert (rated / "ours.json").read_bytes() == made
    (rated / "notes.json").write_text("{}", "utf-8")
    for other in (("--seed", "1"), ("-m", "length-ratio"), ("-o", "notes.json")):
        done = run(*command, *other, cwd=rated)
        assert done.returncode == 2
        assert "exists, and not from this command" in done.stderr
    assert (rated / "notes.json").read_text("utf-8") == "{}"
    assert (rated / "ours.json").read_bytes() == made
    assert (rated / "rated.jsonl").read_text("utf-8").startswith('{"id"')


def test_pairs_turned_round_are_one_group(run, tmp_path):
    with (tmp_path / "pairs.jsonl").open("w", encoding="utf-8") as stream:
        for place in range(20):
            pair = [f"first {place} text", f"second {place} text {'more ' * (place % 4)}"]
            for candidate, reference in (pair, pair[::-1]):
                row = {"candidate": candidate, "reference": reference, "human": place % 4}
                stream.write(json.dumps(row) + "\n")
    done = run("train", "combine", "pairs.jsonl", "-m", "chrf", "-o", "a.json", cwd=tmp_path)
    assert "(40 rows in 20 groups, 5 folds)" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "chrf", "-o", "a.json"], "people rated adequacy, style: choose one of them with --aspect"),
        (["-m", "chrf", "--aspect", "style", "-o", "a.json"], "every row is rated 3"),
        (["-m", "chrf", "--aspect", "grammar", "-o", "a.json"], "people rated adequacy, style"),
        ([*ADEQUACY, "--folds", "20", "-o", "a.json"], "20 folds need at least as many groups of rows that share no"),
        ([*ADEQUACY, "--folds", "2", "-o", "a.json"], "2 is not in the range x>=3"),
        (["-m", "nothing", "-o", "a.json"], "unknown metric 'nothing'"),
        (["-o", "a.json"], "no features to combine"),
        (["-m", "chrf", "-o", "none/a.json"], "no such folder"),
        (["-m", "chrf", "-o", "."], "is a directory"),
        (["-m", "chrf", "-o", "a" * 250 + ".json"], "cannot be written (File name too long)"),
        (["-m", "chrf", "--human-field", "rating", "-o", "a.json"], "no row has a human score"),
        ([*ADEQUACY, "--scale", "0", "50", "-o", "a.json"], "ratings run from 0 to 100"),
        ([*ADEQUACY, "--scale", "0", "nan", "-o", "a.json"], "scale 0 to nan: expected two finite numbers"),
        ([*ADEQUACY, "--scale", "0", "inf", "-o", "a.json"], "scale 0 to inf: expected two finite numbers"),
        ([*ADEQUACY, "--scale", "100", "0", "-o", "a.json"], "the lower first"),
    ],
)
def test_bad_input(run, rated, arguments, said):
    done = run("train", "combine", "rated.jsonl", *arguments, cwd=rated)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (rated / "a.json").exists()
