"""What several tests of the server share."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
from starlette.testclient import TestClient

from evalign.server.app import create_app
from evalign.server.settings import Settings

JSON = {"Content-Type": "application/json"}
PATIENCE = 300  # seconds: a bound for what a defect would keep from ever happening, out of reach of a busy machine


def until(condition):
    """Waits for something that happens elsewhere."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def refused(client, path, body):
    """Status and error of a request that must not be answered 200."""
    answer = client.post(path, content=body, headers=JSON)
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])
    assert answer.headers["content-type"] == "application/json"
    return answer.status_code, answer.json()["error"]


def played(scene):
    """The result of a coroutine, run in a thread: the browser of the page's tests leaves a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, scene).result()


@contextmanager
def serving(ready_headers=None, **changes):
    """A client of a server in this process, its models loaded."""
    app = create_app(Settings(**({"models": ("fake",), "workers": 2, "deadline": PATIENCE} | changes)))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        assert client.get("/api/models", headers=ready_headers).status_code == 200
        client.service = app.service
        yield client


class Running:
    """`evalign serve` in a process of its own, or another `program` for the interpreter that prints its address."""

    def __init__(self, *arguments, program=("-m", "evalign", "serve", "--port", "0", "--model", "fake"), variables=()):
        command = [sys.executable, *program, *arguments]
        environment = os.environ | {"PYTHONWARNINGS": "error"} | dict(variables)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        found = re.search(r"(https?)://127\.0\.0\.1:(\d+)/", line)
        if not found:
            raise AssertionError(f"{line}{self.end(signal.SIGKILL)[1]}")
        self.port = int(found[2])
        self.url = f"{found[1]}://127.0.0.1:{self.port}"

    def state(self):
        """`loading`, `ready` or `full`."""
        return httpx.get(f"{self.url}/ready", timeout=PATIENCE).json()["status"]

    def end(self, number=signal.SIGTERM):
        """Exit code and what was said on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        said = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, said
