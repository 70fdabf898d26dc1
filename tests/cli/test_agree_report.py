"""`evalign agree --html --plots` as a user types it."""

import json

import pytest

SPEC = "bertscore(model=fake)"


@pytest.fixture
def rated_file(tmp_path):
    texts = ["the cat sat on the mat", "dogs bark", "it rains in the north", "one two three", "something else"]
    records = [
        {"id": str(place), "candidate": texts[place % 5], "references": [texts[place % 3]], "human": place % 7}
        for place in range(20)
    ]
    path = tmp_path / "rated.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def test_the_command_writes_page_and_plots(rated_file, run):
    pytest.importorskip("matplotlib", reason="plots need the extra 'plots'")
    done = run("agree", rated_file.name, "-m", SPEC, "--resamples", "20", "--html", "page.html", "--plots", "plots",
               cwd=rated_file.parent)  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = (rated_file.parent / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<svg") == 5
    assert {path.suffix for path in (rated_file.parent / "plots").iterdir()} == {".png", ".svg", ".csv"}


@pytest.mark.parametrize("option", ["--html", "--plots"])
def test_a_place_that_cannot_be_written_is_said_before_scoring(option, rated_file, run):
    pytest.importorskip("matplotlib", reason="plots need the extra 'plots'")
    done = run("agree", rated_file.name, "-m", SPEC, option, "no/such/place", cwd=rated_file.parent)
    assert done.returncode == 2
    assert "there is no such folder" in done.stderr
    assert done.stdout == ""


def test_without_matplotlib_the_command_says_what_to_install(rated_file, run_process, tmp_path):
    blocked = tmp_path / "blocked" / "matplotlib"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('blocked')")
    without = {"PYTHONPATH": str(blocked.parent)}
    done = run_process("agree", rated_file.name, "-m", SPEC, "--html", "p.html", cwd=rated_file.parent, env=without)
    assert done.returncode == 2
    assert "pip install 'evalign[plots]'" in done.stderr
    assert "Traceback" not in done.stderr
    plain = run_process("agree", rated_file.name, "-m", SPEC, "--resamples", "20", cwd=rated_file.parent, env=without)
    assert plain.returncode == 0, plain.stderr
