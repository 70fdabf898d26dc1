"""Connections: bytes in small reads to the parser, refusals of the parser, and timers.

A connection reads a little, parses it and leaves the event loop to the others; so timers run whatever a client sends.
"""

from __future__ import annotations

import asyncio
import math
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from evalign.server.counters import NO_ROUTE, Counters
from evalign.server.errors import ApiError
from evalign.server.http_parser import BODY_READ_BYTES, StrictParser
from evalign.server.middleware import HEADERS

_read_buffer = memoryview(bytearray(BODY_READ_BYTES))  # for all: filled and copied without a step of the loop between


class GuardedProtocol(H11Protocol, asyncio.BufferedProtocol):
    """Protocol that closes a connection without a complete request after `timeout_keep_alive` seconds of waiting.

    What the parser refuses is answered once; then the connection only discards, since closing it while bytes arrive
    could lose the answer on its way. While an answer is sent, the limit is `rounds` times as long without progress of
    the client: operating systems buffer megabytes, so that a slow client seems to make no progress for a while.
    """

    conn: StrictParser
    counters: ClassVar[Counters]  # of the server, set by a subclass
    rounds: ClassVar[int] = 6
    _discarding = False
    _deadline: asyncio.TimerHandle | None = None
    _unsent: float = math.inf  # bytes of answers at the last check
    _rounds_left: int = rounds

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = StrictParser()

    def get_buffer(self, _size: int) -> memoryview:
        """Return the buffer of the next read."""
        return _read_buffer if self._discarding else _read_buffer[: self.conn.read_bytes]

    def buffer_updated(self, size: int) -> None:
        """Parse what was read."""
        if not self._discarding:
            self.data_received(bytes(_read_buffer[:size]))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the head of the first request."""
        super().connection_made(transport)
        self.counters.connections += 1
        self._begin_waiting()

    def handle_events(self) -> None:
        """Stop the timer when a request has arrived: its body and its answer have other deadlines."""
        super().handle_events()
        self._stop_if_busy()

    def send_400_response(self, _message: str) -> None:
        """Answer what the parser refused, unless an answer was begun, and discard the rest."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application reads and sends nothing more
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and self.conn.refusal is not None:
            self._answer(self.conn.refusal)
            self.counters.count(NO_ROUTE, self.conn.refusal.status, 0.0)
        self._discarding = True
        self._unset_keepalive_if_required()
        self._begin_waiting()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()

    def shutdown(self) -> None:
        """Close the connection, after the answer to the running request."""
        if self._discarding:
            self.transport.abort()
        else:
            super().shutdown()

    def on_response_complete(self) -> None:
        """Start the timer for the next head, before uvicorn checks for one that has already arrived."""
        self._begin_waiting()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the timer for the client to receive a part of its answer."""
        super().pause_writing()
        self._begin_waiting()

    def resume_writing(self) -> None:
        """Stop the timer: the client has received enough."""
        super().resume_writing()
        self._stop_if_busy()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        self.counters.connections -= 1
        super().connection_lost(exc)

    def _answer(self, error: ApiError) -> None:
        headers = HEADERS | error.headers | {"Content-Type": "application/json", "Connection": "close"}
        headers["Content-Length"] = str(len(error.body))
        events = (
            h11.Response(status_code=error.status, headers=list(headers.items())),
            *([] if self.conn.is_head else [h11.Data(data=error.body)]),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event) or b"")

    def _begin_waiting(self) -> None:
        self._unsent, self._rounds_left = math.inf, self.rounds
        self._wait()

    def _stop_if_busy(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete and not self.flow.write_paused
        if answering and not self._discarding:
            self._stop_waiting()

    def _wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(self.timeout_keep_alive, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _hang_up(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        self._rounds_left = self.rounds if unsent < self._unsent else self._rounds_left - 1
        self._unsent = unsent
        if unsent and self._rounds_left:
            self._wait()
        else:
            self.transport.abort()
