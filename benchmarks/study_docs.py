"""Puts a study that was run into the docs: its report as Markdown, its figures as small PNG files beside it.

    evalign study lisa --data pairs.jsonl.gz --sample-rows 100 --model minilm --model mpnet -o build/lisa
    python benchmarks/study_docs.py build/lisa docs/studies/lisa.md

Every number and sentence comes from the run; nothing is written by hand.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from PIL import Image

COLOURS = 64  # plain curves need no more, and the files stay small
LARGEST = 150_000  # bytes of a figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a study (-o)")
    parser.add_argument("page", type=Path, help="the page to write; figures go into a folder of its name")
    arguments = parser.parse_args()
    figures = arguments.page.with_suffix("")
    figures.mkdir(parents=True, exist_ok=True)
    report = (arguments.run / "report.md").read_text("utf-8")
    for name in re.findall(r"\]\(([\w-]+\.png)\)", report):
        with Image.open(arguments.run / name) as picture:
            picture.convert("RGB").quantize(COLOURS).save(figures / name, optimize=True)
        if (figures / name).stat().st_size > LARGEST:
            raise SystemExit(f"{figures / name}: larger than {LARGEST} bytes")
    arguments.page.write_text(re.sub(r"\]\(([\w-]+\.png)\)", rf"]({figures.name}/\1)", report), "utf-8")


if __name__ == "__main__":
    main()
