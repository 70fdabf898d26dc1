"""`evalign compare`: every input and format, exit codes for continuous integration, and bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from damaged_texts import damaged, references

ROOT = Path(__file__).resolve().parents[2]

REFERENCES = references(30)


SYSTEMS = {
    "good": damaged(REFERENCES, 0.1, 1),
    "middle": damaged(REFERENCES, 0.4, 2),
    "bad": damaged(REFERENCES, 0.8, 3),
}
FILES = ["-c", "good.txt", "-c", "bad.txt", "-r", "ref.txt"]
FAST = ["--resamples", "200"]


def jsonl(records):
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    for name, texts in (*SYSTEMS.items(), ("ref", REFERENCES), ("copy", SYSTEMS["good"])):
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n")
    (folder / "short.txt").write_text("one\ntwo\n")
    (folder / "empty.txt").write_text("")
    records = [
        {"id": f"{i}.{name}", "doc": i, "references": [REFERENCES[i]], "candidate": text, "system": name}
        for i in range(30)
        for name in ("good", "bad")
        for text in [SYSTEMS[name][i]]
    ]
    same = [record | {"id": record["doc"]} for record in records]
    (folder / "rows.jsonl").write_text(jsonl(records))
    (folder / "ids.jsonl").write_text(jsonl(same))
    (folder / "noids.jsonl").write_text(jsonl({k: v for k, v in r.items() if k != "id"} for r in records))
    (folder / "lacking.jsonl").write_text(jsonl(same[:-1]))
    (folder / "twice.jsonl").write_text(jsonl([*same, same[-1]]))
    (folder / "one.jsonl").write_text(jsonl(r for r in same if r["system"] == "good"))
    (folder / "strangers.jsonl").write_text(jsonl(r | {"references": [r["id"]]} for r in records))
    long = [record | {"candidate": "w " * 20} if i == 5 else record for i, record in enumerate(same)]
    (folder / "long.jsonl").write_text(jsonl(long))
    return folder


def found(result, code=0):
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def test_files_and_tables_give_the_same(folder, run):
    common = ["-m", "bleu", "-m", "rouge1", *FAST, "--format", "json", "--examples", "0"]
    files = found(run("compare", *FILES, *common, cwd=folder))
    assert (files["baseline"], files["rows"], files["paired_by"], files["seed"]) == ("good", 30, "id", 12345)
    for arguments, paired_by in (
        (["rows.jsonl"], "text"),
        (["ids.jsonl"], "id"),
        (["noids.jsonl"], "text"),
        (["rows.jsonl", "--pair-by", "doc"], "doc"),
        (["ids.jsonl", "--pair-by", "id"], "id"),
        (["ids.jsonl", "--pair-by", "text"], "text"),
    ):
        table = found(run("compare", *arguments, *common, cwd=folder))
        assert table["paired_by"] == paired_by
        assert table["results"] == files["results"]


def test_a_stream_can_be_compared(folder, run):
    common = ["-m", "rouge1", *FAST, "--format", "json"]
    expected = found(run("compare", "ids.jsonl", *common, cwd=folder))
    stdin = (folder / "ids.jsonl").read_text()
    assert found(run("compare", "-", *common, cwd=folder, stdin=stdin)) == expected
    assert len(expected["results"][0]["systems"][1]["examples"]) == 3


def test_the_same_seed_prints_the_same(folder, run):
    once, again = (run("compare", *FILES, "-m", "bleu", *FAST, cwd=folder).stdout for _ in range(2))
    assert once == again
    assert once != run("compare", *FILES, "-m", "bleu", *FAST, "--seed", "7", cwd=folder).stdout


def test_the_table_shows_what_was_found(folder, run):
    shown = run("compare", *FILES, "-m", "bleu", "-m", "ter", *FAST, "--examples", "2", cwd=folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    plain = found(run("compare", *FILES, "-m", "bleu", "-m", "ter", *FAST, "--format", "json", cwd=folder))
    for result, direction in zip(plain["results"], ("higher", "lower"), strict=True):
        good, bad = result["systems"]
        line = next(line for line in shown.stdout.splitlines() if f"{bad['score']:.2f}" in line)
        assert f"{bad['difference']:+.2f}*" in line
        assert f"{bad['wins']}/{bad['losses']}/{bad['ties']}" in line
        assert f"[{good['low']:.2f}, {good['high']:.2f}]" in shown.stdout
        assert f"{direction} is better, 30 rows" in shown.stdout
        example = bad["examples"][0]
        for text in (example["candidate"], example["baseline_candidate"], example["references"][0]):
            assert text in shown.stdout
        assert result["signature"] in shown.stdout
    assert shown.stdout.count("reference  ") == 4


def test_three_systems_are_ranked(folder, run):
    arguments = ["-c", "bad.txt", "-c", "good.txt", "-c", "middle.txt", "-r", "ref.txt", "-m", "chrf", "-m", "ter"]
    plain = found(run("compare", *arguments, *FAST, "--format", "json", "--baseline", "middle", cwd=folder))
    for result in plain["results"]:
        assert [(one["system"], one["rank"]) for one in result["systems"]] == [("middle", 2), ("bad", 3), ("good", 1)]
    shown = run("compare", *arguments, *FAST, cwd=folder).stdout
    assert "systems of equal rank do not differ significantly" in shown
    assert "too few resamples" not in shown


def test_too_few_samples_for_ranks_are_said(folder, run):
    """Three pairs: Holm's smallest p is 3 / (1 + samples), .05 at 59 samples and below it at 60."""
    arguments = ["-c", "bad.txt", "-c", "good.txt", "-c", "middle.txt", "-r", "ref.txt", "-m", "rouge1"]
    few, enough = (
        run("compare", *arguments, "--resamples", samples, "--format", form, cwd=folder).stdout
        for samples, form in (("59", "table"), ("60", "json"))
    )
    assert "; 60 are needed" in few
    assert [one["rank"] for one in json.loads(enough)["results"][0]["systems"]] == [3, 1, 2]


