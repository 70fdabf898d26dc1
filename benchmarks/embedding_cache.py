"""The same scoring without kept vectors, with an empty folder for them, and with a full one, interleaved.

    python benchmarks/embedding_cache.py [--repeat 3] [--only WORKLOAD]

Every measurement is a fresh process with one thread. Seconds are processor time of scoring, what is written at the
end included; loading the model is not counted, except in the workload `process`, which is the whole program. The
fastest of the repeats is shown; the scores of all three must be the same bits.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import workloads

WORKLOADS = {
    "mt": ("2,000 MT pairs (286 references, 7 systems)", "bertscore(threads=1)"),
    "summaries": ("300 summaries", "bertscore(threads=1)"),
    "transport": ("300 summaries", "moverscore(threads=1)"),
    "layers": ("200 MT pairs, every layer", "bertscore(threads=1)"),
    "process": ("whole process, 20 MT pairs", "bertscore(threads=1)"),
    "mpnet": ("200 MT pairs", "bertscore(model=mpnet, threads=1)"),
}
WAYS = ("none", "first", "second")


def pairs(workload: str) -> tuple[list[str], list[str]]:
    if workload in ("summaries", "transport"):
        return workloads.summaries()
    return workloads.mt_pairs({"layers": 200, "process": 20, "mpnet": 200}.get(workload, 2000))


def work(workload: str, texts: str, folder: str) -> dict:
    """One measurement, in its own process; `folder` is empty for no kept vectors."""
    import evalign
    from evalign.encoders.loading import close_encoders, keep_embeddings

    with open(texts, encoding="utf-8") as stream:
        candidates, references = json.load(stream)
    keep_embeddings(folder or None)
    metric = evalign.metric(WORKLOADS[workload][1])
    began = 0.0
    if workload != "process":
        (dataclasses.replace(metric, layer="all") if workload == "layers" else metric).scorer()  # loads the model
        began = time.process_time()
    if workload == "layers":
        scores = metric.score_layers(candidates, references)["f1"].ravel()
    else:
        report = metric.score(candidates, references)
        scores = report[report.fields[-1]]
    del metric
    close_encoders()
    gc.collect()  # what waited is written now
    return {"cpu": time.process_time() - began, "scores": scores.tolist()}


def megabytes(folder: str) -> float:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=WORKLOADS, action="append")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(work(*arguments.worker)))
        return
    print("| workload | metric | without s | first run s | ratio | second run s | ratio | MB on disk | same bits |")
    print("|---|---|---|---|---|---|---|---|---|")
    for workload in arguments.only or WORKLOADS:
        about, spec = WORKLOADS[workload]
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        scores = []
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as texts:
            json.dump(pairs(workload), texts)
            texts.flush()
            for _ in range(arguments.repeat):
                with tempfile.TemporaryDirectory() as folder:
                    for way in WAYS:
                        run = workloads.alone(__file__, workload, texts.name, "" if way == "none" else folder)
                        seconds[way].append(run["cpu"])
                        scores.append(run["scores"])
                    size = megabytes(folder)
        without, first, second = (min(seconds[way]) for way in WAYS)
        same = all(np.array_equal(one, scores[0]) for one in scores)
        print(
            f"| {about} | `{spec.replace('threads=1', '').replace('()', '').replace(', )', ')')}` | {without:.2f} "
            f"| {first:.2f} | {first / without:.2f} | {second:.2f} | **{without / second:.1f}x** | {size:.0f} "
            f"| {'yes' if same else 'NO'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
