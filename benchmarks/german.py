"""Runs `evalign study german` twice and puts its tables into docs/studies/german.md.

    python benchmarks/german.py --folder build/german --write docs/studies/german.md

Stand-ins for the rated German summaries, which cannot be had: rows of one half of stsb_de_dev, judged by encoders that
were fine-tuned on pairs of the other half (no text is in both), and translations of ted21. Few training pairs, so that
everything takes at most 20 minutes on two cores. What stands above the marker in the page is written by hand; every
number below it comes from the two runs.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import rated

MARKER = "<!-- made by benchmarks/german.py -->"
MODELS = ("--model", "minilm", "--model", "mpnet")
THREADS = ("--threads", "1")  # two that wait for each other on a busy machine take seven times the processor time
TRAINING_PAIRS = 32  # MPNet takes most of the time: a second or two of processor time for each pair and epoch
SHORT = 60  # characters of the longer text of a training pair
ROWS = 120  # judged rows of each data set
TABLE3 = "Table 3: errors by model"


def halves(data: Path, folder: Path) -> tuple[Path, Path]:
    """Rows to judge and rows to learn from, as files; rows that share a text are in the same half of the data."""
    group: dict[str, int] = {}
    members: dict[int, list[dict]] = {}
    for number, row in enumerate(rated.records("stsb_de_dev", data)):
        texts = {row["candidate"], *row["references"]}
        joined = {group[text] for text in texts if text in group}
        members[number] = [one for old in sorted(joined) for one in members.pop(old)] + [row]
        texts |= {text for text, old in group.items() if old in joined}
        group |= dict.fromkeys(texts, number)
    parts: tuple[list[dict], list[dict]] = ([], [])
    for rows in members.values():
        min(parts, key=len).extend(rows)
    folder.mkdir(parents=True, exist_ok=True)
    short = [row for row in parts[1] if len(max(row["candidate"], *row["references"], key=len)) <= SHORT]
    parts = parts[0], short[:: len(short) // TRAINING_PAIRS][:TRAINING_PAIRS]
    files = folder / "stsb_de_dev.judged.jsonl", folder / "stsb_de_dev.learned.jsonl"
    for file, rows in zip(files, parts, strict=True):
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return files


def run(out: Path, learned: Path, *options: str) -> str:
    """One command; the time it took."""
    study = [sys.executable, "-m", "evalign", "study", "german", "-o", str(out), "--layer", "all"]
    study += [*MODELS, *THREADS, *options, "--train", str(learned), "--mapping", "linear(0,5)"]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(study, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return f"{time.perf_counter() - began:.0f} s, {processor:.0f} s of processor time"


class Report:
    """A run's report, cut into what the page shows."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.text = folder, (folder / "report.md").read_text("utf-8")

    def section(self, title: str) -> str:
        return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", self.text, re.S | re.M)[1].strip()

    def said(self, *titles: str) -> str:
        lines = [line for title in titles for line in self.section(title).splitlines()]
        return "\n".join(f"- {line}" for line in lines if line and line[0] not in "!*|")

    def table(self, caption: str) -> str:
        return re.search(rf"\*\*{re.escape(caption)}.*?\*\*\n\n((?:\|.*\n?)+)", self.text)[1].strip()

    def picture(self, name: str, figures: Path, alt: str) -> str:
        figures.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.folder / f"{name}.png", figures / f"{self.folder.name}_{name}.png")
        return f"![{alt}]({figures.name}/{self.folder.name}_{name}.png)"

    def shown(self, heading: str, pictures: list[str]) -> list[str]:
        """The ledger, Tables 3 and 4, layers, poolings and the corpus with what is seen in them."""
        error, people = (f"Table 4: all metrics, {what}" for what in ("error", "correlation with people"))
        pooling = [f"Pooling of Sentence-BERT, {what}" for what in ("error", "correlation with people")]
        return [
            heading, self.table("What the paper claims"),
            "### Table 3", self.table("Table 3: RMSE"), self.table("Beside Table 3"), *pictures, self.said(TABLE3),
            "### Layers of BERTScore", self.table("BERTScore by layer"), self.said("BERTScore over all layers"),
            "### Table 4", self.table("Table 4: all metrics"), self.said(error, people, "Where the scores lie"),
            "### Pooling", self.table("Sentence-BERT by model and pooling"), self.said(*pooling),
            "### The corpus, and the error formula", self.table("Section 4.1"),
            self.said("The corpus", "Which error formula the task used"),
        ]  # fmt: skip


def page(pairs: Report, translations: Report, figures: Path) -> str:
    errors = "Error of each system by model on {}, raw and fitted"
    drawn = pairs.picture("table3", figures, errors.format("sentence pairs"))
    layers = pairs.picture("layers", figures, "Error of BERTScore by layer on sentence pairs")
    translated = translations.picture("table3", figures, errors.format("translations"))
    return "\n\n".join(
        [
            *pairs.shown(f"## German sentence pairs ({ROWS} rows of stsb_de_dev, 0 to 5; IDF over references)",
                         [drawn, layers]),
            *translations.shown(f"## Translations into German ({ROWS} rows of ted21, MQM from -25 to 0)",
                                [translated]),
            "## As published",
            "Table 3 of the paper: the error of GermEval-2020 task 3, on other data and by a formula that was not "
            "published; nothing of it was measured here.",
            pairs.table("Table 3 as published"), "Table 4 of the paper, beside sentence pairs here:",
            pairs.table("Table 4 as published"),
        ]
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=rated.DATA, help="folder of the rated data sets")
    parser.add_argument("--folder", type=Path, default=Path("build/german"))
    parser.add_argument("--write", type=Path, help="the page whose part below the marker is made anew")
    arguments = parser.parse_args()
    judged, learned = halves(arguments.data, arguments.folder)
    translations = str(arguments.data / "ted21_ende_mqm.jsonl.gz")
    took = {
        "sentence pairs": run(
            arguments.folder / "stsb", learned, "--data", str(judged), "--sample-rows", str(ROWS), "--human-max", "5",
            "--idf", "references",
        ),
        "translations": run(
            arguments.folder / "ted", learned, "--data", translations, "--sample-rows", str(ROWS)
        ),
    }  # fmt: skip
    for what, seconds in took.items():
        print(f"{what}: {seconds}")
    if arguments.write:
        head = arguments.write.read_text("utf-8").partition(MARKER)[0]
        reports = (Report(arguments.folder / name) for name in ("stsb", "ted"))
        made = page(*reports, arguments.write.with_suffix(""))
        arguments.write.write_text(f"{head}{MARKER}\n\n{made}\n", "utf-8")


if __name__ == "__main__":
    main()
