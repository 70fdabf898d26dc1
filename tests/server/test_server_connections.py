"""Connections that ask nothing are closed, in a real server; those that ask are served meanwhile."""

import socket
import time

import pytest
from server_answers import PATIENCE, Running, until

IDLE = 1  # seconds that the server lets a connection ask nothing
SERVER = f"""
from evalign.server.http_protocol import GuardedProtocol
from evalign.server.run import serve
from evalign.server.settings import Settings
GuardedProtocol.rounds = 3
serve(Settings(("fake",), idle_seconds={IDLE}), 0, lambda address: print(address, flush=True))
"""
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = HEALTH.replace(b"/health", b"/openapi.json")
ANSWER = b'{"status": "alive"}'
TOO_LARGE = (
    b"POST /api/align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n"
)


@pytest.fixture(scope="module")
def impatient():
    server = Running(program=("-c", SERVER))
    yield server
    server.end()


def received(connection, end=None):
    """What comes until `end`, or until the server hangs up."""
    data = b""
    while not (end and data.endswith(end)):
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            part = b""
        if not part:
            assert end is None, data
            break
        data += part
    return data


@pytest.fixture
def connection(impatient):
    with socket.create_connection(("127.0.0.1", impatient.port), timeout=PATIENCE) as connected:
        yield connected


def promptly(server, scene, lasting=0.0, tries=10):
    """Plays a scene on a connection of its own; again if this process, not the server, was the one that dawdled.

    `lasting` is what the scene takes by itself, in seconds.
    """
    for left in reversed(range(tries)):
        began = time.monotonic()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(PATIENCE)
            connection.connect(("127.0.0.1", server.port))
            try:
                return scene(connection)
            except (AssertionError, ConnectionError):
                if not left or time.monotonic() - began < lasting + IDLE:
                    raise


@pytest.mark.parametrize("sent", [b"", b"G", HEALTH[:-2], HEALTH[:-2] + b"X: " + b"x" * 1000], ids=len)
def test_a_connection_without_a_whole_head_is_closed(connection, sent):
    connection.sendall(sent)
    assert received(connection) == b""


def test_a_head_that_comes_drop_by_drop_is_not_waited_for(connection):
    connection.settimeout(0.1)
    until(lambda: not still_open(connection, b"x"))


def still_open(connection, sent):
    """Whether the server wants more after this."""
    try:
        connection.sendall(sent)
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except (ConnectionResetError, BrokenPipeError):
        return False


def test_half_a_head_after_an_answer_is_not_waited_for_either(impatient):
    def scene(connection):
        connection.sendall(HEALTH)
        assert received(connection, ANSWER).startswith(b"HTTP/1.1 200")
        connection.sendall(HEALTH[:10])
        assert received(connection) == b""

    promptly(impatient, scene, lasting=IDLE)


def test_a_body_that_was_refused_is_not_waited_for(impatient):
    def scene(connection):
        connection.sendall(TOO_LARGE)
        assert received(connection).startswith(b"HTTP/1.1 413")

    promptly(impatient, scene, lasting=IDLE)


def test_answers_that_nobody_reads_are_not_kept(impatient):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", impatient.port))
        connection.settimeout(0.1)
        until(lambda: not takes(connection, LARGE * 20))


def takes(connection, sent):
    """Whether the server may still take more, now or later."""
    try:
        connection.send(sent)
    except TimeoutError:
        pass
    except (ConnectionResetError, BrokenPipeError):
        return False
    return True


def test_an_answer_that_is_read_slowly_is_sent_whole(impatient):
    def scene(connection):
        connection.sendall(LARGE * 100)
        parts = []
        for _ in range(6):  # longer than a connection may be idle
            time.sleep(0.25)
            parts.append(connection.recv(65536))
        assert b"".join([*parts, received(connection)]).count(b"HTTP/1.1 200") == 100

    promptly(impatient, scene, lasting=6 * 0.25 + IDLE)


def test_requests_in_a_row_and_all_at_once_are_served(impatient):
    def scene(connection):
        for _ in range(3):
            connection.sendall(HEALTH)
            assert received(connection, ANSWER).startswith(b"HTTP/1.1 200")
        connection.sendall(HEALTH * 3)
        assert received(connection).count(ANSWER) == 3

    promptly(impatient, scene, lasting=IDLE)


def test_a_head_in_two_parts_is_served(impatient):
    def scene(connection):
        connection.sendall(HEALTH[:20])
        connection.sendall(HEALTH[20:])
        assert received(connection, ANSWER).startswith(b"HTTP/1.1 200")

    promptly(impatient, scene)
