"""Ctrl-C outside imports: modules written in C turn it into an ImportError, and the import system may lose it.

Only the standard library is imported here, since this comes before everything else.
"""

from __future__ import annotations

import signal
from types import FrameType

IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
RETRY_SECONDS = 0.05


def defer_during_imports() -> None:
    """Let Ctrl-C wait for the end of a running import; a second Ctrl-C does not wait."""
    if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    is_waiting = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_waiting
        if _is_importing(frame) and not (is_waiting and number == signal.SIGINT):
            is_waiting = True
            signal.setitimer(signal.ITIMER_REAL, RETRY_SECONDS)
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        is_waiting = False
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGALRM, interrupt)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False
