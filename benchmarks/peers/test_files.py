"""A peer's own test files run with evalign in the peer's place: files in, a `Case` for each test out.

The files are copied, and their imports of the peer are turned into imports of a stand-in, a module that has the peer's
names and calls evalign. Nothing else in them is changed.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from peers.suites import DIFFERS, EQUAL, LEFT_OUT, UNEXPLAINED, Case


@dataclass(frozen=True)
class Known:
    """Tests by pattern, as `test_ter.py::test_ter[4]`, with the reason why they differ or are left out."""

    differ: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def source_distribution(package: str, version: str, folder: Path) -> Path:
    """The unpacked sdist of that version from PyPI, which pip fetches without what it depends on."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run([*command, "--dest", str(folder), f"{package}=={version}"], capture_output=True, text=True)
    archives = sorted(folder.glob(f"{re.sub(r'[-_.]+', '?', package)}-{version}.tar.gz"))
    if done.returncode or not archives:
        raise SystemExit(f"pip cannot fetch the source distribution of {package} {version}:\n{done.stderr}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return folder / archives[0].name.removesuffix(".tar.gz")


def with_stand_in(files: Iterable[Path], folder: Path, peer: str, stand_in: str) -> list[Path]:
    """Copies of test files that import `stand_in` where they imported `peer`."""
    copies = []
    for file in files:
        text = file.read_text("utf-8")
        text = re.sub(rf"^(\s*)import {peer}$", rf"\1import {stand_in} as {peer}", text, flags=re.M)
        text = re.sub(rf"^(\s*)(import|from) {peer}\b(?! as)", rf"\1\2 {stand_in}", text, flags=re.M)
        copies.append(folder / file.name)
        copies[-1].write_text(text, "utf-8")
    return copies


def left_out_files(files: Iterable[Path], reason: str) -> tuple[Case, ...]:
    """The tests of files that are not run."""
    names = (
        (file, name) for file in files for name in re.findall(r"^ *def (test\w*)\(", file.read_text("utf-8"), re.M)
    )
    return tuple(Case(f"{file.name}::{name}", LEFT_OUT, reason) for file, name in names)


def run_test_files(files: Sequence[Path], known: Known, folder: Path | None = None) -> tuple[Case, ...]:
    """Runs the tests with `folder` as the current one, and says of each whether it passed."""
    recorder = _Recorder(known.left_out)
    empty = files[0].parent / "empty.ini"  # so that no settings of ours or theirs are read
    empty.write_text("[pytest]\n", "utf-8")
    options = ["--quiet", "--config-file", str(empty), "-p", "no:cacheprovider", "--disable-warnings"]
    said = io.StringIO()
    with chdir(folder or os.getcwd()), redirect_stdout(said), redirect_stderr(said):
        code = pytest.main([*options, *map(str, files)], plugins=[recorder])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not recorder.cases:
        raise SystemExit(f"pytest could not run {', '.join(file.name for file in files)}:\n{said.getvalue()}")
    return tuple(judged(case, known.differ) for case in recorder.cases.values())


def judged(case: Case, differ: Mapping[str, str]) -> Case:
    """The case with its reason; one that differs without a reason, or is equal in spite of one, says so."""
    reason = _matching(case.name, differ)
    if case.result == DIFFERS and reason is not None:
        return Case(case.name, DIFFERS, reason)
    if case.result == EQUAL and reason is not None:
        return Case(case.name, EQUAL, f"{UNEXPLAINED}: it is equal, though one was given for a difference")
    return case


class _Recorder:
    """A plugin of pytest that takes tests out, and keeps what became of the others."""

    def __init__(self, left_out: Mapping[str, str]) -> None:
        self.cases: dict[str, Case] = {}
        self._left_out = left_out

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in list(items):
            name = item.nodeid.rpartition("/")[2]
            if (reason := _matching(name, self._left_out)) is not None:
                self.cases[name] = Case(name, LEFT_OUT, reason)
                items.remove(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("/")[2]
        if report.failed:
            self.cases[name] = Case(name, DIFFERS, f"{UNEXPLAINED}: {str(report.longrepr).strip().splitlines()[-1]}")
        elif report.skipped:
            self.cases[name] = Case(name, LEFT_OUT, "the peer skips it")
        elif name not in self.cases:
            self.cases[name] = Case(name, EQUAL)


def _matching(name: str, patterns: Mapping[str, str]) -> str | None:
    escaped = ((pattern.replace("[", "[[]"), reason) for pattern, reason in patterns.items())
    return next((reason for pattern, reason in escaped if fnmatchcase(name, pattern)), None)
