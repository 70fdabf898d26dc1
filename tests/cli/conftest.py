import os
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def run():
    """`run("score", ..., cwd=folder)`: the command in a process of its own, as a user has it."""

    def command(*arguments, cwd=None, stdin=None, env=None):
        return subprocess.run(
            [sys.executable, "-m", "evalign", *arguments],
            cwd=cwd,
            input=stdin or "",
            env=os.environ | {"PYTHONWARNINGS": "error", "COLUMNS": "200"} | (env or {}),
            capture_output=True,
            encoding="utf-8",
            timeout=1200,  # what takes seconds; machines may be busy
        )

    return command
