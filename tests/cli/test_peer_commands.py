"""`evalign compat`: what the peers' own commands print, from their own arguments."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evalign.cli.main import main
from evalign.io.records import TOO_LONG

CANDIDATES = ["A cat sat on a mat.", "The dogs barked all night long.", "It is raining.", "Ships sail.", "No."]
REFERENCES = [
    "The cat sat on the mat.",
    "Dogs bark at night.",
    "It rains.",
    "The ships were sailing home.",
    "Yes, of course.",
]
OTHERS = ["On the mat sat a cat.", "All night dogs barked.", "Rain falls.", "A ship sails.", "Surely."]


@pytest.fixture
def files(tmp_path):
    for name, lines in (("sys", CANDIDATES), ("ref", REFERENCES), ("other", OTHERS)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["compat", *map(str, arguments)])
    return ended.value.code, capsys.readouterr()


@pytest.mark.parametrize("more", [["-s"], ["-s", "--idf"]])
def test_bert_score(capsys, monkeypatch, files, minilm, more):
    from bert_score_cli.score import main as peer

    arguments = ["-c", files / "sys.txt", "-r", files / "ref.txt", files / "other.txt", "-m", minilm, "-l", 4, *more]
    code, ours = run(capsys, "bert-score", *arguments)
    monkeypatch.setattr(sys, "argv", ["bert-score", *map(str, arguments)])
    peer()
    theirs = capsys.readouterr().out
    assert code == 0
    assert ours.out.split()[0] == theirs.split()[0]  # the hash
    numbers = [[float(word) for word in out.split() if word.replace(".", "").isdigit()] for out in (ours.out, theirs)]
    assert len(numbers[0]) == 3 + 3 * len(CANDIDATES)
    assert numbers[0] == pytest.approx(numbers[1], abs=2e-6)


def test_bert_score_of_two_texts(capsys, minilm):
    code, said = run(capsys, "bert-score", "-c", "A cat.", "-r", "The cat.", "-m", minilm, "-l", 4)
    assert code == 0
    assert " F1: " in said.out


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("aggregate", [False, True])
def test_rouge_score(capsys, files, stem, aggregate):
    from rouge_score import io, rouge_scorer, scoring

    types = ["rougeL", "rouge1", "rouge3", "rougeLsum"]
    code, _ = run(
        capsys, "rouge-score", f"--target_filepattern={files}/ref.txt", "--prediction_filepattern", files / "sys.txt",
        f"--output_filename={files}/ours.csv", f"--rouge_types={','.join(types)}",
        "--use_stemmer" if stem else "--nouse_stemmer", f"--aggregate={aggregate}",
    )  # fmt: skip
    np.random.seed(0)
    io.compute_scores_and_write_to_csv(
        str(files / "ref.txt"), str(files / "sys.txt"), str(files / "theirs.csv"),
        rouge_scorer.RougeScorer(types, use_stemmer=stem), scoring.BootstrapAggregator() if aggregate else None,
    )  # fmt: skip
    assert code == 0
    assert (files / "ours.csv").read_text() == (files / "theirs.csv").read_text()


def test_sacrebleu(capfd, files):
    arguments = [
        f"{files}/ref.txt",
        f"{files}/other.txt",
        "-i",
        f"{files}/sys.txt",
        "-m",
        "bleu",
        "chrf",
        "ter",
        "-w",
        "4",
    ]
    ours, theirs = (
        subprocess.run([sys.executable, "-m", *program, *arguments], capture_output=True, text=True)
        for program in (("evalign", "compat", "sacrebleu"), ("sacrebleu",))
    )
    assert ours.returncode == theirs.returncode == 0
    assert ours.stdout == theirs.stdout
    assert "BLEU" in ours.stdout


@pytest.mark.parametrize("long", ["sys", "ref", None])
@pytest.mark.parametrize("given", ["-i", "stdin"])
def test_a_long_line_for_sacrebleu_is_one_sentence_and_not_read(files, given, long):
    """Files and standard input; the line is a hole of a gigabyte, which takes no space on the disk."""
    if long is not None:
        os.truncate(files / f"{long}.txt", 2**30)
    command = [sys.executable, "-c", LIMITED, "compat", "sacrebleu", files / "ref.txt", "-b"]
    with (files / "sys.txt").open("rb") as stream:
        done = subprocess.run([*command, *(["-i", files / "sys.txt"] if given == "-i" else [])], stdin=stream,
                              capture_output=True, text=True, timeout=600)  # fmt: skip
    if long is None:
        assert (done.returncode, float(done.stdout) > 0) == (0, True), done.stderr
        return
    name = "standard input" if (given, long) == ("stdin", "sys") else str(files / f"{long}.txt")
    assert done.returncode == 2
    assert done.stderr == f"evalign: {name}:6: {TOO_LONG}\n"


# `evalign` whose maximum is 1 MiB: without it, the line would take 64 MiB, and the test a second.
LIMITED = """
from evalign.io import records
records.MAX_LINE_BYTES = 2**20
from evalign.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "no program 'nothing'; expected one of bert-score, rouge-score, sacrebleu"),
        (["bert-score", "-c", "a"], "-r/--ref"),
        (["bert-score", "-c", "a", "-r", "b", "--idf"], "--idf needs files"),
        (["bert-score", "-c", "{sys}", "-r", "{short}"], "has 1 lines"),
        (["bert-score", "-c", "{gone}", "-r", "{ref}"], "no such file"),
        (["rouge-score", "--target_filepattern={ref}", "--prediction_filepattern={gone}", "--output_filename=x"], "0"),
        (["rouge-score", "--target_filepattern={ref}", "--prediction_filepattern={short}", "--output_filename=x"],
         "5 records"),
        (["rouge-score", "--target_filepattern={ref}", "--prediction_filepattern={sys}", "--output_filename=x",
          "--rouge_types=rougeX"], "rougeX"),
        (["rouge-score", "--target_filepattern={ref}", "--prediction_filepattern={sys}", "--output_filename=x",
          "--use_stemmer=maybe"], "maybe"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(capsys, files, arguments, said):
    (files / "short.txt").write_text("One.\n")
    names = {name: f"{files}/{name}.txt" for name in ("sys", "ref", "short", "gone")}
    code, told = run(capsys, *(argument.format(**names) for argument in arguments))
    assert code == 2
    assert said in told.err
    assert "Traceback" not in told.err
