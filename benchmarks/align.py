"""One pair of texts under every matching, here and in another checkout: what `evalign align` costs.

    python benchmarks/align.py --base ../before/src [--tokens 400] [--repeat 5]

Both versions take turns in processes of their own with one thread, `--repeat` times; the fastest is shown. Times are
processor time. "whole process" is the command as a shell starts it, libraries and model included. The other lines are
calls in a process that has made the same call once: the model is loaded and the texts are encoded.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE.parent / "src"
COMMANDS = {"--matching all": ["--matching", "all"], "--html FILE": ["--html", "{page}"]}
LIBRARY = "align_all"
CALLS = 7  # of which the fastest counts, in one process


def texts(tokens: int) -> tuple[str, str]:
    """Paraphrases and what they paraphrase, then sentences of which each text has its own; that many tokens each."""
    _, *pairs = (line.split("\t") for line in (HERE / "negations.tsv").read_text("utf-8").splitlines())
    more = [line.partition("\t")[0] for line in (HERE / "en_fr.tsv").read_text("utf-8").splitlines()]
    candidate = " ".join([*(pair[1] for pair in pairs), *more[0::2]])
    reference = " ".join([*(pair[0] for pair in pairs), *more[1::2]])
    return cut(candidate, tokens), cut(reference, tokens)


def cut(text: str, tokens: int) -> str:
    """The beginning of the text that is so many tokens long, the special ones included."""
    import evalign

    read = evalign.metric("bertscore(threads=1)").align(text, text).candidate
    return text[: read.offsets[tokens - 2][1]]


def calls(task: str, candidate: str, reference: str, page: str) -> Callable[[], object]:
    """The call to be measured, in the version that this process has."""
    if task == LIBRARY:
        import evalign

        try:
            from evalign.metrics.all_matchings import align_all
        except ImportError:  # before it had a module of its own
            from evalign.metrics.all_matchings import align_all
        metric = evalign.metric("bertscore(threads=1)")
        return lambda: align_all(metric, candidate, reference)
    from click.testing import CliRunner

    from evalign.cli.align import align

    command = ["--threads", "1", *(word.format(page=page) for word in COMMANDS[task]), "--", candidate, reference]
    return lambda: CliRunner().invoke(align, command, catch_exceptions=False)


def measured(task: str, candidate: str, reference: str, page: str) -> float:
    """Seconds of the fastest call, after one that loads and encodes."""
    call = calls(task, candidate, reference, page)
    call()
    spent = []
    for _ in range(CALLS):
        began = time.process_time()
        call()
        spent.append(time.process_time() - began)
    return min(spent)


def alone(sources: Path, command: list[str]) -> tuple[float, str]:
    """Processor seconds and output of a Python process with evalign from `sources`."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | single | {"PYTHONPATH": str(sources), "HF_HUB_OFFLINE": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


def seconds(sources: Path, task: str, whole: bool, pair: tuple[str, str], page: str) -> float:
    """One measurement of one version."""
    if whole:
        words = [word.format(page=page) for word in COMMANDS[task]]
        return alone(sources, ["-m", "evalign", "align", "--threads", "1", *words, "--", *pair])[0]
    return float(alone(sources, [__file__, "--worker", json.dumps([task, *pair, page])])[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, default=SOURCES, help="the src folder of another checkout")
    parser.add_argument("--tokens", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(measured(*json.loads(arguments.worker)))
        return
    pair = texts(arguments.tokens)
    versions = {"before": arguments.base.resolve(), "now": SOURCES}
    print(f"| {arguments.tokens} x {arguments.tokens} tokens | before, ms | now, ms | ratio |\n|---|---|---|---|")
    warm = [(task, False) for task in (*COMMANDS, LIBRARY)]
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        for task, whole in [*warm, *((task, True) for task in COMMANDS)]:
            spent: dict[str, list[float]] = {name: [] for name in versions}
            for _ in range(arguments.repeat):
                for name, sources in versions.items():
                    spent[name].append(seconds(sources, task, whole, pair, page))
            before, now = (1000 * min(spent[name]) for name in versions)
            print(
                f"| `{task}`{', whole process' if whole else ''} | {before:.0f} | {now:.0f} | {before / now:.2f}x |",
                flush=True,
            )


if __name__ == "__main__":
    main()