@pytest.mark.parametrize(
    ("test", "columns"), [("bootstrap", (True, False)), ("randomisation", (False, True)), ("both", (True, True))]
)
def test_tsv_has_the_tests_that_were_asked_for(test, columns, folder, run):
    lines = run("compare", *FILES, "-m", "bleu", *FAST, "--test", test, "--format", "tsv", cwd=folder).stdout
    header, baseline, bad = (line.split("\t") for line in lines.splitlines())
    row = dict(zip(header, bad, strict=True))
    assert (bool(row["p_bootstrap"]), bool(row["p_randomisation"])) == columns
    assert dict(zip(header, baseline, strict=True))["difference"] == ""
    assert float(row["low"]) < float(row["score"]) < float(row["high"])


def test_latex_marks_what_is_significant(folder, run):
    shown = run("compare", *FILES, "-m", "bertscore(model=fake)", *FAST, "--format", "latex", cwd=folder).stdout
    assert shown.startswith(r"\begin{tabular}")
    assert "^{*}$" in shown
    assert r"% bertscore|model:fake" in shown
    assert shown.count("&") % 7 == 0, "every line has as many cells as the header"


# which file is compared with good.txt, the limits, the exit code, what standard error says
GATES = {
    "much worse": ("bad.txt", ["0.01"], 4, "bad is worse than good by"),
    "worse, but allowed": ("bad.txt", ["99"], 0, ""),
    "the same": ("copy.txt", ["0"], 0, ""),
    "limit for this metric": ("bad.txt", ["rouge1=0.01"], 4, "limit 0.01"),
    "limit for another metric": ("bad.txt", ["bleu=1000"], 0, ""),
    "one of two metrics": ("bad.txt", ["0", "bleu=1000"], 4, "under rouge1"),
    "no limit": ("bad.txt", [], 0, ""),
}


@pytest.mark.parametrize("case", GATES)
def test_fail_if_worse(case, folder, run):
    other, limits, code, said = GATES[case]
    arguments = ["-c", "good.txt", "-c", other, "-r", "ref.txt", "-m", "rouge1", "-m", "bleu", *FAST]
    arguments += [part for limit in limits for part in ("--fail-if-worse", limit)]
    result = run("compare", *arguments, "--format", "json", cwd=folder)
    plain = found(result, code)
    assert said in result.stderr
    assert bool(result.stderr) == bool(said)
    assert ("worse" in plain) == bool(limits)
    assert any(one["significant"] for one in plain.get("worse", [])) == (code == 4)


def test_better_passes_and_lower_can_be_better(folder, run):
    arguments = ["-c", "bad.txt", "-c", "good.txt", "-r", "ref.txt", "-m", "ter", *FAST, "--fail-if-worse", "0"]
    assert run("compare", *arguments, cwd=folder).returncode == 0
    assert run("compare", *arguments, "--baseline", "good", cwd=folder).returncode == 4


def test_worse_but_not_significant_is_told_and_passes(folder, run):
    (folder / "nearly.txt").write_text("\n".join([*SYSTEMS["good"][:-1], "x"]) + "\n")
    arguments = ["-c", "good.txt", "-c", "nearly.txt", "-r", "ref.txt", "-m", "rouge1", "--fail-if-worse", "0"]
    result = run("compare", *arguments, *FAST, cwd=folder)
    assert result.returncode == 0
    assert "not significant, so no failure" in result.stderr


