"""Options that do not go together are an error before any work starts, never ignored."""

import json

import numpy as np
import pytest
from rich.console import Group

import evalign
from evalign.metrics.all_matchings import with_matching
from evalign.render.console import EscapingConsole
from evalign.render.tables import signature_line


@pytest.fixture
def rows(tmp_path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"candidate": "a cat", "reference": "the cat"}) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("option", [("--gpus", "1"), ("--address", "127.0.0.1:1")])
def test_options_of_ray_need_ray(rows, run, tmp_path, option):
    done = run("batch", "run", rows, "-o", "job", "-m", "chrf", *option, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{option[0]} is about Ray: add --engine ray, or leave it out" in done.stderr
    assert not (tmp_path / "job").exists()


def test_a_variable_of_ray_may_be_set_for_other_programs(rows, run, tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    assert run("batch", "run", rows, "-o", "job", "-m", "chrf", cwd=tmp_path).returncode == 0


def test_two_matchings_are_one_too_many(run):
    metric = "bertscore(model=fake, matching=exact)"
    done = run("align", "a cat", "the cat", "-m", metric, "--matching", "auction")
    assert done.returncode == 2
    assert "--matching auction, but bertscore(model=fake, matching=exact) names another one" in done.stderr
    for matching in ("exact", "all"):
        assert run("align", "a cat", "the cat", "-m", metric, "--matching", matching).returncode == 0


def test_another_matching_keeps_the_other_options():
    metric = evalign.metric("bertscore(compat=bert-score, idf=references, layer=3)")
    assert (
        str(with_matching(metric, "exact")) == "bertscore(layer=3, idf=references, matching=exact, compat=bert-score)"
    )
    assert str(with_matching(metric, "transport")) == "moverscore(layer=3, idf=references)"


def test_a_server_starts_only_with_models_that_it_has(run):
    done = run("serve", "--model", "nowhere/model", "--port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere/model" in done.stderr


def test_a_signature_is_one_line_on_any_terminal(capsys):
    signature = "bertscore|" + "x" * 300
    EscapingConsole(width=40).print(Group(signature_line(signature)))
    assert capsys.readouterr().out == f"{signature}\n"


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [
        ("bertscore", (-1.0, 1.0)),
        ("bertscore(rescale=true)", (-np.inf, 1.0)),
        ("lisascore(rescale=true)", (-np.inf, 1.0)),
        ("bertscore(rescale=true, scale=percentile)", (0.0, 1.0)),
    ],
)
def test_a_report_knows_the_range_of_rescaled_scores(spec, bounds):
    metric = evalign.metric(spec)
    report = metric.score(["tax banana", "a cat"], ["the minister resigned", "a cat"])
    assert report.bounds == bounds
    assert all(bounds[0] <= value <= bounds[1] for value in report["f1"])
    assert f"f1 {report.score:.4f}" in str(report)
