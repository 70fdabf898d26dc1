"""The operator's settings: models, workers, limits, and the hosts that are served."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from evalign.encoders.weights import KNOWN, local_directory
from evalign.errors import ModelNotFoundError


@dataclass(frozen=True)
class RequestLimits:
    """Limits of a request; larger requests are refused."""

    body: int = 2**20  # bytes
    tokens: int = 2_000  # of one text
    pairs: int = 1_000  # of candidate and reference, over all rows
    cells: int = 1_000_000  # tokens of a candidate times tokens of its reference
    metrics: int = 16
    rows: int = 1_000
    texts: int = 10_000  # of an IDF table
    total_tokens: int = 400_000  # of all texts together
    total_cells: int = 20_000_000  # of all pairs together
    systems: int = 50  # of a comparison, which tests every pair of them
    lstm_words: int = 200  # of a text whose gates are traced
    resamples: int = 500_000_000  # work of a comparison, in draws of one row: request_costs.check_comparison


@dataclass(frozen=True)
class Settings:
    """Settings of a server; `hosts` are allowed Host headers besides the bound host and localhost."""

    models: tuple[str, ...]
    generators: tuple[str, ...] = ()  # models that bartscore requests may name
    lstm: str = ""  # the file whose gates are traced; empty: the small one that is included
    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    workers: int = field(default_factory=lambda: min(4, os.cpu_count() or 1))
    queue: int = 32
    deadline: float = 30.0  # seconds from the arrival of a request's last byte to its answer
    idle_seconds: int = 10  # that a connection may stay open without a request, or with half of a request's head
    body_seconds: float = 10.0  # for the body to arrive
    body_budget: int = 64 * 2**20  # bytes of bodies held at once, over all requests
    connections: int = 2000  # open at once; beyond it uvicorn itself answers 503
    shutdown_seconds: int = 10
    limits: RequestLimits = field(default_factory=RequestLimits)
    plugins: bool = False  # whether metrics and matchings of other packages are served
    verbose: bool = False
    token: str = field(default="", repr=False)  # that requests must carry; empty: every request is answered
    tls_certificate: str = ""  # PEM file, with the chain; empty: plain HTTP
    tls_key: str = ""  # PEM file; empty: the key is in the certificate's file
    client_requests: int = 0  # POST requests of one address at once; 0: any number
    client_rate: int = 0  # POST requests of one address in a minute; 0: any number

    @property
    def longest_retry(self) -> int:
        """Seconds that Retry-After asks for at most: a client that waits for them still has its connection."""
        return max(1, self.idle_seconds // 2)


def installed_models() -> tuple[str, ...]:
    """The known models that are on this machine."""
    names = tuple(name for name, model in KNOWN.items() if local_directory(model) is not None)
    if not names:
        raise ModelNotFoundError("there is no model on this machine to serve: evalign models get minilm")
    return names
