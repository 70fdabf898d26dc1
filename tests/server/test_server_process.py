"""`evalign serve` as a process of its own: chunked bodies, clients that leave, overload, signals."""

import asyncio
import json
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial

import httpx
import pytest
from server_answers import PATIENCE, Running, played, until

from evalign.server.app import create_app
from evalign.server.settings import RequestLimits, Settings

PAIR = {"candidate": "the cat sat", "reference": "a cat was sitting", "metric": "bertscore(model=fake)"}
get, post = partial(httpx.get, timeout=PATIENCE), partial(httpx.post, timeout=PATIENCE)
WORDS = [f"word{number}" for number in range(50)]
SLOW = "moverscore(model=fake, transport=sinkhorn, regularization={})"
UNHURRIED = ("--workers", "1", "--queue", "0", "--deadline", str(PATIENCE))  # full with one request
SHARED = f"""
from evalign.server.run import serve
from evalign.server.settings import Settings
settings = Settings(("fake",), deadline={PATIENCE}, idle_seconds={PATIENCE}, body_seconds={PATIENCE})
serve(settings, 0, lambda address: print(address, flush=True))
"""


def slow_rows(count, metrics=1):
    """Each takes about a second with each metric: 120 by 120 tokens by Sinkhorn's iteration."""
    texts = [" ".join(WORDS[(place * step + 3) % 50] for place in range(118)) for step in range(1, 2 * count + 1)]
    rows = [{"candidate": texts[2 * n], "references": texts[2 * n + 1]} for n in range(count)]
    return {"rows": rows, "metrics": [SLOW.format(0.01 + 1e-6 * n) for n in range(metrics)]}


ENDLESS = slow_rows(27, metrics=16)  # minutes, and as much as one request may ask for


def raw_request(path, body, head=""):
    """The bytes of a POST."""
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        head or f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def answered(connection):
    """Status and body of an answer with a Content-Length; 0 if the server hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            part = b""
        if not part:
            return 0, b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(
        next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split(b":")[1]
    )
    while len(body) < length and (part := connection.recv(65536)):
        body += part
    return int(head.split()[1]), body


@contextmanager
def begun(server, body):
    """A connection whose request is being computed by an UNHURRIED server, or has just been answered."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(raw_request("/api/score", json.dumps(body).encode()))
        until(lambda: server.state() == "full" or select.select([connection], [], [], 0)[0])
        yield connection


@pytest.fixture(scope="module")
def shared():
    """A server that waits for its clients as long as they need."""
    server = Running(program=("-c", SHARED))
    until(lambda: server.state() == "ready")
    yield server
    server.end()


@pytest.fixture
def connection(shared):
    with socket.create_connection(("127.0.0.1", shared.port), timeout=PATIENCE) as connected:
        yield connected


def test_a_chunked_body_is_read(connection):
    body = json.dumps(PAIR).encode()
    sent = chunked([body[:7], body[7:30], body[30:]]) + b"0\r\n\r\n"
    connection.sendall(raw_request("/api/align", sent, "Transfer-Encoding: chunked"))
    status, answer = answered(connection)
    assert (status, json.loads(answer)["format"]) == (200, "evalign.alignment")


def test_a_chunked_body_without_end_is_cut_off_at_the_limit(connection):
    connection.sendall(raw_request("/api/align", b"", "Transfer-Encoding: chunked"))
    rest = memoryview(chunked([b" " * 65536]) * 64)
    with suppress(BrokenPipeError, ConnectionResetError):
        while rest:
            answers, _, _ = select.select([connection], [connection], [], PATIENCE)
            if answers:
                break
            rest = rest[connection.send(rest[:65536]) :]
    status, answer = answered(connection)
    assert (status, json.loads(answer)["error"]["code"]) == (413, "body-too-large")


def test_a_large_body_is_refused_before_it_is_sent(connection):
    connection.sendall(raw_request("/api/align", b"", f"Content-Length: {2**40}"))
    assert answered(connection)[0] == 413


@pytest.mark.parametrize("head", ["Content-Length: -1", "Content-Length: x", "Transfer-Encoding: gzip", "Host: two"])
def test_broken_requests(connection, head):
    connection.sendall(raw_request("/api/align", b"", head))
    data = connection.recv(65536)
    assert data == b"" or data.split()[1].startswith(b"4") or data.split()[1] == b"501"


def test_after_an_error_the_connection_still_serves(connection):
    for body, status in ((b"{", 400), (json.dumps(PAIR).encode(), 200), (b"[]", 422), (json.dumps(PAIR).encode(), 200)):
        connection.sendall(raw_request("/api/align", body))
        assert answered(connection)[0] == status


