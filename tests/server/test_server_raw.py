"""Malformed and hostile requests over a socket: never a 5xx, and /health keeps answering."""

import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from server_answers import PATIENCE, Running, until

IDLE = 2  # seconds after which the server hangs up on a request that is not whole
SERVER = f"""
from evalign.server.run import serve
from evalign.server.settings import Settings
settings = Settings(("fake",), idle_seconds={IDLE}, body_seconds={IDLE}, deadline={PATIENCE})
serve(settings, 0, lambda address: print(address, flush=True))
"""
BODY = b'{"candidate": "a b", "reference": "a c", "metric": "bertscore(model=fake)"}'
JSON = b"Content-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HEAD = b"HEAD /health HTTP/1.1\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
WHOLE = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
HANGS_UP = 0  # no answer: the connection is closed
MANY_CHUNKS = b"1\r\n \r\n" * 20_000
LONG_EXTENSIONS = (b"1;" + b"x" * 1000 + b"\r\n \r\n") * 1000


def get(head=b"Host: localhost\r\n", line=b"GET /health HTTP/1.1\r\n", body=b""):
    return line + head + b"\r\n" + body


def post(head, body=b"", host=b"Host: localhost\r\n", line=b"POST /api/align HTTP/1.1\r\n"):
    return line + host + head + b"\r\n" + body


def host(value):
    return get(b"Host: " + value + b"\r\n")


