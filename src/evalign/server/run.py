"""Runs the application under uvicorn: binds a socket, serves it, and ends within a bound on a signal."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from threadpoolctl import threadpool_limits

from evalign.errors import InputError
from evalign.server.app import create_app
from evalign.server.connections import IdleTimeoutProtocol
from evalign.server.settings import Settings


def serve(settings: Settings, port: int, started: Callable[[str], None]) -> None:
    """Serves until SIGTERM or Ctrl-C; `started` is told the address once connections are taken.

    Then no new requests are taken, running ones get `shutdown_seconds` to finish.
    """
    threadpool_limits(1, user_api="blas")  # small products: a second BLAS thread only takes the other worker's core
    app = create_app(settings)
    config = uvicorn.Config(
        app, lifespan="on", ws="none", access_log=False, log_level="warning", server_header=False, proxy_headers=False,
        http=IdleTimeoutProtocol, timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds, limit_concurrency=settings.connections, backlog=512,
    )  # fmt: skip
    bound = bind(settings.host, port)
    server = AnnouncingServer(config, lambda: started(address(bound)))
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again at its end, which is none here
        signal.signal(number, server.leave)
    server.run(sockets=[bound])
    if app.service.pool.unfinished:  # a thread is still in a computation that nobody waits for: it has no more to say
        sys.stderr.flush()
        os._exit(0)


class AnnouncingServer(uvicorn.Server):
    """A server that calls `announce` once it takes connections."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    def leave(self, _number: int, _frame: FrameType | None) -> None:
        """Handles a signal: takes no more requests, and ends when the running ones are done."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts as uvicorn does, then announces it."""
        await super().startup(sockets)
        if self.started:
            self._announce()


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the host and port; InputError if that cannot be."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(place)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}, port {port}: {reason}; choose another: --port N") from error
    return bound


def address(bound: socket.socket) -> str:
    """The URL under which a browser on this machine finds the server."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
