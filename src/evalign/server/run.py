"""Run the application under uvicorn: bind a socket, serve, and stop within a time limit on a signal."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from types import FrameType

import uvicorn
from threadpoolctl import threadpool_limits

from evalign.errors import InputError
from evalign.server.app import create_app
from evalign.server.http_protocol import GuardedProtocol
from evalign.server.settings import Settings


def serve(settings: Settings, port: int, started: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; then running requests get `shutdown_seconds` to finish.

    Args:
        settings: Settings of the server.
        port: Port to listen on.
        started: Called with the address once the server accepts connections.
    """
    threadpool_limits(1, user_api="blas")  # small products: a second BLAS thread only takes the other worker's core
    app = create_app(settings)

    class Protocol(GuardedProtocol):
        counters = app.service.counters

    config = uvicorn.Config(
        app, lifespan="on", ws="none", access_log=False, log_level="error", use_colors=False, server_header=False,
        proxy_headers=False,
        http=Protocol, timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.shutdown_seconds, limit_concurrency=settings.connections, backlog=512,
    )  # fmt: skip
    config.load()
    config.ssl = tls_context(settings.tls_certificate, settings.tls_key) if settings.tls_certificate else None
    bound = bind(settings.host, port)
    server = AnnouncingServer(config, lambda: started(address(bound, "https" if config.ssl else "http")))
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn would raise the signal again when it stops
        signal.signal(number, server.leave)
    server.run(sockets=[bound])
    if app.service.pool.unfinished:  # a thread is still computing for a client that is gone
        sys.stderr.flush()
        os._exit(0)


class AnnouncingServer(uvicorn.Server):
    """A server that calls `announce` once it accepts connections."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    def leave(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal: accept no more requests, and stop when the running requests are done."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and announce it."""
        await super().startup(sockets)
        if self.started:
            self._announce()


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """Return the context of a server with the certificate (PEM, with the chain) and its key, or raise InputError."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key or None, password=_no_password)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        files = f"`tls_certificate` {certificate}, `tls_key` {key}"
        expected = "expected PEM files of a certificate and of its key without a password"
        raise InputError(f"cannot use {files}: {reason}; {expected}") from error
    return context


def _no_password() -> bytes:
    """Refuse an encrypted key, for which OpenSSL would ask on the terminal."""
    raise ValueError("the key has a password")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to the host and port, or raise InputError."""
    try:
        family, socket_type, protocol, _, endpoint = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM
        )[0]
        bound = socket.socket(family, socket_type, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(endpoint)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {host}, port {port}: {reason}; choose another `port`") from error
    return bound


def address(bound: socket.socket, scheme: str) -> str:
    """Return the URL of the server for a browser on this machine."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"
