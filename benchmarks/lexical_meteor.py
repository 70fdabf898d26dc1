"""METEOR per segment: evalign, the warm METEOR 1.5 jar and nltk on real translations, block by block in turn.

    python benchmarks/lexical_meteor.py [pairs] [rounds]

The jar runs in its -stdio mode and is asked for statistics only; its start is not counted. nltk's `meteor_score` has no
paraphrases and other numbers; where its WordNet is not installed it gets a stub without synonyms, which is faster.
Every block of pairs is new to all three; what a program remembers from earlier blocks it may use. Wall time favours the
jar on a busy machine, since it sleeps between questions; CPU time counts all its threads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from workloads import read

import evalign
from evalign.core import Row
from evalign.metrics.lexical.meteor.paraphrases import MeteorFiles, find_meteor_files, load_paraphrases

Pairs = list[tuple[str, str]]
SHALLOW = "exact+stem"  # evalign again, with no more than nltk has without its WordNet


@dataclass(frozen=True)
class Program:
    """What scores pairs, and the CPU seconds it has used so far."""

    run: Callable[[Pairs], None]
    cpu: Callable[[], float] = time.process_time

    def __call__(self, pairs: Pairs) -> None:
        self.run(pairs)


def main() -> None:
    count, rounds = [int(given) for given in sys.argv[1:3]] + [2500, 5][len(sys.argv) - 1 :]
    rows = read("wmt16_daseg")
    pairs = [(row["candidate"], row["references"][0]) for row in rows[:: max(1, len(rows) // count)]][:count]
    files = find_meteor_files()
    if files is None:
        sys.exit("pip install 'evalign[meteor]' first")
    load(files)
    programs = {
        "evalign": ours("meteor"),
        "jar": jar(files),
        "nltk": nltk(),
        SHALLOW: ours(f"meteor(modules={SHALLOW})"),
    }
    runs = {name: run for name, run in programs.items() if run is not None}
    for run in runs.values():
        run(pairs[: len(pairs) // 5])  # to warm up
    wall: dict[str, list[float]] = {name: [] for name in runs}
    busy: dict[str, list[float]] = {name: [] for name in runs}
    for block in np.array_split(np.arange(len(pairs) // 5, len(pairs)), rounds):
        some = [pairs[place] for place in block]
        for name, run in runs.items():
            start, used = time.perf_counter(), run.cpu()
            run(some)
            wall[name].append(1000 * (time.perf_counter() - start) / len(some))
            busy[name].append(1000 * (run.cpu() - used) / len(some))
    print(f"{len(pairs)} pairs of WMT16, medians of {rounds} blocks after one fifth to warm up; ms a segment")
    print(f"{'':10}{'wall':>8}{'ratio':>7}{'CPU':>9}{'ratio':>7}   (evalign / the other)")
    for name in runs:
        elapsed, cpu = float(np.median(wall[name])), float(np.median(busy[name]))
        shares = float(np.median(wall["evalign"])) / elapsed, float(np.median(busy["evalign"])) / cpu
        print(f"{name:10}{elapsed:8.3f}{shares[0]:7.2f}{cpu:9.3f}{shares[1]:7.2f}")


def load(files: MeteorFiles) -> None:
    """How long the paraphrase table takes, and how large its cache is."""
    load_paraphrases(files.paraphrases)
    load_paraphrases.cache_clear()
    start = time.perf_counter()
    table = load_paraphrases(files.paraphrases)
    took = time.perf_counter() - start
    size = sum(array.nbytes for array in (table.sources, table.starts, table.targets))
    print(f"paraphrases: {len(table.targets):,} entries, {size / 1e6:.0f} MB in the cache, loaded in {took:.2f} s")


def ours(spec: str) -> Program:
    scorer = evalign.metric(spec).scorer()

    def run(pairs: Pairs) -> None:
        scorer.score([Row(str(place), candidate, (reference,)) for place, (candidate, reference) in enumerate(pairs)])

    return Program(run)


def jar(files: MeteorFiles) -> Program | None:
    """None without Java."""
    if shutil.which("java") is None:
        print("no Java here: the jar is left out")
        return None
    command = ["java", "-Xmx2G", "-jar", str(files.jar.path), "-", "-", "-stdio", "-l", "en", "-norm"]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    asked, answers = program.stdin, program.stdout
    assert asked is not None
    assert answers is not None

    def run(pairs: Pairs) -> None:
        for candidate, reference in pairs:
            asked.write(f"SCORE ||| {reference} ||| {candidate}\n")
            asked.flush()
            answers.readline()

    def cpu() -> float:
        try:
            user, system = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:  # no Linux
            return time.perf_counter()
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    return Program(run, cpu)


def nltk() -> Program | None:
    """None without nltk."""
    try:
        from nltk.corpus import wordnet
        from nltk.translate.meteor_score import meteor_score
    except ImportError:
        print("no nltk here: it is left out")
        return None
    try:
        wordnet.synsets("dog")
        found = wordnet
    except LookupError:
        print("nltk's WordNet is not installed: it runs with a stub that knows no synonyms")
        found = _NoWordNet()

    def run(pairs: Pairs) -> None:
        for candidate, reference in pairs:
            meteor_score([reference.split()], candidate.split(), wordnet=found)

    return Program(run)


class _NoWordNet:
    def synsets(self, word: str) -> list[str]:
        return []


if __name__ == "__main__":
    main()
