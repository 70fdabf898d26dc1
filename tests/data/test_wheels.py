"""What pip is asked for when a wheel is downloaded, and what is said when it fails."""

import subprocess
import sys

import pytest

from evalign.io.wheels import download_wheels

HASH_REPORT = """ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated
    x from https://example.org:
        Expected sha256 00
             Got        11
"""
REASONS = {
    "": "pip failed",
    "\n  one \n  last\n": "last",
    "ERROR: first\nhint\nERROR: second\nhint\n": "second",
    HASH_REPORT: "the file that pip got is not the expected one, its sha256 differs",
    f"ERROR: {'x' * 300}": "x" * 200,
}


def pip(monkeypatch, code, messages, folder):
    calls = []

    def run(command, **options):
        calls.append((command, options))
        for name in ("b.whl", "a.whl", "c.tar.gz"):
            (folder / name).touch()
        return subprocess.CompletedProcess(command, code, "", messages)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_pip_gets_only_listed_wheels_and_runs_nothing(tmp_path, monkeypatch):
    calls = pip(monkeypatch, 0, "a warning", tmp_path)
    lines = ["a==1 --hash=sha256:00", "b==2 --hash=sha256:11"]
    assert download_wheels(lines, tmp_path) == [tmp_path / "a.whl", tmp_path / "b.whl"]
    assert (tmp_path / "requirements.txt").read_text().splitlines() == lines
    ((command, options),) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--only-binary=:all:", "--require-hashes", "--no-deps"} < set(command)
    assert command[-4:] == ["--dest", str(tmp_path), "-r", str(tmp_path / "requirements.txt")]
    assert options == {"capture_output": True, "text": True}


@pytest.mark.parametrize("messages", REASONS)
def test_a_failure_is_one_line(tmp_path, monkeypatch, messages):
    pip(monkeypatch, 1, messages, tmp_path)
    with pytest.raises(OSError, match=r"^.") as raised:
        download_wheels(["a==1"], tmp_path)
    assert str(raised.value) == REASONS[messages]
