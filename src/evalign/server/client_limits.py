"""Limits of one client address: POST requests at once, and in a minute. Both are off unless the operator sets them."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from evalign.server.errors import ApiError

MAX_ADDRESSES = 10_000  # that are remembered; then the one that was seen first is forgotten
IPV6_PREFIX_BITS = 64  # one customer has all addresses of a network


@dataclass
class Client:
    """Requests of one address: those at once, and how many more it may begin now."""

    running: int
    allowance: float
    seen: float  # seconds of the clock


class ClientLimits:
    """Counts by address; 0 is no limit. An address saves up the requests of one minute at most."""

    def __init__(self, at_once: int, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._at_once, self._per_minute, self._clock = at_once, per_minute, clock
        self._clients: dict[str, Client] = {}

    def begin(self, address: str) -> ApiError | None:
        """Count a request of an address, or return the refusal (429)."""
        if not (self._at_once or self._per_minute):
            return None
        client = self._client(network(address))
        if self._at_once and client.running >= self._at_once:
            return _refused(f"this server computes {self._at_once} requests of one address at once", 1)
        if self._per_minute and client.allowance < 1:
            seconds = math.ceil((1 - client.allowance) * 60 / self._per_minute)
            return _refused(f"this server takes {self._per_minute} requests of one address in a minute", seconds)
        client.running += 1
        client.allowance -= 1
        return None

    def end(self, address: str) -> None:
        """Count a request that was begun as done."""
        if (client := self._clients.get(network(address))) is not None:
            client.running = max(0, client.running - 1)

    def _client(self, key: str) -> Client:
        """Return the counts of an address, with what it saved up since it was seen last."""
        now = self._clock()
        if key not in self._clients and len(self._clients) >= MAX_ADDRESSES:
            del self._clients[next(iter(self._clients))]
        client = self._clients.setdefault(key, Client(0, self._per_minute, now))
        client.allowance += (now - client.seen) * self._per_minute / 60
        client.allowance, client.seen = min(client.allowance, self._per_minute), now
        return client


def network(address: str) -> str:
    """Return what counts as one client: an IPv4 address, or the network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ipaddress.ip_network((int(found), IPV6_PREFIX_BITS), strict=False))


def _refused(message: str, retry_after: int) -> ApiError:
    return ApiError(429, "too-many-requests", f"{message}; try again later", retry_after)
