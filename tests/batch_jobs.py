"""Batch jobs for tests: rows in a file, a job over them, and what its folder must hold in the end."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from evalign.batch.job import Work
from evalign.batch.local_engine import LocalEngine
from evalign.batch.ray_engine import RayEngine
from evalign.batch.run import Request, run_job
from evalign.core.registry import metric
from evalign.io.folders import open_folder
from evalign.io.rows import Columns
from evalign.metrics.lexical.rouge.metrics import RougeN

WORDS = (
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "bank",
    "raised",
    "rates",
    "again",
    "once",
    "more",
    "green",
    "house",
)
LIGHT = ("rouge1",)
os.environ.setdefault("RAY_worker_niceness", "0")  # Ray's 15 would make its tests wait for all others
KILLS = int(os.environ.get("EVALIGN_FAULTS", "5"))  # of jobs that take seconds to start; make test-faults: 100


def made_rows(count, seed=1):
    """Pairs with ids, two systems, and an empty candidate now and then."""
    draw = random.Random(seed)
    for number in range(count):
        reference = draw.choices(WORDS, k=draw.randint(3, 12))
        candidate = [word if draw.random() < 0.7 else draw.choice(WORDS) for word in reference]
        text = " ".join(candidate) if number % 97 else ""
        yield {"id": f"r{number}", "system": "ab"[number % 2], "candidate": text, "references": [" ".join(reference)]}


def write_rows(path, rows):
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


def unwatched(what, total):
    return lambda rows: None


def run(
    data, folder, specs=LIGHT, *, shard_rows=1024, workers=1, engine=None, form="jsonl", watch=unwatched,
    accept_changes=False, **columns
):  # fmt: skip
    """Runs the job to its end, or to the error that a test expects."""
    inputs = [str(data)] if isinstance(data, str | Path) else [str(path) for path in data]
    metrics = tuple(metric(spec) if isinstance(spec, str) else spec for spec in specs)
    work = Work(open_folder(folder), metrics, Columns(**columns), form, accept_changes)
    return run_job(Request(inputs, work, shard_rows), engine or LocalEngine(workers), watch)


class Deadly(RougeN):
    """rouge1 whose worker dies at one row."""

    def lacks(self, row):
        if row.id == "r1500":
            os._exit(9)


class Greedy(RougeN):
    """rouge1 that takes 4 GiB at one row."""

    def lacks(self, row):
        if row.id == "r1500":
            np.ones(2**29)


class StopError(Exception):
    """Ends a run from inside, as a kill would."""


def after_shards(count, act):
    """A watch that calls `act` when so many shards are in the manifest."""
    seen = []

    def watch(what, total):
        def advance(rows):
            if what == "scoring":
                seen.append(rows)
                if len(seen) == count:
                    act()

        return advance

    return watch


def stop():
    raise StopError


def command(data, out, spec, *options):
    """`evalign batch run` as a process of its own."""
    job = ["batch", "run", str(data), "-o", str(out), "-m", spec, "--shard-rows", "1024", *options]
    return [sys.executable, "-m", "evalign", *job]


def kill_at_random(make_command, folder, seed):
    """Runs a job, kills it `KILLS` times at random moments, and resumes it; what it and every finished one came to.

    `folder` is a path or a URL.

    A job that was finished before its kill counts for none, and the next one starts anew.
    """
    draw, kills, jobs, done = random.Random(seed), 0, 0, []
    began = time.monotonic()
    subprocess.run(make_command(f"{folder}/undisturbed"), check=True, capture_output=True)
    longest = time.monotonic() - began
    while kills < KILLS:
        process = subprocess.Popen(make_command(f"{folder}/{jobs}"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, said = process.communicate(timeout=draw.uniform(0, longest))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
        else:
            assert process.returncode == 0, said
            done.append(content(f"{folder}/{jobs}"))
            jobs += 1
    resumed = subprocess.run(make_command(f"{folder}/{jobs}"), capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    return [content(f"{folder}/undisturbed"), *done, content(f"{folder}/{jobs}")]


def ray_engine(**options):
    """Ray, started here for all jobs that follow; whoever asks closes it."""
    ray = pytest.importorskip("ray")
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # actors do not see this folder
    os.environ.pop("RAY_ADDRESS", None)
    engine = RayEngine(**options)
    engine.cluster.start(cpus=engine.workers * engine.threads)
    return engine


def content(folder):
    """What must be the same in any two runs: all scored rows in order, the errors, the summary; and no torn file."""
    job = open_folder(folder)
    names = [name for within in ("", "shards", "idf") for name in job.names(within)]
    assert not [name for name in names if name.endswith(".part") or name.startswith(".")]
    shards = [name for name in job.names("shards") if re.fullmatch(r"\d+\.jsonl", name)]
    rows = b"".join(job.read(f"shards/{name}") for name in shards)
    return rows, job.read("errors.jsonl"), job.read("summary.json")


def ids(folder):
    return [json.loads(line)["id"] for line in content(folder)[0].splitlines()]
