"""Tells a lack of memory from other failures, whatever library and device it comes from.

Needs no torch: its own error class derives from RuntimeError, and its CPU allocator raises a plain RuntimeError.
"""

from __future__ import annotations

SAID = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


def out_of_memory(error: BaseException) -> bool:
    """Whether running the same thing in smaller batches may help."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error).lower() for said in SAID)