def test_the_log_has_no_texts(run_server):
    server = run_server("--verbose", "--deadline", str(PATIENCE))
    post(f"{server.url}/api/align", json=PAIR)
    get(f"{server.url}/health?secret=1")
    code, said = server.end()
    assert code == 0
    assert "POST '/api/align' 200" in said
    assert "cat" not in said
    assert "secret" not in said


@pytest.mark.slow
def test_a_full_server_answers_429_and_a_client_that_leaves_makes_room(run_server):
    server = run_server(*UNHURRIED)
    until(lambda: server.state() == "ready")
    with begun(server, ENDLESS):
        turned = post(f"{server.url}/api/align", json=PAIR)
        assert (turned.status_code, turned.json()["error"]["code"]) == (429, "busy")
        assert int(turned.headers["retry-after"]) >= 1
        assert turned.headers["x-content-type-options"] == "nosniff"
        assert get(f"{server.url}/health").status_code == 200
    until(lambda: server.state() == "ready")
    assert post(f"{server.url}/api/align", json=PAIR).status_code == 200


@pytest.mark.slow
def test_deadlines(run_server):
    server = run_server("--workers", "1", "--queue", "5", "--deadline", "2")
    until(lambda: server.state() == "ready")

    def refusal():
        late = post(f"{server.url}/api/score", json=ENDLESS)
        return late.status_code, late.json()["error"]["code"]

    until(lambda: refusal() == (504, "too-slow"))  # 503, not-begun, where no thread got a turn in two seconds
    until(lambda: post(f"{server.url}/api/align", json=PAIR).status_code == 200)


@pytest.mark.slow
def test_sigterm_finishes_what_runs(run_server):
    server = run_server(*UNHURRIED, "--grace", str(PATIENCE))
    until(lambda: server.state() == "ready")
    with begun(server, slow_rows(3)) as running:
        server.process.send_signal(signal.SIGTERM)
        until(lambda: _refuses(server.port))
        status, body = answered(running)
    assert (status, len(json.loads(body)["rows"])) == (200, 3)
    code, said = server.end()
    assert (code, said) == (0, "")


def _refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_work_without_end_does_not_keep_it(run_server, number):
    server = run_server(*UNHURRIED, "--grace", "1")
    until(lambda: server.state() == "ready")
    with begun(server, ENDLESS) as running:
        code, said = server.end(number)
        assert answered(running)[0] in (0, 503)  # not waited for
    assert code == 0
    assert "Traceback" not in said


@pytest.mark.slow
def test_killed_and_started_again_on_the_same_port(run_server):
    first = run_server()
    assert get(f"{first.url}/health").status_code == 200
    first.end(signal.SIGKILL)
    second = run_server("--port", str(first.port))
    assert second.port == first.port
    assert get(f"{second.url}/health").status_code == 200


def test_a_port_in_use_is_one_sentence(shared):
    command = [sys.executable, "-m", "evalign", "serve", "--model", "fake", "--port", str(shared.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert done.stderr.startswith("evalign: cannot listen on 127.0.0.1")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_another_host_is_warned_about(run_server):
    server = run_server("--host", "0.0.0.0", "--allow-host", "box.example")
    assert get(f"{server.url}/health", headers={"Host": "10.1.2.3:80"}).status_code == 200
    assert get(f"{server.url}/health", headers={"Host": "box.example"}).status_code == 200
    assert get(f"{server.url}/health", headers={"Host": "evil.example"}).status_code == 400
    assert "is open to other machines" in server.end()[1]


def asgi_answer(settings, messages):
    """Status of a POST whose body comes as `messages` say, without a network."""
    app = create_app(settings)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/align", "headers": headers, "query_string": b"",
             "http_version": "1.1", "scheme": "http", "server": ("localhost", 80), "client": ("localhost", 1),
             "root_path": "", "raw_path": b"/api/align", "asgi": {"version": "3.0"}}  # fmt: skip
    said = []

    async def receive():
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()

    async def send(message):
        said.append(message)

    played(app(scope, receive, send))
    return said[0]["status"], json.loads(said[1]["body"])["error"]["code"]


def test_a_body_that_never_ends():
    first = {"type": "http.request", "body": b"{", "more_body": True}
    assert asgi_answer(Settings(("fake",), body_seconds=0.05), [first]) == (400, "body-too-slow")


def test_bodies_of_all_requests_have_a_budget():
    first = {"type": "http.request", "body": b"x" * 2000, "more_body": True}
    assert asgi_answer(Settings(("fake",), body_budget=1000), [first]) == (429, "busy")
    small = Settings(("fake",), limits=RequestLimits(body=1000))
    assert asgi_answer(small, [first]) == (413, "body-too-large")
