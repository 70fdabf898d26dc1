"""Servers for the tests: in this process for what is said, as a process of its own for sockets and signals."""

import pytest

pytest.importorskip("fastapi", reason="the extra `web` is not installed")

from server_answers import Running, serving


@pytest.fixture(scope="session")
def fake_server():
    """The encoder without a model: quick, and the same everywhere."""
    with serving() as client:
        yield client


@pytest.fixture(scope="session")
def minilm_server(minilm):
    with serving(models=("minilm", "fake")) as client:
        yield client


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
