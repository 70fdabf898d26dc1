"""A real `evalign serve` for the page's tests; EVALIGN_PROGRAM names another installation's program."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 300  # seconds; a busy machine is not a failure


@contextmanager
def running_server(folder, *options):
    """The address of a server with minilm that ends with the block; its log lies in the folder."""
    program = os.environ.get("EVALIGN_PROGRAM") or shutil.which("evalign", path=str(Path(sys.executable).parent))
    log = folder / "log"
    command = [program, "serve", "--port", "0", "--model", "minilm", *options]
    with log.open("w") as stream:
        started = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        try:
            yield _address(started, log)
        finally:
            started.terminate()
            started.wait(timeout=PATIENCE)


def _address(started, log):
    for _ in range(10 * PATIENCE):
        if found := re.search(r"http://127\.0\.0\.1:\d+/", log.read_text()):
            return found[0]
        assert started.poll() is None, log.read_text()
        time.sleep(0.1)
    raise AssertionError(f"no address was printed: {log.read_text()}")
