"""Runs `evalign study german` twice and puts its tables into docs/studies/german.md.

    python benchmarks/german.py --folder build/german --write docs/studies/german.md

Stand-ins for the rated German summaries, which cannot be had: one half of stsb_de_dev, judged by an encoder that was
fine-tuned on the other half (no text is in both), and 200 translations of ted21. What stands above the marker in the
page is written by hand; every number below it comes from the two runs.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import rated

MARKER = "<!-- made by benchmarks/german.py -->"
MODELS = ("--models", "minilm", "--models", "mpnet")
PUBLISHED = "Published on GermEval's summaries"


def halves(data: Path, folder: Path) -> tuple[Path, Path]:
    """Two files of rows such that rows which share a text are in the same one; filled in turn, the shorter first."""
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
    files = folder / "stsb_de_dev.judged.jsonl", folder / "stsb_de_dev.learned.jsonl"
    for file, rows in zip(files, parts, strict=True):
        file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return files


def run(out: Path, learned: Path, *options: str) -> float:
    """One command; its seconds."""
    study = [sys.executable, "-m", "evalign", "study", "german", "--out", str(out), *MODELS, *options]
    began = time.perf_counter()
    subprocess.run([*study, "--train", str(learned), "--mapping", "linear(0,5)"], check=True)
    return time.perf_counter() - began


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

    def shown(self, heading: str, picture: str) -> list[str]:
        """Tables 4 and 3 with what is seen in them."""
        error, people = (f"Table 4: all metrics, {what}" for what in ("error", "correlation with people"))
        return [
            heading, self.table("Table 4: all metrics"), picture,
            self.said(error, people, "Where the scores lie"), "Table 3, Sentence-BERT:",
            self.table("Table 3: Sentence-BERT by model and pooling"),
            self.said("Table 3: Sentence-BERT, error", "Table 3: Sentence-BERT, correlation with people"),
        ]  # fmt: skip


def page(pairs: Report, translations: Report, figures: Path) -> str:
    correlations = pairs.picture(
        "table4_correlation", figures, "Correlation of each metric with people on sentence pairs"
    )
    errors = translations.picture("table4_error", figures, "Error of each metric on translations, raw and fitted")
    return "\n\n".join(
        [
            *pairs.shown("## German sentence pairs (half of stsb_de_dev, 0 to 5; IDF over references)", correlations),
            *translations.shown("## Translations into German (ted21, 200 of 6,877 rows, MQM from -25 to 0)", errors),
            "## Beside the published figures",
            "Error times 100 as published on GermEval's summaries, and RMSE and MAE times 100 here. The data differ, "
            "and the formula may.",
            "Sentence pairs:", pairs.table(PUBLISHED), "Translations:", translations.table(PUBLISHED),
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
            arguments.folder / "stsb", learned, "--data", str(judged), "--pairs", "750", "--human-max", "5",
            "--idf", "references",
        ),
        "translations": run(arguments.folder / "ted", learned, "--data", translations),
    }  # fmt: skip
    for what, seconds in took.items():
        print(f"{what}: {seconds:.0f} s")
    if arguments.write:
        head = arguments.write.read_text("utf-8").partition(MARKER)[0]
        reports = (Report(arguments.folder / name) for name in ("stsb", "ted"))
        made = page(*reports, arguments.write.with_suffix(""))
        arguments.write.write_text(f"{head}{MARKER}\n\n{made}\n", "utf-8")


if __name__ == "__main__":
    main()
