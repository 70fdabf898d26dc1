"""How every ROUGE variant agrees with people on SummEval, with 95 % intervals, as the tables of docs/lexical.md.

    python benchmarks/rouge_agreement.py [--data FOLDER] [--write docs/lexical.md]

Per variant: Spearman within each document, averaged, for each aspect that people rated; their mean with its interval;
and what that is more than rougeL's, with the interval of the difference on the same resamples of documents. The second
table holds the ways to read several references against the default, the best one.
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

import numpy as np
import rated

import evalign
from evalign.stats.bootstrap import Resampling
from evalign.stats.levels import Rated, agreement, agreement_draws

SPECS = (
    *(f"rouge{n}" for n in range(1, 10)), "rouge1(multiref=pooled)", "rouge1(multiref=max-recall)", "rougeL", "lcsr",
    "rougeLsum", "rougeLsum(sentences=lines)", "rougeMEAD", "rougeMEAD(sentences=lines)", "rougeW",
    "rougeW(weight=2k-1)", "rougeS", "rougeS(skip=4)", "rougeSU", "rougeSU(skip=4)",
)  # fmt: skip
COMPARED = "rougeL"
SEVERAL = {  # default -> other ways to read several references
    metric: [f"{metric}(multiref={way})" for way in ("mean", "pooled", "max-recall")]
    for metric in ("rouge1", "rouge2", "rougeL")
}
SAMPLES = Resampling(samples=500)
BEGIN, END = "<!-- made by benchmarks/rouge_agreement.py -->", "<!-- end -->"


def measured(spec: str, said: rated.Rated) -> tuple[dict[str, float], np.ndarray]:
    """Agreement by aspect, and the mean of all aspects on every resample."""
    metric = evalign.metric(spec)
    scores = metric.score([row.candidate for row in said.rows], [row.references for row in said.rows])[metric.main]
    parts = {aspect: Rated(scores, human, said.documents) for aspect, human in said.human.items()}
    values = {aspect: agreement(part, "spearman", "summary").value for aspect, part in parts.items()}
    draws = np.mean([agreement_draws(part, "spearman", "summary", SAMPLES) for part in parts.values()], axis=0)
    return values, draws


def interval(value: float, draws: np.ndarray, sign: str = "") -> str:
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"


def tables(data: Path) -> str:
    said = rated.load("summeval", data)
    specs = dict.fromkeys((*SPECS, *SEVERAL, *(spec for others in SEVERAL.values() for spec in others)))
    found = {spec: measured(spec, said) for spec in specs}
    rows, references = len(said.rows), np.mean([len(row.references) for row in said.rows])
    heading = (
        f"{datetime.datetime.now(datetime.UTC):%d %B %Y}, `python benchmarks/rouge_agreement.py`: {rows} summaries of "
        f"{len(set(said.documents))} documents, {references:.0f} references each."
    )
    aspects = list(said.human)
    lines = [heading, "", *header(aspects, COMPARED)]
    lines += [row(spec, COMPARED, found, aspects) for spec in SPECS]
    lines += [
        "",
        "Several references: the default takes the best one (`multiref=best`). No other rated set here has several, "
        "and one set is no ground to change a default.",
        "",
        *header(aspects, "default"),
    ]
    for metric, others in SEVERAL.items():
        lines += [row(spec, metric, found, aspects) for spec in (metric, *others)]
    return "\n".join(lines)


def header(aspects: list[str], compared: str) -> list[str]:
    return [f"| variant | {' | '.join(aspects)} | mean of the four | minus {compared} |", "|---" * 7 + "|"]


def row(spec: str, compared: str, found: dict[str, tuple[dict[str, float], np.ndarray]], aspects: list[str]) -> str:
    """One line: agreement by aspect, the mean, and its difference from another spec's."""
    (values, draws), (other_values, other_draws) = found[spec], found[compared]
    mean, other = (float(np.mean(list(by_aspect.values()))) for by_aspect in (values, other_values))
    difference = "-" if spec == compared else interval(mean - other, draws - other_draws, "+")
    cells = [f"{values[aspect]:.3f}" for aspect in aspects]
    return f"| `{spec}` | {' | '.join(cells)} | {interval(mean, draws)} | {difference} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--write", type=Path, help="a page whose marked part becomes this table")
    arguments = parser.parse_args()
    made = tables(arguments.data)
    print(made)
    if arguments.write:
        page = arguments.write.read_text("utf-8")
        marked = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        if not marked.search(page):
            raise SystemExit(f"{arguments.write} has no part between {BEGIN} and {END}")
        arguments.write.write_text(marked.sub(lambda _: f"{BEGIN}\n{made}\n{END}", page), "utf-8")


if __name__ == "__main__":
    main()
