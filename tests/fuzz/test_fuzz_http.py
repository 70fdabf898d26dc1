"""Bytes on the wire: the parser, the protocol and the application of the server, driven in process without a socket.

What a client sends arrives in splits that are drawn. It is answered whole, or the connection is closed, or a timer that
will close it runs; no exception is left to anybody, no answer is a 5xx, and no more is stored than the limits allow.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fuzzing import damaged, dumped, examples, fuzz, json_values, mutated, no_hang, numbers
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("fastapi", reason="the extra `web` is not installed")

import h11
import uvicorn
from uvicorn.server import ServerState

from evalign.server.app import create_app
from evalign.server.errors import ApiError
from evalign.server.http_parser import (
    CHUNK_READ_BYTES,
    MAX_CHUNKS,
    MAX_FRAMING_BYTES,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    StrictParser,
)
from evalign.server.http_protocol import GuardedProtocol
from evalign.server.request_body import MAX_JSON_DEPTH, parse_json
from evalign.server.routes import served_routes
from evalign.server.settings import RequestLimits, Settings

pytestmark = pytest.mark.slow

BODY_LIMIT = 20_000
ROUNDS_OF_THE_LOOP = 20_000  # until an answer must be there; a round that waits for the worker takes a millisecond
ANSWER = re.compile(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n")


# The wire ------------------------------------------------------------------------------------------------------


class Wire(asyncio.Transport):
    """A transport that stores what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 5), "sockname": ("127.0.0.1", 80)})
        self.written = bytearray()
        self.closed = self.ended = self.paused = False

    def write(self, data: Any) -> None:
        assert not self.ended
        if not self.closed:
            self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Server:
    """The application in an event loop of its own, without a socket."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        settings = Settings(("fake",), workers=1, deadline=300, body_seconds=300, limits=RequestLimits(body=BODY_LIMIT))
        self.app = create_app(settings)

        class Protocol(GuardedProtocol):
            counters = self.app.service.counters

        self.config = uvicorn.Config(
            self.app, lifespan="off", ws="none", access_log=False, log_config=None, server_header=False,
            proxy_headers=False, http=Protocol, timeout_keep_alive=300,
        )  # fmt: skip
        self.config.load()
        self.protocol, self.errors = Protocol, list[str]()
        self.loop.set_exception_handler(lambda _loop, context: self.errors.append(repr(context)))
        self._lifespan = self.app.app.router.lifespan_context(self.app.app)
        self.loop.run_until_complete(self._lifespan.__aenter__())
        self.loop.run_until_complete(self.app.service.loading)

    def close(self) -> None:
        self.loop.run_until_complete(self._lifespan.__aexit__(None, None, None))
        self.loop.close()

    def exchange(self, parts: list[bytes]) -> tuple[bytes, bool]:
        """Return what a client that sends these parts receives, and whether the connection is closed."""
        with no_hang(), logged_errors() as logged:
            written, closed = self.loop.run_until_complete(self._exchange(parts))
        assert not logged
        assert not self.errors
        return written, closed

    async def _exchange(self, parts: list[bytes]) -> tuple[bytes, bool]:
        wire, state = Wire(), ServerState()
        protocol = self.protocol(self.config, state, {}, self.loop)
        protocol.connection_made(wire)
        for part in parts:
            await self._send(protocol, wire, part)
        await self._settle(protocol, wire)
        written, closed = bytes(wire.written), wire.closed or wire.ended
        assert closed or answered(protocol) or protocol.cycle.more_body
        protocol.connection_lost(None)
        for number in range(ROUNDS_OF_THE_LOOP):
            if not state.tasks:
                break
            await asyncio.sleep(0 if number < 100 else 0.001)
        assert not state.tasks
        assert protocol._deadline is None
        return written, closed

    async def _send(self, protocol: GuardedProtocol, wire: Wire, part: bytes) -> None:
        while part and not wire.closed:
            if wire.paused:
                await self._settle(protocol, wire)
                assert not wire.paused
            buffer = protocol.get_buffer(-1)
            size = min(len(buffer), len(part))
            buffer[:size], part = part[:size], part[size:]
            protocol.buffer_updated(size)
            assert len(protocol.conn.trailing_data[0]) <= MAX_HEAD_BYTES + 2 * len(buffer)
            await asyncio.sleep(0)

    async def _settle(self, protocol: GuardedProtocol, wire: Wire) -> None:
        """Wait until everything that has arrived is answered, as far as it can be."""
        for number in range(ROUNDS_OF_THE_LOOP):
            waits = protocol.cycle is not None and protocol.cycle.more_body and number > 20
            if wire.closed or wire.ended or (number > 3 and answered(protocol)) or (waits and not wire.paused):
                return
            await asyncio.sleep(0 if number < 100 else 0.001)
        raise AssertionError("there is no answer")


def answered(protocol: GuardedProtocol) -> bool:
    """Return whether the last request is answered, and a timer for the next one runs."""
    complete = protocol.cycle is None or protocol.cycle.response_complete
    return complete and protocol._deadline is not None


@contextmanager
def logged_errors() -> Iterator[list[str]]:
    """Collect what uvicorn reports of exceptions in the application."""
    messages: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: messages.append(record.getMessage() + repr(record.exc_info))  # type: ignore[method-assign]
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def answers(written: bytes) -> list[tuple[int, bytes]]:
    """Return status and body of each answer; each must be whole. The answer to a HEAD has a length and no body."""
    found = []
    while written:
        head = ANSWER.match(written)
        assert head is not None, written[:200]
        written = written[head.end() :]
        if head[1] == b"100":
            continue
        length = re.search(rb"(?i)^content-length: *(\d+)\r$", head[2], re.MULTILINE)
        assert length is not None
        size = 0 if not written or ANSWER.match(written) else int(length[1])
        assert len(written) >= size
        found.append((int(head[1]), written[:size]))
        written = written[size:]
    return found


# Requests ------------------------------------------------------------------------------------------------------

PAIR = {"candidate": "a b", "reference": "a c", "metric": "bertscore(model=fake)"}
FAKE = {'"bertscore"': '"bertscore(model=fake)"', "bertscore(idf": "bertscore(model=fake, idf", '"minilm"': '"fake"'}


def with_fake_models(body: Any) -> Any:
    text = json.dumps(body)
    for name, fake in FAKE.items():
        text = text.replace(name, fake)
    return json.loads(text)


BODIES = {f"/api/{name}": with_fake_models(route.example) for name, route in served_routes(third_party=False).items()}
SCORING = ["/api/align", "/api/score", "/api/compare", "/api/resample", "/api/specs", "/api/pool", "/api/idf"]
hosts = st.sampled_from([b"localhost", b"127.0.0.1:80", b"[::1]"])
tokens = st.from_regex(rb"[!#-'*+.^_`|~0-9A-Za-z-]{1,12}", fullmatch=True)
values = st.from_regex(rb"([!-~\x80-\xff]([ \t!-~]{0,10}[!-~])?)?", fullmatch=True)
spaces = st.sampled_from([b"", b" ", b"\t ", b"   "])
media_types = st.sampled_from(
    [b"application/json", b'Application/JSON;charset="UTF-8"', b"application/json; charset=utf-8"]
)


@st.composite
def good_requests(draw: st.DrawFn) -> tuple[bytes, bytes, int | None]:
    """A request that any server takes: bytes, method, and the status that is expected if it does not depend on it."""
    target, status = draw(st.sampled_from([(b"/health", 200), (b"/api/about", 200), (b"/nothing", 404)]))
    method = draw(st.sampled_from([b"GET", b"HEAD", b"POST"]))
    headers = [(b"Host", draw(hosts)), *draw(st.lists(st.tuples(tokens.map(b"X-".__add__), values), max_size=3))]
    body = b""
    if method == b"POST":
        path = draw(st.sampled_from(SCORING))
        target, status = path.encode(), 200
        content = json.dumps(BODIES[path], indent=draw(st.sampled_from([None, 1, 2]))).encode()
        headers.append((b"Content-Type", draw(media_types)))
        framing, body = draw(framed(content))
        headers.append(framing)
    else:
        target += draw(st.sampled_from([b"", b"?", b"?a=b&c=%20%zz"]))
    head = b"%s %s HTTP/1.1\r\n" % (method, target)
    for name, value in draw(st.permutations(headers)):
        name = draw(st.sampled_from([name, name.lower(), name.upper()]))
        head += name + b":" + draw(spaces) + value + draw(spaces) + b"\r\n"
    return head + b"\r\n" + body, method, status


@st.composite
def framed(draw: st.DrawFn, content: bytes) -> tuple[tuple[bytes, bytes], bytes]:
    """A body with its length, or in chunks of any size, with extensions and trailers."""
    if draw(st.booleans()):
        return (b"Content-Length", b"%d" % len(content)), content
    body = b""
    while content:
        size = draw(st.integers(1, len(content)))
        digits = draw(st.sampled_from([b"%x", b"%X", b"00%x"])) % size
        extension = draw(st.sampled_from([b"", b"", b";a", b";a=b", b';a="b c"']))
        body += digits + extension + b"\r\n" + content[:size] + b"\r\n"
        content = content[size:]
    trailer = draw(st.sampled_from([b"", b"", b"X-Sum: 1\r\n"]))
    return (b"Transfer-Encoding", draw(st.sampled_from([b"chunked", b"Chunked"]))), body + b"0\r\n" + trailer + b"\r\n"


@st.composite
def splits(draw: st.DrawFn, raw: bytes) -> list[bytes]:
    """The bytes in pieces: whole, in two to six parts, or byte by byte."""
    if len(raw) < 600 and draw(st.integers(0, 4)) == 0:
        return [raw[index : index + 1] for index in range(len(raw))]
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    return [raw[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(raw)], strict=True)]


@examples(2)
@given(st.lists(good_requests(), min_size=1, max_size=3), st.data())
def test_good_requests_are_answered(
    server: Server, requests: list[tuple[bytes, bytes, int | None]], data: st.DataObject
) -> None:
    """One after the other on one connection, sent without waiting: each has its answer, in order."""
    parts = data.draw(splits(b"".join(request for request, _, _ in requests)))
    written, closed = server.exchange(parts)
    assert not closed
    found = answers(written)
    assert [status for status, _ in found] == [status for _, _, status in requests]
    for (_, body), (_, method, _) in zip(found, requests, strict=True):
        assert (body == b"") == (method == b"HEAD")
        assert type(json.loads(body or b"{}")) is dict


LINES = [
    b"Content-Length: 3", b"content-length: 0", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip", b"A: b",
    b"Host: evil.example", b"Expect: 100-continue", b"Connection: close", b"Content-Encoding: gzip", b" folded",
    b"Connection: Upgrade\r\nUpgrade: websocket", b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"0\r\n",
    b"ffffffffffffffff", b"1;" + b"x" * 3000, b"\r\n".join([b"A: b"] * 101),
]  # fmt: skip
WORDS = [
    b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b"HTTP/1.0", b"HTTP/2.0", b"-1", b"+1", b"0x10",
    b"99999999999999999999", b"1" * 5000, b"/api/score", b"/page/", b"/%2e%2e/", b"\xff\xfe", b"x" * 17_000,
]  # fmt: skip
marks = st.sampled_from([*WORDS, *(line + b"\r\n" for line in LINES)])


def check_answers(server: Server, parts: list[bytes]) -> None:
    written, closed = server.exchange(parts)
    found = answers(written)
    assert all(status < 500 for status, _ in found)
    if any(status == 400 and b'"bad-http"' in body for status, body in found):
        assert closed


@examples(5)
@given(st.lists(good_requests(), min_size=1, max_size=2), st.data())
def test_mutated_requests(server: Server, requests: list[tuple[bytes, bytes, int | None]], data: st.DataObject) -> None:
    raw = data.draw(damaged(b"".join(request for request, _, _ in requests), marks))
    check_answers(server, data.draw(splits(raw)))


@examples(2)
@given(st.one_of(st.binary(max_size=300), st.lists(marks, max_size=12).map(b"".join)), st.data())
def test_random_requests(server: Server, raw: bytes, data: st.DataObject) -> None:
    check_answers(server, data.draw(splits(raw)))


hostile = st.one_of(json_values, numbers, st.sampled_from(["bertscore", "chrf", "bertscore(model=minilm)", "x" * 5000]))


@examples(3)
@given(st.sampled_from(sorted(BODIES)), st.data())
def test_mutated_bodies(server: Server, path: str, data: st.DataObject) -> None:
    body = dumped(data.draw(mutated(BODIES[path], hostile))).encode("utf-8", "surrogatepass")
    head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    check_answers(server, [head % (path.encode(), len(body)), body])


@examples(0.2)
@given(st.integers(BODY_LIMIT - 3, BODY_LIMIT + 3), st.booleans())
def test_the_limit_of_a_body_holds(server: Server, size: int, chunked: bool) -> None:
    body = json.dumps(PAIR).encode().ljust(size)
    framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % size
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body) if chunked else body
    head = b"POST /api/align HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s\r\n\r\n" % framing
    written, _ = server.exchange([head + sent])
    assert answers(written)[0][0] == (200 if size <= BODY_LIMIT else 413)


# The parser ----------------------------------------------------------------------------------------------------


def parsed(parts: list[bytes]) -> tuple[list[Any], ApiError | None]:
    """Return the events of one request, and the refusal; bytes that are stored stay within the limit of a head."""
    parser, events = StrictParser(), list[Any]()
    try:
        for part in parts:
            while part:
                read, part = part[: parser.read_bytes], part[parser.read_bytes :]
                parser.receive_data(read)
                while (event := parser.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
                    events.append(event)
                assert len(parser.trailing_data[0]) <= MAX_HEAD_BYTES
                if event is h11.PAUSED:
                    return events, None
    except h11.RemoteProtocolError:
        assert parser.refusal is not None
        assert 400 <= parser.refusal.status < 500
        return events, parser.refusal
    return events, None


def body_of(events: list[Any]) -> bytes:
    return b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data))


@fuzz
@given(st.binary(min_size=1, max_size=2000), st.data())
def test_any_framing_gives_the_same_body(content: bytes, data: st.DataObject) -> None:
    (name, value), body = data.draw(framed(content))
    head = b"POST / HTTP/1.1\r\nHost: a\r\n%s: %s\r\n\r\n" % (name, value)
    events, refusal = parsed(data.draw(splits(head + body)))
    assert refusal is None
    assert isinstance(events[-1], h11.EndOfMessage)
    assert body_of(events) == content


@fuzz
@given(st.data())
def test_splits_change_nothing(data: st.DataObject) -> None:
    raw = data.draw(st.one_of(damaged(data.draw(good_requests())[0], marks), st.lists(marks, max_size=8).map(b"".join)))
    raw = raw[:MAX_HEAD_BYTES]  # a head that is a little longer is refused if its end comes late
    ways = [parsed(data.draw(splits(raw))) for _ in range(2)]
    (events, refusal), (others, other) = ways
    assert (refusal and refusal.code) == (other and other.code)
    assert [event for event in events if not isinstance(event, h11.Data)] == [
        event for event in others if not isinstance(event, h11.Data)
    ]
    if refusal is None:
        assert body_of(events) == body_of(others)


@examples(0.5)
@given(st.integers(0, 2 * MAX_HEADERS), st.integers(0, MAX_HEAD_BYTES + 2 * CHUNK_READ_BYTES))
def test_limits_of_heads_hold(headers: int, filling: int) -> None:
    lines = b"".join(b"X%d: y\r\n" % number for number in range(headers))
    start = b"GET / HTTP/1.1\r\nHost: a\r\nFilling: "
    raw = start + b"x" * max(0, filling - len(start + lines) - 4) + b"\r\n" + lines + b"\r\n"
    events, refusal = parsed([raw])
    if headers + 2 <= MAX_HEADERS and len(raw) <= MAX_HEAD_BYTES:
        assert refusal is None
        assert isinstance(events[-1], h11.EndOfMessage)
    if headers + 2 > MAX_HEADERS or len(raw) > MAX_HEAD_BYTES + CHUNK_READ_BYTES:
        assert refusal is not None
        assert refusal.status == 431


@examples(0.1)
@given(
    st.one_of(st.integers(0, 300), st.integers(MAX_CHUNKS - 3, MAX_CHUNKS + 3)), st.integers(1, 30), st.integers(0, 900)
)
def test_limits_of_chunks_hold(chunks: int, size: int, extension: int) -> None:
    chunk = b"%x;%s\r\n%s\r\n" % (size, b"x" * extension, b"y" * size)
    framing = (len(chunk) - size) * chunks
    head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    events, refusal = parsed([head, chunk * chunks + b"0\r\n\r\n"])
    assert sum(isinstance(event, h11.Data) for event in events) <= 2 * MAX_CHUNKS
    if chunks <= MAX_CHUNKS and framing + 5 <= MAX_FRAMING_BYTES:
        assert refusal is None
        assert len(body_of(events)) == chunks * size
    if chunks > MAX_CHUNKS or framing > MAX_FRAMING_BYTES + 2 * CHUNK_READ_BYTES + MAX_HEAD_BYTES:
        assert refusal is not None
        assert refusal.status == 413


# Bodies --------------------------------------------------------------------------------------------------------

json_bytes = st.one_of(json_values, mutated(PAIR)).map(dumped).map(str.encode)


@fuzz
@given(st.one_of(st.binary(max_size=100), json_bytes, json_bytes.flatmap(damaged)))
def test_random_json_bodies(raw: bytes) -> None:
    try:
        value = parse_json(raw)
    except ApiError as error:
        status = error.status
    else:
        status = 400
        assert plain(value) == plain(json.loads(raw))
    assert status == 400


def plain(value: Any) -> Any:
    """Replace lone surrogates, and floats that are whole, as the server does."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {plain(key): plain(item) for key, item in value.items()} if isinstance(value, dict) else value


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**28), 10**28), st.floats(-1e300, 1e300), st.text(max_size=9)
)
good_values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)),
)


@fuzz
@given(good_values, st.booleans(), st.integers(0, MAX_JSON_DEPTH + 10))
def test_good_json_bodies_are_read(value: Any, ascii_only: bool, depth: int) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value
    nested = b"[" * depth + b"]" * depth
    if 0 < depth <= MAX_JSON_DEPTH:
        assert parse_json(nested) == json.loads(nested)
    else:
        with pytest.raises(ApiError):
            parse_json(nested)
