"""An HTTP protocol for uvicorn that closes idle connections.

uvicorn waits for ever for a connection's first request and for the rest of a head that has begun, and its timer between
two requests ends with the first byte of the second; and it waits for ever for clients that do not read. A few thousand
such connections would shut out everybody else.
"""

from __future__ import annotations

import asyncio
import math
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class IdleTimeoutProtocol(H11Protocol):
    """Closes a connection without a complete request `timeout_keep_alive` seconds after its start or its last answer.

    While an answer is being sent, it closes only if the client takes nothing of it for `rounds` times as long: systems
    buffer megabytes, so that a slow client seems to take nothing for a while.
    """

    rounds: ClassVar[int] = 6
    _deadline: asyncio.TimerHandle | None = None
    _unsent: float = math.inf  # bytes of answers, when last looked at
    _rounds_left: int = rounds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the timer for the first request's head."""
        super().connection_made(transport)
        self._begin_waiting()

    def handle_events(self) -> None:
        """Stops the timer when a request is there: its body and its answer have deadlines of their own."""
        super().handle_events()
        self._stop_if_busy()

    def on_response_complete(self) -> None:
        """Starts the timer for the next head, before uvicorn looks for one that came early."""
        self._begin_waiting()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Starts the timer for the client to take something of its answer."""
        super().pause_writing()
        self._begin_waiting()

    def resume_writing(self) -> None:
        """Stops the timer: the client has taken enough."""
        super().resume_writing()
        self._stop_if_busy()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _begin_waiting(self) -> None:
        self._unsent, self._rounds_left = math.inf, self.rounds
        self._wait()

    def _stop_if_busy(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete and not self.flow.write_paused:
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
