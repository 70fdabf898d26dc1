"""Simplification: SARI compares with source and references, FKGL grades the output alone, BERTScore compares meaning.

Prints:

    system           sari       fkgl  bertscore
    simple-a      73.5693     5.8636     0.8493
    simple-b      44.5393     3.2700     0.6428
    simple-b is easier to read, and says less: a grade alone judges nothing
"""

import json
from pathlib import Path

import evalign

ROWS = [json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()]

if __name__ == "__main__":
    specs = ["sari", "fkgl", "bertscore"]
    print("system".ljust(10), *(spec.rjust(10) for spec in specs))
    for system in ("simple-a", "simple-b"):
        rows = [row for row in ROWS if row["system"] == system]
        given = [[row[field] for row in rows] for field in ("candidate", "references", "source")]
        reports = [evalign.metric(spec).score(*given) for spec in specs]
        totals = [report.corpus(report.fields[-1]) for report in reports]
        print(system.ljust(10), *(f"{total:10.4f}" for total in totals))
    print("simple-b is easier to read, and says less: a grade alone judges nothing")