def test_rows_that_failed_are_left_out_counted_and_said(folder, run):
    arguments = ["long.jsonl", "-m", "ter(limit=10)", *FAST, "--format", "json"]
    result = run("compare", *arguments, cwd=folder)
    [plain] = found(result, 3)["results"]
    assert (plain["n"], plain["failed"]) == (29, 1)
    assert "1 of 30 rows failed under ter(limit=10) and were left out for all systems" in result.stderr
    assert run("compare", *arguments, "--fail-if-worse", "0.01", cwd=folder).returncode == 4


BAD_INPUT = {
    "one file": (["-c", "good.txt", "-r", "ref.txt"], "only one system ('good')"),
    "one system": (["one.jsonl"], "only one system ('good')"),
    "nothing": ([], "nothing to compare"),
    "the same file twice": (["-c", "good.txt", "-c", "good.txt", "-r", "ref.txt"], "good.txt is given twice"),
    "no references": (["-c", "good.txt", "-c", "bad.txt"], "no references"),
    "unequal lengths": (["-c", "good.txt", "-c", "short.txt", "-r", "ref.txt"], "short.txt has 2 lines"),
    "empty files": (["-c", "empty.txt", "-c", "copy.txt", "-r", "empty.txt"], "do not run in parallel"),
    "all empty": (["-c", "empty.txt", "-r", "empty.txt"], "the input is empty"),
    "a row is missing": (["lacking.jsonl"], "id '29' of 'good' is not in 'bad'"),
    "ids are missing": (["noids.jsonl", "--pair-by", "id"], "no field 'id'"),
    "a field is missing": (["rows.jsonl", "--pair-by", "dok"], "did you mean doc?"),
    "an id twice": (["twice.jsonl"], "has 2 rows with id '29'"),
    "no common rows": (["strangers.jsonl"], "with --pair-by"),
    "a field of a text file": ([*FILES, "--pair-by", "doc"], "text files have no fields"),
    "unknown baseline": ([*FILES, "--baseline", "goood"], "did you mean good?"),
    "unknown metric in a limit": ([*FILES, "--fail-if-worse", "blue=1"], "no metric 'blue'"),
    "a limit that is no number": ([*FILES, "--fail-if-worse", "much"], "expected a number"),
    "all rows fail": ([*FILES, "-m", "ter(limit=1)"], "no row was scored for all systems"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_one_sentence_and_exit_code_2(case, folder, run):
    arguments, said = BAD_INPUT[case]
    arguments = arguments if "-m" in arguments else [*arguments, "-m", "rouge1"]
    result = run("compare", *arguments, *FAST, cwd=folder)
    assert result.returncode == 2, result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_text_cannot_steer_the_terminal_and_is_shortened_where_it_differs(folder, run):
    common = "word " * 100
    records = [
        {"id": i, "system": system, "references": ["\x1b[31m [/b] ü"], "candidate": f"{common}{end}{common}"}
        for system, end in (("a", "[bold]left[/bold] "), ("b", "right "))
        for i in range(3)
    ]
    (folder / "odd.jsonl").write_text(jsonl(records))
    result = run("compare", "odd.jsonl", "-m", "bertscore(model=fake)", *FAST, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "\x1b[31m" not in result.stdout
    assert "[/b] ü" in result.stdout
    assert "[bold]left[/bold] word" in result.stdout
    assert "right word" in result.stdout
    assert "… word" in result.stdout
    assert "word …" in result.stdout


def test_pipes_are_read_once(folder):
    files = "-c <(cat good.txt) -c <(cat bad.txt) -r ref.txt"
    command = f'"{sys.executable}" -m evalign compare {files} -m rouge1 --resamples 50'
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "most different under rouge1" in done.stdout


def test_the_documented_output_is_what_is_printed(run):
    shown = (ROOT / "docs" / "compare.md").read_text("utf-8").split("```console\n")[2].split("```")[0]
    command, _, expected = shown.partition("\n")
    result = run(*command.split()[2:], cwd=ROOT)
    assert [line.rstrip() for line in result.stdout.splitlines()] == expected.splitlines()


def test_names_that_look_like_markup_are_shown_as_they_are(run, tmp_path):
    lines = [
        {"id": str(place), "system": system, "candidate": f"a {system} {place}", "references": [f"a cat {place}"]}
        for place in range(4)
        for system in ("[/x]", "[bold]b")
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = run("compare", "data.jsonl", "-m", "rouge1", "--examples", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[bold]b") >= 2
