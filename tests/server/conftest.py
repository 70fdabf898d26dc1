"""Servers for the tests: in this process for what is said, as a process of its own for sockets and signals."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

pytest.importorskip("fastapi", reason="the extra `web` is not installed")

from starlette.testclient import TestClient

from evalign.server.app import create_app
from evalign.server.settings import Settings


@contextmanager
def serving(**changes):
    """A client of a server in this process, its models loaded."""
    app = create_app(Settings(**({"models": ("fake",), "workers": 2} | changes)))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        assert client.get("/api/models").status_code == 200
        client.service = app.service
        yield client


@pytest.fixture(scope="session")
def fake_server():
    """The encoder without a model: quick, and the same everywhere."""
    with serving() as client:
        yield client


@pytest.fixture(scope="session")
def minilm_server(minilm):
    with serving(models=("minilm", "fake")) as client:
        yield client


class Running:
    """`evalign serve` in a process of its own, or another `program` for the interpreter that prints its address."""

    def __init__(self, *arguments, program=("-m", "evalign", "serve", "--port", "0", "--model", "fake")):
        command = [sys.executable, *program, *arguments]
        environment = os.environ | {"PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line + self.process.stderr.read()
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self, number=signal.SIGTERM, timeout=60):
        """Exit code and what was said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        said = self.process.communicate(timeout=timeout)[1]
        return self.process.returncode, said


@pytest.fixture
def run_server():
    """`run_server("--queue", "1")`: a server that is ended with the test."""
    started = []

    def start(*arguments, **program):
        started.append(Running(*arguments, **program))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()
