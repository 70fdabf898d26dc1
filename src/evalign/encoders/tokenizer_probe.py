"""Script of a child process: loads a tokenizer definition from stdin under limits of memory and processor time.

Prints why it cannot be used, if the tokenizers library says so. It may crash or be killed instead: that is what the
process is for. Run by `tokenizer_checks.py`, by path, so that nothing of evalign is imported.
"""

from __future__ import annotations

import contextlib
import sys

PROBES = ("a", "", " The river rose 12 m; naïve 漢字かな, ж! \U0001f600\n" * 8, "a" * 200 + "b" * 200)


def main(memory_bytes: int, cpu_seconds: int) -> int:
    """Return the exit code: 0 if the definition can be loaded and encodes texts."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    from tokenizers import Tokenizer

    definition = sys.stdin.buffer.read().decode()
    try:
        tokenizer = Tokenizer.from_str(definition)
        for text in PROBES:
            tokenizer.encode(text)
    except BaseException as error:  # the library's panics are no Exceptions
        sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
