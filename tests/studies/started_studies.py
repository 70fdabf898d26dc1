"""A study as a user starts it, in a process of its own that a test may kill."""

import os
import subprocess
import sys


def start_study(cache, out, *arguments):
    """`evalign study ARGUMENTS` with a cache and a folder of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "evalign", "study", *arguments, "--threads", "1", "-o", str(out)],
        env=os.environ | {"EVALIGN_CACHE": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
