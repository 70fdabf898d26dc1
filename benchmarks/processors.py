"""Does a score depend on the processor? Every matching of the same pairs under several kernels, and what differs.

    python benchmarks/processors.py [--pairs 1000] [--tree ANOTHER_CHECKOUT] [--under NAME...]
        [--encoder minilm|fake] [--json FILE]

Each environment is a process of its own (simulated_processors.py). Printed for each matching: the largest difference
of any field of any pair from the first environment, and how many pairs differ by more than 1e-5. `--tree` measures
another checkout of evalign, such as an older one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import workloads
from simulated_processors import environments, prepare

METHODS = ("exact", "row-mask", "recursive-argmax", "recursive-topk", "auction-topk", "auction")
AUTHORS = ("recursive-argmax", "recursive-topk", "auction-topk")
SOLVERS = ("exact", "partial", "unbalanced")  # sinkhorn chooses nothing, and is slow on repeated words
MATCHINGS = {
    "greedy": "bertscore({})",
    **{method: f"lisascore({{}}, method={method})" for method in METHODS},
    **{f"{method}, authors": f"lisascore({{}}, method={method}, preset=authors)" for method in AUTHORS},
    **{f"transport {solver}": f"moverscore({{}}, transport={solver})" for solver in SOLVERS},
}
WORDS = ["the", "cat", "sat", "on", "mat", "and", "dog", "while", "rain", "fell", "bridge", "old"]
SAME = 1e-5


def repeated_words(count: int) -> list[tuple[str, str]]:
    """Pairs of 5 to 40 words out of a dozen: most words stand several times on both sides."""
    draw = random.Random(7)
    pairs = []
    for _ in range(count):
        words = draw.sample(WORDS, draw.randint(3, 8))
        pairs.append(tuple(" ".join(draw.choices(words, k=draw.randint(5, 40))) for _ in range(2)))
    return pairs


def texts(count: int) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Name -> encoder and pairs."""
    candidates, references = workloads.mt_pairs(count)
    return {
        "real pairs, MiniLM": ("minilm", list(zip(candidates, references, strict=True))),
        "repeated words, MiniLM": ("minilm", repeated_words(count)),
        "repeated words, fake encoder": ("fake", repeated_words(count)),
    }


def scores(count: int, encoder: str | None) -> dict[str, dict[str, list[list[float]]]]:
    """Set -> matching -> fields of every pair, under the environment of this process."""
    import evalign

    tables: dict[str, dict[str, list[list[float]]]] = {}
    for name, (model, pairs) in texts(count).items():
        if encoder not in (None, model):
            continue
        tables[name] = {}
        for matching, spec in MATCHINGS.items():
            metric = evalign.metric(spec.format(f"model={model}"))
            report = metric.score(*zip(*pairs, strict=True))
            tables[name][matching] = [report[field].tolist() for field in metric.fields]
    return tables


def measured(environment: dict[str, str], options: argparse.Namespace) -> dict:
    command = [sys.executable, __file__, "--worker", "--pairs", str(options.pairs)]
    command += ["--encoder", options.encoder] if options.encoder else []
    tree: Path | None = options.tree
    extra = {"PYTHONPATH": str(tree / "src")} if tree else {}
    environment = os.environ | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"} | environment | extra
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def worker(count: int, encoder: str | None) -> None:
    prepare()
    print(json.dumps(scores(count, encoder)))


def differences(first: dict, other: dict) -> dict[str, dict[str, tuple[float, int]]]:
    """Set -> matching -> largest difference, and how many pairs differ by more than SAME."""
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for name, matchings in first.items():
        for matching, fields in matchings.items():
            rows = zip(*fields, *other[name][matching], strict=True)
            half = len(fields)
            apart = [max(abs(a - b) for a, b in zip(row[:half], row[half:], strict=True)) for row in rows]
            found.setdefault(name, {})[matching] = max(apart), sum(value > SAME for value in apart)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--under", nargs="*", help="some of the environments; default: all")
    parser.add_argument("--encoder", choices=("minilm", "fake"), help="only its pairs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.pairs, options.encoder)
    worst: dict[str, dict[str, tuple[float, int, str]]] = {}
    first: dict | None = None
    for name, environment in environments().items():
        if options.under and name not in options.under:
            continue
        table = measured(environment, options)
        first = first or table
        for group, matchings in differences(first, table).items():
            for matching, (apart, count) in matchings.items():
                before = worst.setdefault(group, {}).setdefault(matching, (0.0, 0, ""))
                worst[group][matching] = max(before, (apart, count, name))
        print(f"measured: {name}", file=sys.stderr, flush=True)
    for group, matchings in worst.items():
        print(f"\n{group}, {options.pairs} pairs\n\n| matching | largest difference | pairs above 1e-5 | under |")
        print("|---|---|---|---|")
        for matching, (apart, count, name) in matchings.items():
            print(f"| {matching} | {apart:.1e} | {count} | {name or '–'} |")
    if options.json:
        options.json.write_text(json.dumps(worst, indent=1))
    return None


if __name__ == "__main__":
    main()
