"""Bodies of very many small chunks: refused early, read in small parts, and no other client notices."""

import re
import socket
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import h11
import pytest
from server_answers import PATIENCE, until

from evalign.server import http_parser
from evalign.server.http_parser import StrictParser

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
ASKED = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CLIENTS = 8
TIMES = 3
GROWTH_MB = 64
ATTACKS = {
    "a million chunks": (b"POST /api/align HTTP/1.1\r\n" + HEAD + b"1\r\n \r\n" * 1_000_000, b"413"),
    "long chunk headers": (b"POST /api/align HTTP/1.1\r\n" + HEAD + b"1;" + b"x" * 9_000_000, b"431"),
    "many extensions": (b"POST /api/align HTTP/1.1\r\n" + HEAD + (b"1;" + b"x" * 5000 + b"\r\n \r\n") * 1200, b"413"),
    "a body that nobody reads": (b"GET /health HTTP/1.1\r\n" + HEAD + b"1\r\n \r\n" * 1_000_000, b"200"),
}


def status(port, sent):
    """The status of the first answer; the request is sent as far as the server takes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        with suppress(ConnectionResetError):
            return connection.recv(4096)[9:12]
    return b""


def resident_mb(process):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


@pytest.mark.parametrize(
    "name", [name if name == "a million chunks" else pytest.param(name, marks=pytest.mark.slow) for name in ATTACKS]
)
def test_others_are_answered_while_eight_clients_send_chunks(run_server, name):
    server = run_server()
    until(lambda: server.state() == "ready")
    sent, expected = ATTACKS[name]
    before, largest = resident_mb(server.process), 0
    found, healthy = Counter(), Counter()

    def attack():
        for _ in range(TIMES):
            found[status(server.port, sent)] += 1

    threads = [threading.Thread(target=attack) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        healthy[status(server.port, ASKED)] += 1
        largest = max(largest, resident_mb(server.process))
    assert set(healthy) == {b"200"}
    assert found[expected] >= CLIENTS * TIMES / 2  # a reset may overtake an answer
    assert set(found) <= {expected, b""}
    assert largest - before < GROWTH_MB
    assert server.end() == (0, "")


def parsed(sent, read_bytes=1000):
    """The status of the parser's refusal of a request, and the bytes it took; None and all of them if it has none."""
    parser = StrictParser()
    for start in range(0, len(sent), read_bytes):
        parser.receive_data(sent[start : start + read_bytes])
        with suppress(h11.RemoteProtocolError):
            while parser.next_event() not in (h11.NEED_DATA, h11.PAUSED):
                pass
        if parser.refusal:
            return parser.refusal.status, start + read_bytes
    return None, len(sent)


def body(*chunks):
    return b"POST / HTTP/1.1\r\n" + HEAD + b"".join(chunks)


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        (body(b"1\r\n \r\n" * http_parser.MAX_CHUNKS, b"0\r\n\r\n"), None),
        (body(b"1\r\n \r\n" * http_parser.MAX_CHUNKS, b"1\r\n \r\n0\r\n\r\n"), 413),
        (body(b"%x\r\n%s\r\n" % (2**20, b" " * 2**20), b"0\r\n\r\n"), None),
        (body(b"1;%s\r\n \r\n" % (b"x" * 993) * 100), None),
        (body(b"1;%s\r\n \r\n" % (b"x" * 993) * 150), 413),
        (body(b"1\r\n \r\n0\r\n\r\n") * 3, None),
    ],
    ids=["chunks", "a chunk more", "a large chunk", "extensions", "more extensions", "several requests"],
)  # fmt: skip
def test_chunks_are_limited(sent, refusal):
    assert parsed(sent)[0] == refusal


@pytest.mark.parametrize("read_bytes", [3, 1999])
@pytest.mark.parametrize(("more", "refusal"), [(0, None), (1, 413)])
def test_chunks_are_counted_however_they_are_split(read_bytes, more, refusal):
    """A size that arrived without its chunk was not counted."""
    sent = body(b"1\r\n \r\n" * (http_parser.MAX_CHUNKS + more), b"0\r\n\r\n")
    assert parsed(sent, read_bytes)[0] == refusal


def test_chunks_are_counted_for_each_request():
    parser = StrictParser()
    request = body(b"1\r\n \r\n" * http_parser.MAX_CHUNKS, b"0\r\n\r\n")
    for _ in range(3):
        parser.receive_data(request)
        while parser.next_event() is not h11.NEED_DATA:
            if parser.their_state is h11.DONE:
                break
        for event in (h11.Response(status_code=200, headers=[("Content-Length", "0")]), h11.EndOfMessage()):
            parser.send(event)
        parser.start_next_cycle()


def test_reads_are_small_unless_the_length_of_the_body_is_known():
    parser = StrictParser()
    assert parser.read_bytes == http_parser.CHUNK_READ_BYTES
    parser.receive_data(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000\r\n\r\n")
    parser.next_event()
    assert parser.read_bytes == 30_000
    parser.receive_data(b" " * 29_000)
    parser.next_event()
    assert parser.read_bytes == http_parser.CHUNK_READ_BYTES
    chunked = StrictParser()
    chunked.receive_data(body())
    chunked.next_event()
    assert chunked.read_bytes == http_parser.CHUNK_READ_BYTES
