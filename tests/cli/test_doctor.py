"""`evalign doctor`: what is missing comes with the command that gets it; a wrong score is an exit code."""

import pytest

from evalign.cli import doctor, models
from evalign.cli.main import main
from evalign.core import installed


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return ended.value.code, capsys.readouterr().out


def test_everything_is_right(capsys, minilm):
    code, said = run(capsys, "doctor")
    assert code == 0
    assert said.count(" right") == len(doctor.EXPECTED_SCORES)
    assert "WRONG" not in said


def test_what_is_missing_comes_with_its_command(capsys, monkeypatch):
    for command in (doctor, models):
        monkeypatch.setattr(command, "local_directory", lambda _: None)
    monkeypatch.setattr(installed, "version_of", lambda library: None if library == "matplotlib" else "1.0")
    code, said = run(capsys, "doctor")
    assert code == 0
    assert "missing: pip install 'evalign[plots]'" in said
    assert "not here: evalign models get mpnet" in said
    assert said.count(" right") == len(doctor.WITHOUT_MODEL)


def test_a_wrong_score_is_said(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "EXPECTED_SCORES", {"chrf": 24.1})
    code, said = run(capsys, "doctor")
    assert code == 3
    assert "WRONG" in said


def test_the_version_names_what_decides_numbers(capsys):
    code, said = run(capsys, "--version")
    assert code == 0
    for library in (*installed.DECIDING, *filter(installed.version_of, installed.DECIDING_IF_INSTALLED)):
        assert f"{library} {installed.version_of(library)}" in said
