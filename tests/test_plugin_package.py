"""The package in examples/plugin works in every command once it is installed; the server takes it only when told to."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
CANDIDATES = ["the Eiffel Tower", "in 1889", "a dog", "", "Gustave Eiffel"]
REFERENCES = ["Eiffel Tower", "1889", "the cat", "Paris", "Eiffel"]
F1 = [1.0, 2 / 3, 0.0, 0.0, 2 / 3]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder for PYTHONPATH that holds what installing the package would: its modules and its metadata."""
    folder = tmp_path_factory.mktemp("installed")
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text("utf-8"))["project"]
    (folder / "evalign_answers").symlink_to(PLUGIN / "src" / "evalign_answers")
    metadata = folder / "evalign_answers-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    (metadata / "entry_points.txt").write_text(
        "\n".join(
            f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )
    return folder


@pytest.fixture
def run(installed, tmp_path):
    """A function that runs a Python program or `evalign` with the package installed, among files of texts."""
    (tmp_path / "c.txt").write_text("\n".join(CANDIDATES) + "\n")
    (tmp_path / "d.txt").write_text("\n".join(reversed(CANDIDATES)) + "\n")
    (tmp_path / "r.txt").write_text("\n".join(REFERENCES) + "\n")
    rows = [
        {"id": str(index), "candidate": candidate, "references": [reference], "human": human}
        for index, (candidate, reference, human) in enumerate(zip(CANDIDATES, REFERENCES, F1, strict=True))
    ]
    (tmp_path / "rated.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "160"}

    def run(*arguments, code=0):
        program = ["-m", "evalign", *arguments] if arguments[0] != "-c" else arguments
        done = subprocess.run(
            [sys.executable, *program], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def test_score_prints_the_metrics_numbers(run):
    scored = json.loads(
        run("score", "-c", "c.txt", "-r", "r.txt", "-m", "answerf1", "--format", "json", "--segments", "-")
    )
    (result,) = scored["results"]
    assert [segment["scores"]["f1"] for segment in result["segments"]] == pytest.approx(F1)
    assert result["flags"] == {"empty": 1}
    assert result["signature"] == "answerf1|articles:drop|spec:answerf1|v:0.1.0"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("metrics",), "word overlap of short answers"),
        (("metrics", "answerf1"), "whether a, an and the count as words"),
        (("compare", "-c", "c.txt", "-c", "d.txt", "-r", "r.txt", "-m", "answerf1"), "answerf1"),
        (("agree", "rated.jsonl", "-m", "answerf1"), "1.000"),
        (("audit", "rated.jsonl", "-m", "answerf1"), "answerf1"),
        (("explain", "the Eiffel Tower", "Eiffel", "-m", "answerf1"), "1 of 2 candidate words"),
        (("align", "a b c", "a x", "-m", "bertscore(model=fake, matching=in-order)"), "in-order"),
        (("score", "-c", "c.txt", "-r", "r.txt", "-m", "inorderscore(model=fake)"), "inorderscore(model=fake)"),
        (("align", "a b c", "a x", "-m", "inorderscore(model=fake)"), "in-order"),
        (("explain", "a b c", "a x", "-m", "inorderscore(model=fake)"), "precision"),
        (("metrics",), "inorderscore"),
        (("answers", "-c", "c.txt", "-r", "r.txt"), "exact 1  partial 2  wrong 2"),
        (("--help",), "Count answers that are exactly right"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_know_the_package(run, arguments, expected):
    assert expected in run(*arguments)


def test_batch_scores_with_it_and_resumes(run):
    for _ in range(2):
        run("batch", "run", "rated.jsonl", "-m", "answerf1", "-o", "job")
    assert "answerf1" in run("score", "job")


def test_without_the_package_the_metric_is_unknown(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "evalign", "metrics", "answerf1"], capture_output=True, encoding="utf-8", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "unknown metric 'answerf1'" in done.stderr


def test_it_passes_the_laws_of_all_metrics(run):
    run("-c", "import evalign; evalign.check_metric('answerf1')")
    run("-c", "import evalign; evalign.check_metric('inorderscore(model=fake)')")


def test_a_signature_makes_the_metric_again(run):
    code = "import evalign; print(evalign.metric('answerf1|articles:keep|spec:answerf1(articles=keep)|v:0.1.0'))"
    assert run("-c", code).strip() == "answerf1(articles=keep)"


def test_the_server_takes_it_only_when_told_to(run):
    code = """
from evalign.server.allowed_specs import allowed_metric
from evalign.errors import EvalignError
from evalign.server.errors import ApiError
try:
    print(allowed_metric({spec!r}, ["fake"], plugins={plugins}))
except (EvalignError, ApiError) as error:
    print("refused:", error)
"""
    for spec in ("answerf1", "bertscore(model=fake, matching=in-order)"):
        assert run("-c", code.format(spec=spec, plugins=False)).startswith("refused:")
        assert run("-c", code.format(spec=spec, plugins=True)).strip() == spec
