"""What cheap tricks on a candidate do to each matching: repetition, padding, stuffing, truncation, shuffling.

    python benchmarks/attacks.py --write docs/attacks.md

Scores are means over real candidates (wmt19 kk-en); a plus means that the trick pays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import workloads

import evalign
from evalign.analysis.audit_measurements import TRICKS
from evalign.matching.registry import MATCHINGS

METRICS = {name: f"bertscore(matching={name})" for name in MATCHINGS} | {"transport": "moverscore", "sbert": "sbert"}
TRAINED = {"evalign": "evalign"}


ATTACKS: dict[str, tuple[str, Callable[[str], str]]] = {
    name: (change.about, change.apply) for name, change in TRICKS.items()
}


def table(
    candidates: list[str], references: list[str], options: str = "", metrics: dict[str, str] = METRICS
) -> dict[str, dict[str, float]]:
    """Attack -> metric -> mean score; `none` is the untouched text."""
    means: dict[str, dict[str, float]] = {}
    for attack, change in {"none": lambda text: text, **{name: how for name, (_, how) in ATTACKS.items()}}.items():
        attacked = [change(text) for text in candidates]
        means[attack] = {}
        for name, spec in metrics.items():
            metric = evalign.metric(f"{spec[:-1]}, {options})" if options and spec.endswith(")") else
                                    f"{spec}({options})" if options else spec)  # fmt: skip
            report = metric.score(attacked, references)
            means[attack][name] = report.mean(metric.fields[-1])
    return means


def markdown(means: dict[str, dict[str, float]]) -> str:
    lines = ["| attack | " + " | ".join(means["none"]) + " |", "|---" * (len(means["none"]) + 1) + "|"]
    lines.append("| none | " + " | ".join(f"{mean:.3f}" for mean in means["none"].values()) + " |")
    for attack, (about, _) in ATTACKS.items():
        shifts = [f"{means[attack][name] - means['none'][name]:+.3f}" for name in means["none"]]
        lines.append(f"| {attack}: {about} | " + " | ".join(shifts) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--write", type=Path, help="put the table into this file, behind its marker line")
    arguments = parser.parse_args()
    candidates, references = workloads.mt_pairs(arguments.pairs)
    text = markdown(table(candidates, references, metrics=METRICS | TRAINED))
    print(text)
    if arguments.write:
        marker = "<!-- made by benchmarks/attacks.py -->"
        head = arguments.write.read_text("utf-8").partition(marker)[0]
        note = (
            f"{arguments.pairs} pairs, MiniLM; first row: mean score (F1, or score; `evalign` from 0 to 100), below: "
            "change by the attack."
        )
        arguments.write.write_text(f"{head}{marker}\n{note}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