# name: (bytes on the wire, allowed statuses of the first answer)
REQUESTS = {
    # Good requests, so that a server that refuses everything fails.
    "a good GET": (get(), {200}),
    "a good HEAD": (get(line=b"HEAD /health HTTP/1.1\r\n"), {200}),
    "a good POST": (post(JSON + LENGTH, BODY), {200}),
    "a good chunked POST": (post(JSON + CHUNKED, WHOLE), {200}),
    "chunk extensions": (post(JSON + CHUNKED, b"%x;a=b\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)), {200}),
    "trailers": (post(JSON + CHUNKED, WHOLE[:-2] + b"X-Sum: 1\r\n\r\n"), {200}),
    "a hundred small chunks": (post(JSON + CHUNKED, b"1\r\n \r\n" * 100 + WHOLE), {200}),
    "one identity encoding": (post(JSON + LENGTH + b"Content-Encoding: identity\r\n", BODY), {200}),
    "HTTP/1.0 with a Host": (get(line=b"GET /health HTTP/1.0\r\n"), {200}),
    "an unknown header": (get(b"Host: localhost\r\nX-Other: \xff\xfe\r\n"), {200}),
    "an IPv6 host": (host(b"[::1]:80"), {200}),
    # No HTTP.
    "nothing but line ends": (b"\r\n\r\n\r\n", {400}),
    "a null byte": (b"\0" * 100, {400}),
    "a TLS handshake": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 200, {400}),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "a word": (b"hello\r\n\r\n", {400}),
    "an SSH banner": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", {400}),
    "HTTP/0.9": (b"GET /health\r\n\r\n", {400}),
    "half a head": (b"GET /health HTTP/1.1\r\nHost: loc", {HANGS_UP}),
    "nothing": (b"", {HANGS_UP}),
    # Request lines.
    "HTTP/2.0": (get(line=b"GET /health HTTP/2.0\r\n"), {400}),
    "HTTP/1.2": (get(line=b"GET /health HTTP/1.2\r\n"), {400}),
    "HTTP/0.9 with a version": (get(line=b"GET /health HTTP/0.9\r\n"), {400}),
    "a version of letters": (get(line=b"GET /health HTTP/x.y\r\n"), {400}),
    "two blanks": (get(line=b"GET  /health HTTP/1.1\r\n"), {400}),
    "a tab": (get(line=b"GET\t/health\tHTTP/1.1\r\n"), {400}),
    "a blank in the path": (get(line=b"GET /hea lth HTTP/1.1\r\n"), {400}),
    "a leading blank": (get(line=b" GET /health HTTP/1.1\r\n"), {400}),
    "no path": (get(line=b"GET HTTP/1.1\r\n"), {400}),
    "bytes that are no ASCII": (get(line=b"GET /\xff\xfe HTTP/1.1\r\n"), {400}),
    "a null byte in the path": (get(line=b"GET /health\0 HTTP/1.1\r\n"), {400}),
    "an encoded null byte": (get(line=b"GET /page/%00.js HTTP/1.1\r\n"), {404}),
    "broken percent signs": (get(line=b"GET /%zz%f HTTP/1.1\r\n"), {404}),
    "no UTF-8 in the path": (get(line=b"GET /page/%ff%fe.js HTTP/1.1\r\n"), {404}),
    "climbing out": (get(line=b"GET /page/../../../../etc/passwd HTTP/1.1\r\n"), {404}),
    "climbing out, encoded": (get(line=b"GET /page/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n"), {404}),
    "climbing out, backslashes": (get(line=b"GET /page/..\\..\\settings.py HTTP/1.1\r\n"), {404}),
    "an absolute path": (get(line=b"GET /page//etc/passwd HTTP/1.1\r\n"), {404}),
    "another site's address": (get(line=b"GET http://evil.example/ HTTP/1.1\r\n"), {404}),
    "a star": (get(line=b"OPTIONS * HTTP/1.1\r\n"), {400, 404, 405}),
    "CONNECT": (get(line=b"CONNECT localhost:443 HTTP/1.1\r\n"), {404, 405}),
    "TRACE": (get(line=b"TRACE /health HTTP/1.1\r\n"), {405}),
    "a method of letters": (get(line=b"BREW /health HTTP/1.1\r\n"), {405}),
    "a method of a thousand letters": (get(line=b"A" * 1000 + b" /health HTTP/1.1\r\n"), {405}),
    "a method with a bracket": (get(line=b"G(T /health HTTP/1.1\r\n"), {400}),
    "a long path": (get(line=b"GET /" + b"a" * 15_000 + b" HTTP/1.1\r\n"), {404}),
    "a longer path": (get(line=b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n"), {431}),
    "a long query": (get(line=b"GET /health?" + b"a=b&" * 3000 + b" HTTP/1.1\r\n"), {200}),
    # Headers.
    "a header without a colon": (get(b"Host: localhost\r\nNothing\r\n"), {400}),
    "a blank before the colon": (get(b"Host : localhost\r\n"), {400}),
    "a header without a name": (get(b"Host: localhost\r\n: x\r\n"), {400}),
    "a null byte in a header": (get(b"Host: localhost\r\nX: a\0b\r\n"), {400}),
    "a return in a header": (get(b"Host: localhost\r\nX: a\rb\r\n"), {400}),
    "a folded first header": (get(b" Host: localhost\r\n"), {400}),
    "a folded host": (get(b"Host: localhost\r\n evil.example\r\n"), {400}),
    "a name in brackets": (get(b"Host: localhost\r\n(X): y\r\n"), {400}),
    "a hundred and one headers": (get(b"Host: localhost\r\n" + b"X: y\r\n" * 100), {431}),
    "three thousand headers": (get(b"Host: localhost\r\n" + b"X:\r\n" * 3000), {431}),
    "a header of 100 kB": (get(b"Host: localhost\r\nX: " + b"y" * 100_000 + b"\r\n"), {431}),
    "headers without an end": (get(b"Host: localhost\r\n" + b"X: y\r\n" * 100_000)[:-2], {431}),
    "an upgrade to a websocket": (
        get(b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n"), {200},
    ),
    "an upgrade to HTTP/2": (
        get(b"Host: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n"), {200},
    ),
    "ranges": (get(b"Host: localhost\r\nRange: bytes=0-0," + b"0-1," * 2000 + b"\r\n"), {200}),
    # Hosts.
    "no host": (get(b""), {400}),
    "no host in HTTP/1.0": (get(b"", line=b"GET /health HTTP/1.0\r\n"), {400}),
    "an empty host": (host(b""), {400}),
    "two hosts": (get(b"Host: localhost\r\nHost: localhost\r\n"), {400}),
    "a second host of another site": (get(b"Host: localhost\r\nHost: evil.example\r\n"), {400}),
    "another site behind a user": (host(b"localhost:x@evil.example"), {400}),
    "another site after a port": (host(b"localhost:80@evil.example"), {400}),
    "two ports": (host(b"localhost:80:90"), {400}),
    "a port of letters": (host(b"localhost:http"), {400}),
    "a list of hosts": (host(b"localhost, evil.example"), {400}),
    "a host with a path": (host(b"localhost/evil"), {400}),
    "an open bracket": (host(b"[::1"), {400}),
    "a host after a bracket": (host(b"[::1].evil.example"), {400}),
    "a host that is no ASCII": (host(b"localhost\xff"), {400}),
    # Lengths and encodings of bodies.
    "a length and chunks": (post(JSON + LENGTH + CHUNKED, WHOLE), {400}),
    "chunks and a length": (post(JSON + CHUNKED + LENGTH, WHOLE), {400}),
    "chunks in HTTP/1.0": (post(JSON + CHUNKED, WHOLE, line=b"POST /api/align HTTP/1.0\r\n"), {400}),
    "chunks twice": (post(JSON + CHUNKED + CHUNKED, WHOLE), {400}),
    "gzip, chunked": (post(JSON + b"Transfer-Encoding: gzip, chunked\r\n", WHOLE), {400}),
    "an unknown transfer": (post(JSON + b"Transfer-Encoding: xchunked\r\n", WHOLE), {400}),
    "a tab before chunked": (post(JSON + b"Transfer-Encoding:\tchunked\r\n", WHOLE), {200, 400}),
    "identity": (post(JSON + b"Transfer-Encoding: identity\r\n", BODY), {400}),
    "two lengths": (post(JSON + LENGTH + b"Content-Length: 1\r\n", BODY), {400}),
    "a list of lengths": (post(JSON + b"Content-Length: 1, 2\r\n", BODY), {400}),
    "a negative length": (post(JSON + b"Content-Length: -1\r\n", BODY), {400}),
    "a length with a sign": (post(JSON + b"Content-Length: +5\r\n", BODY), {400}),
    "a hexadecimal length": (post(JSON + b"Content-Length: 0x10\r\n", BODY), {400}),
    "a length of other digits": (post(JSON + "Content-Length: ١٢\r\n".encode(), BODY), {400}),
    "a length of 5,000 digits": (post(JSON + b"Content-Length: " + b"9" * 5000 + b"\r\n", BODY), {400}),
    "a terabyte": (post(JSON + b"Content-Length: 1099511627776\r\n"), {413}),
    "a body that never comes": (post(JSON + b"Content-Length: 100\r\n"), {400}),
    "a length below the body": (post(JSON + b"Content-Length: 5\r\n", BODY), {400}),
    "a second encoding": (
        post(JSON + LENGTH + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", BODY), {415},
    ),
    "gzip": (post(JSON + LENGTH + b"Content-Encoding: gzip\r\n", BODY), {415}),
    "two types": (post(JSON + LENGTH + b"Content-Type: text/plain\r\n", BODY), {415}),
    "an unknown expectation": (post(JSON + LENGTH + b"Expect: 200-ok\r\n", BODY), {200, 417}),
    # Chunks.
    "a chunk of no size": (post(JSON + CHUNKED, b"\r\n\r\n"), {400}),
    "a chunk of letters": (post(JSON + CHUNKED, b"xyz\r\nabc\r\n"), {400}),
    "a negative chunk": (post(JSON + CHUNKED, b"-1\r\nabc\r\n"), {400}),
    "a chunk with 0x": (post(JSON + CHUNKED, b"0x1\r\na\r\n"), {400}),
    "a chunk of 21 digits": (post(JSON + CHUNKED, b"f" * 21 + b"\r\n"), {400}),
    "a chunk longer than its size": (post(JSON + CHUNKED, b"1\r\nabc\r\n0\r\n\r\n"), {400}),
    "a chunk size without end": (post(JSON + CHUNKED, b"1;" + b"a" * 100_000), {400, 431}),
    "many chunks": (post(JSON + CHUNKED, MANY_CHUNKS), {413}),
    "long extensions": (post(JSON + CHUNKED, LONG_EXTENSIONS), {413}),
    "many trailers": (post(JSON + CHUNKED, WHOLE[:-2] + b"X: y\r\n" * 100_000), {400, 431}),
    "chunks that never end": (post(JSON + CHUNKED, WHOLE[:-5]), {400}),
    # Bodies that nobody reads: the first answer comes at once, and what follows it ends the connection.
    "a GET with many chunks": (get(b"Host: localhost\r\n" + CHUNKED, body=MANY_CHUNKS), {200}),
    "a GET with a broken chunk": (get(b"Host: localhost\r\n" + CHUNKED, body=b"1\r\nabc\r\n"), {200, 400}),
    "a form with many chunks": (post(CHUNKED, MANY_CHUNKS), {413, 415}),
    "a GET with half a body": (get(b"Host: localhost\r\nContent-Length: 100\r\n", body=b"abc"), {200}),
    # A refusal of a HEAD has no body, which h11 would not send.
    "a HEAD with broken chunks": (get(b"Host: localhost\r\n" + CHUNKED, HEAD, b"1\r\nabc\r\n"), {200, 400}),
    "a HEAD with a length and chunks": (get(b"Host: localhost\r\n" + LENGTH + CHUNKED, HEAD, WHOLE), {400}),
    "a HEAD of HTTP/1.2": (get(line=b"HEAD /health HTTP/1.2\r\n"), {400}),
    "a HEAD with a hundred and one headers": (get(b"Host: localhost\r\n" + b"X: y\r\n" * 100, HEAD), {431}),
    "a HEAD, then no request": (get(line=HEAD) + b"\0\0\0\r\n\r\n", {200}),
    # Several requests at once.
    "a second request that is none": (get() + b"\0\0\0\r\n\r\n", {200}),
    "more after the last request": (get(b"Host: localhost\r\nConnection: close\r\n") + get(), {200, 400}),
    "five hundred requests": (get() * 500, {200}),
}  # fmt: skip


@pytest.fixture(scope="module")
def answers():
    """What a server answers to each request, and to a question after it; it says nothing on standard error."""
    server = Running(program=("-c", SERVER))
    until(lambda: server.state() == "ready")
    with ThreadPoolExecutor(20) as threads:
        asked = {name: threads.submit(asked_then_healthy, server.port, sent) for name, (sent, _) in REQUESTS.items()}
        received = {name: answer.result() for name, answer in asked.items()}
    assert server.end() == (0, "")
    return received


def asked_then_healthy(port, sent):
    """The answers to a request, and the status of /health after it."""
    return exchanged(port, sent), statuses(exchanged(port, get(b"Host: localhost\r\nConnection: close\r\n")))


def exchanged(port, sent):
    """Everything a server answers until it or the idle timer closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        received = []
        reader = threading.Thread(target=lambda: received.append(everything(connection)))
        reader.start()
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        reader.join()
        return received[0]


def everything(connection):
    data = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            data += part
    return data


def statuses(answers):
    return [int(status) for status in STATUS.findall(answers)]


def test_there_are_ninety():
    assert len(REQUESTS) >= 90


@pytest.mark.parametrize("name", REQUESTS)
def test_no_request_breaks_the_server(answers, name):
    received, healthy = answers[name]
    found = statuses(received)
    assert (found[0] if found else HANGS_UP) in REQUESTS[name][1], received[:500]
    assert max(found, default=0) < 500
    for head in STATUS.split(received)[2::2]:
        assert b"x-content-type-options: nosniff" in head.lower()
    assert healthy == [200]
