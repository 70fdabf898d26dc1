"""Clients that send a million one-byte chunks each, again and again, and the time /health takes meanwhile.

    python benchmarks/chunk_clients.py [--clients 8] [--seconds 20]

`benchmarks/server.py` runs this, too. The clients are threads of this process; the server is another process.
"""

from __future__ import annotations

import argparse
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = b"Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
BODY = b"POST /api/align HTTP/1.1\r\n" + HEADERS + b"\r\n" + b"1\r\n \r\n" * 1_000_000
ASKED = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CONNECTION_SECONDS = 120
PAUSE_SECONDS = 0.05
HEALTH_SECONDS = 1.0
MEMORY_SHARE = 0.1


@dataclass
class Attack:
    """What came back to the clients and to /health, and the memory of the server."""

    answers: Counter[bytes] = field(default_factory=Counter)
    healthy: Counter[bytes] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)  # of each question to /health
    resident_mb: list[float] = field(default_factory=list)

    def lines(self) -> list[tuple[str, str, bool | None]]:
        """(what, figure, whether it is as promised) in order."""
        errors = sum(count for status, count in (self.answers + self.healthy).items() if status.startswith(b"5"))
        slowest, middle = max(self.seconds), sorted(self.seconds)[len(self.seconds) // 2]
        all_healthy = set(self.healthy) == {b"200"}
        flat = max(self.resident_mb) <= self.resident_mb[0] * (1 + MEMORY_SHARE)
        answers = ", ".join(f"{count} x {status.decode() or 'reset'}" for status, count in self.answers.items())
        return [
            ("clients that send chunks: answered", answers, None),
            ("  /health, slowest and median", f"{slowest:.3f}, {middle:.3f} s", slowest < HEALTH_SECONDS),
            ("  /health, answered 200", f"{self.healthy[b'200']} of {len(self.seconds)}", all_healthy),
            ("  answered 5xx", str(errors), not errors),
            ("  memory, at first and at most", f"{self.resident_mb[0]:.0f}, {max(self.resident_mb):.0f} MB", flat),
        ]


def attack(port: int, pid: int, clients: int, seconds: float) -> Attack:
    """Let clients send chunks for some seconds, and ask for /health all the time."""
    found, end = Attack(), time.monotonic() + seconds

    def send() -> None:
        while time.monotonic() < end:
            found.answers[first_status(port, BODY)] += 1

    threads = [threading.Thread(target=send) for _ in range(clients)]
    for thread in threads:
        thread.start()
    while time.monotonic() < end:
        began = time.monotonic()
        found.healthy[first_status(port, ASKED)] += 1
        found.seconds.append(time.monotonic() - began)
        found.resident_mb.append(resident_mb(pid))
        time.sleep(PAUSE_SECONDS)
    for thread in threads:
        thread.join()
    return found


def first_status(port: int, sent: bytes) -> bytes:
    """Return the status of the first answer, empty if the connection was reset before."""
    with socket.create_connection(("127.0.0.1", port), timeout=CONNECTION_SECONDS) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(sent)
        with suppress(ConnectionResetError):
            return connection.recv(4096)[9:12]
    return b""


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def print_figures(found: list[tuple[str, str, bool | None]]) -> None:
    """Print what was measured; exit with 1 if a limit was missed."""
    for what, figure, fine in found:
        print(f"{what:<48} {figure:>40}  {'' if fine is None else 'ok' if fine else 'NOT'}")
    if not all(fine in (True, None) for _, _, fine in found):
        raise SystemExit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    command = [sys.executable, "-m", "evalign", "serve", "--port", "0", "--model", "fake"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
            found = attack(port, server.pid, options.clients, options.seconds).lines()
        finally:
            server.terminate()
    print_figures(found)


if __name__ == "__main__":
    main()
