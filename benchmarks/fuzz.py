"""Fuzz every reader of foreign input: rounds of the drawn tests of tests/fuzz, each with examples not tried before.

    python benchmarks/fuzz.py [--minutes 120] [--processes 1] [--record results/fuzz.json]

The record has rounds, seconds of processor time, examples and failures of every target (a drawn test) for each version
of the code. It is written after every round, and a later run continues it until all seconds together reach the budget.
A failure, a crash or a hang ends the run with exit code 1 and the output of pytest, which has the failing example.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalign.io.files import whole_file

ROOT = Path(__file__).resolve().parent.parent
TARGETS = Path("tests/fuzz")
MEMORY_BYTES = 16 * 2**30  # address space of a round
HANG_SECONDS = 3600  # of a round, which takes minutes
CTRL_C = (-2, 2)  # exit codes of pytest
COUNTS = ("rounds", "seconds", "examples", "failures")
BLOCK = re.compile(r"^tests/fuzz/(\S+::\w+):\n\n(.*?)(?=^tests/fuzz|^=|\Z)", re.MULTILINE | re.DOTALL)
PHASE = re.compile(r"- during \w+ phase \(([\d.]+) seconds\)")
CASES = re.compile(r"- (\d+) passing(?: examples)?, (\d+) failing")
FAILED = re.compile(r"^(?:FAILED|ERROR) tests/fuzz/(\S+::\w+)", re.MULTILINE)
STARTED = re.compile(r"^tests/fuzz/(\S+::\w+) ", re.MULTILINE)


@dataclass(frozen=True)
class Round:
    """The drawn tests of one file on one version of the code: counts by target, and pytest's output if it failed."""

    file: str
    code: str
    targets: Mapping[str, Mapping[str, float]]
    failure: str = ""


class Record:
    """The counts of every target, by version of the code, in a JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.targets: dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8")) if path.is_file() else {}

    @property
    def seconds(self) -> float:
        """Seconds of all targets."""
        return sum(entry["seconds"] for entries in self.targets.values() for entry in entries)

    def rounds(self, file: str) -> int:
        """Return the rounds of a file, those of its target with the fewest; 0 if the last version failed."""
        of_targets = [entries for name, entries in self.targets.items() if name.startswith(f"{file}::")]
        counts = (0 if entries[-1]["failures"] else sum(entry["rounds"] for entry in entries) for entries in of_targets)
        return min(counts, default=0)

    def add(self, finished: Round) -> None:
        """Add a round and write the file, whole or not at all."""
        for name, counts in finished.targets.items():
            entries = self.targets.setdefault(name, [])
            if not entries or entries[-1]["code"] != finished.code:
                entries.append({"code": finished.code} | dict.fromkeys(COUNTS, 0))
            for key, value in counts.items():
                entries[-1][key] = round(entries[-1][key] + value, 3)
        self.path.parent.mkdir(exist_ok=True)
        lines = (f" {json.dumps(name)}: {json.dumps(entries)}" for name, entries in sorted(self.targets.items()))
        with whole_file(self.path) as stream:
            stream.write("{\n" + ",\n".join(lines) + "\n}\n")

    def table(self) -> str:
        """Return a Markdown table of all targets: totals, and the version of the last rounds with its failures."""
        lines = [
            "| target | rounds | seconds | examples | failures | in the last version |",
            "|---|" + "---:|" * 5,
        ]
        for name, entries in sorted(self.targets.items()):
            rounds, seconds, examples, failures = (sum(entry[key] for entry in entries) for key in COUNTS)
            last = f"{entries[-1]['failures']} in {entries[-1]['rounds']} rounds"
            lines.append(f"| {name} | {rounds} | {seconds:,.0f} | {examples:,} | {failures} | {last} |")
        return "\n".join([*lines, f"\n{self.seconds / 60:.1f} minutes in all"])


def code_version() -> str:
    """Return the last commit that changed the code or the targets, and a plus if there are other changes."""
    paths = ["--", "src", "tests"]
    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h", *paths], cwd=ROOT, capture_output=True, text=True, check=True
    )
    changed = subprocess.run(["git", "status", "--porcelain", *paths], cwd=ROOT, capture_output=True, check=True)
    return commit.stdout.strip() + ("+" if changed.stdout else "")


def run_file(file: str) -> Round:
    """Run the drawn tests of a file with a new seed."""
    code, seed = code_version(), secrets.randbelow(2**32)
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    command = [sys.executable, "-m", "pytest", "-v", "-m", "hypothesis", str(TARGETS / file)]
    command += ["-p", "no:cacheprovider", "--basetemp", f"{folder}/files"]
    command += [f"--hypothesis-seed={seed}", "--hypothesis-show-statistics"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"EVALIGN_EXAMPLES": "fresh"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
        )
        began, timer = time.monotonic(), threading.Timer(HANG_SECONDS, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)  # subprocess does not tell the processor time
        ended = process.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
    share = (usage.ru_utime + usage.ru_stime) / (time.monotonic() - began)
    output = (folder / "log").read_text("utf-8", "replace")
    if ended in (0, *CTRL_C):
        shutil.rmtree(folder)
    targets = parse_statistics(output, share)
    if ended in CTRL_C:
        return Round(file, code, {})
    if ended == 0:
        return Round(file, code, targets)
    for name in FAILED.findall(output) or STARTED.findall(output)[-1:]:  # else the process died
        targets.setdefault(name, {"rounds": 1, "seconds": 0, "examples": 0})["failures"] = 1
    message = f"{file}, seed {seed}, ended with {ended}; the files of the last example are in {folder}/files:\n{output}"
    return Round(file, code, targets, message)


def parse_statistics(output: str, share: float) -> dict[str, dict[str, float]]:
    """Return the counts of every target, from what Hypothesis prints; `share` is processor time by elapsed time."""
    targets: dict[str, dict[str, float]] = {}
    for name, block in BLOCK.findall(output):
        cases = [sum(map(int, counts)) for counts in CASES.findall(block)]
        if cases:
            targets[name] = {
                "rounds": 1,
                "seconds": share * sum(map(float, PHASE.findall(block))),
                "examples": sum(cases),
                "failures": 0,
            }
    return targets


def fuzz(record: Record, seconds: float, processes: int) -> str:
    """Run rounds until the budget is reached; return the output of the first failure, or nothing."""
    files = sorted(path.name for path in (ROOT / TARGETS).glob("test_*.py"))
    running: dict[Future[Round], str] = {}
    failure = ""
    with ThreadPoolExecutor(processes) as pool:
        while True:
            while len(running) < processes and record.seconds < seconds and not failure:
                waiting = [file for file in files if file not in running.values()] or files
                file = min(waiting, key=record.rounds)
                running[pool.submit(run_file, file)] = file
            if not running:
                return failure
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                del running[done]
                finished = done.result()
                record.add(finished)
                failure = failure or finished.failure
                print(f"{finished.file}: {record.seconds / 60:.1f} of {seconds / 60:g} minutes", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120, help="budget of all runs together (%(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="files at once (%(default)s)")
    parser.add_argument("--record", type=Path, default=ROOT / "results" / "fuzz.json")
    arguments = parser.parse_args()
    record = Record(arguments.record)
    try:
        failure = fuzz(record, 60 * arguments.minutes, arguments.processes)
    except KeyboardInterrupt:
        failure = "stopped; another run continues the record"
    print(record.table())
    print(failure, file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    sys.exit(main())
