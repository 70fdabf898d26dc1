"""What several tests of the server share."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from starlette.testclient import TestClient

from evalign.server.app import create_app
from evalign.server.settings import Settings

JSON = {"Content-Type": "application/json"}


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
def serving(**changes):
    """A client of a server in this process, its models loaded."""
    app = create_app(Settings(**({"models": ("fake",), "workers": 2} | changes)))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        assert client.get("/api/models").status_code == 200
        client.service = app.service
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
