import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

import pytest

from evalign.cli.main import main

PROCESS = {"PYTHONWARNINGS": "error", "COLUMNS": "200"}


@pytest.fixture
def run():
    """`run("score", ..., cwd=folder)`: the command's exit code and output, in this process: starting one costs 0.7 s.

    An error that the command does not turn into a sentence and an exit code is raised in the test.
    """

    def command(*arguments, cwd=".", stdin=""):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")),
            mock.patch.dict(os.environ, PROCESS),
            pytest.raises(SystemExit) as ended,
        ):
            main(list(arguments))
        said = []
        for stream in (out, err):
            stream.flush()
            said.append(stream.buffer.getvalue().decode("utf-8"))
        return subprocess.CompletedProcess(arguments, ended.value.code, *said)

    return command


@pytest.fixture(scope="session")
def run_process():
    """`run_process("score", ..., env=changes)`: the command in a process of its own, as a user has it."""

    def command(*arguments, cwd=None, stdin="", env=()):
        return subprocess.run(
            [sys.executable, "-m", "evalign", *arguments],
            cwd=cwd,
            input=stdin,
            env=os.environ | PROCESS | dict(env),
            capture_output=True,
            encoding="utf-8",
            timeout=1200,  # what takes seconds; machines may be busy
        )

    return command
