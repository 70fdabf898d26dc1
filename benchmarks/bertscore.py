"""evalign and bert-score on the same texts, interleaved in one run: CPU seconds, peak memory, ratio.

    python benchmarks/bertscore.py [--repeat 3] [--quick]

Every measurement is a fresh process, each with one thread. Loading a model is not counted, except in the
workload `process`, which is the whole program on 20 pairs. The fastest of the repeats is shown.
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

import numpy as np
import workloads

LAYER = {"minilm": 4, "mpnet": 7}
SHAPE = {"minilm": (384, 1536), "mpnet": (768, 3072)}  # width, width of the feed-forward part
WORKLOADS = {
    "mt": ("2,000 MT pairs (286 references, 7 systems)", "minilm"),
    "systems": ("8 systems one after another, metric object kept", "minilm"),
    "summaries": ("300 summaries", "minilm"),
    "process": ("whole process, 20 pairs", "minilm"),
    "mpnet": ("200 MT pairs", "mpnet"),
}


def calls(workload: str) -> list[tuple[list[str], list[str]]]:
    """Candidates and references of each call to `score`."""
    if workload == "systems":
        columns, references = workloads.eight_systems()
        return [(column, references) for column in columns]
    if workload == "summaries":
        return [workloads.summaries()]
    return [workloads.mt_pairs({"mpnet": 200, "process": 20}.get(workload, 2000))]


def directory(model: str) -> str:
    from evalign.encoders.weights import locate

    return str(locate(model).directory)


def work(tool: str, workload: str, texts: str) -> dict:
    """One measurement, in its own process."""
    model = WORKLOADS[workload][1]
    with open(texts, encoding="utf-8") as stream:
        calls = json.load(stream)
    before = time.process_time() if workload != "process" else 0.0  # a whole process counts from its start
    if tool == "evalign":
        run, stats = evalign_runner(model)
    else:
        run, stats = peer_runner(model)
    if workload != "process":
        before = time.process_time()
    scores = np.concatenate([run(candidates, references) for candidates, references in calls])
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu": seconds, "peak": peak, "scores": scores.tolist()} | stats()


def evalign_runner(model: str):
    import evalign

    metric = evalign.BERTScore(model=model, layer=LAYER[model], overlong="truncate", threads=1)
    encoder = metric.scorer().cache.encoder
    return (
        lambda c, r: metric.score(c, r)["f1"],
        lambda: {"real": encoder.real_tokens, "padded": encoder.padded_tokens},
    )


def peer_runner(model: str):
    import logging
    import warnings

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import bert_score.utils
    import torch
    from bert_score import BERTScorer

    torch.set_num_threads(1)
    scorer = BERTScorer(model_type=directory(model), num_layers=LAYER[model], nthreads=0)
    counts = {"real": 0, "padded": 0}
    encode = bert_score.utils.bert_encode

    def counted(network, ids, attention_mask, all_layers=False):
        counts["real"] += int(attention_mask.sum())
        counts["padded"] += attention_mask.numel()
        return encode(network, ids, attention_mask, all_layers)

    bert_score.utils.bert_encode = counted
    return lambda c, r: scorer.score(c, r)[2].numpy(), lambda: counts


def sgemm_rate() -> float:
    """Multiply-adds this machine's BLAS does per CPU second with one thread, on the encoder's own shapes."""
    left, right = np.random.rand(1024, 384).astype(np.float32), np.random.rand(384, 1536).astype(np.float32)
    best = 0.0
    for _ in range(5):
        begin = time.process_time()
        for _ in range(20):
            left @ right
        best = max(best, 20 * left.shape[0] * left.shape[1] * right.shape[1] / (time.process_time() - begin))
    return best


def floor_seconds(model: str, tokens: int, rate: float) -> float:
    """The encoder's weight matrices over the real tokens at that rate; attention and all else left out."""
    width, inner = SHAPE[model]
    return tokens * LAYER[model] * (4 * width * width + 2 * width * inner) / rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=WORKLOADS, action="append")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(work(*arguments.worker)))
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rate = float(subprocess.run([sys.executable, "-c", "import bertscore; print(bertscore.sgemm_rate())"],
                                cwd=os.path.dirname(os.path.abspath(__file__)), env=os.environ,
                                capture_output=True, text=True, check=True).stdout)  # fmt: skip
    print(f"one thread; measured sgemm rate {2 * rate / 1e9:.0f} GFLOP/s\n")
    print(
        "| workload | model | evalign s | bert-score s | ratio | evalign MB | bert-score MB | ratio | cap | max diff |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    notes = []
    for workload in arguments.only or WORKLOADS:
        about, model = WORKLOADS[workload]
        runs: dict[str, list[dict]] = {"evalign": [], "bert-score": []}
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as texts:
            json.dump(calls(workload), texts)
            texts.flush()
            for _ in range(arguments.repeat):
                for tool in runs:
                    runs[tool].append(workloads.alone(__file__, tool, workload, texts.name))
        ours, theirs = (min(some, key=lambda run: run["cpu"]) for some in runs.values())
        difference = np.abs(np.array(ours["scores"]) - np.array(theirs["scores"])).max()
        cap = theirs["cpu"] / floor_seconds(model, ours["real"], rate)
        print(
            f"| {about} | {model} | {ours['cpu']:.2f} | {theirs['cpu']:.2f} | **{theirs['cpu'] / ours['cpu']:.2f}x** "
            f"| {ours['peak']:.0f} | {theirs['peak']:.0f} | {ours['peak'] / theirs['peak']:.2f} "
            f"| {'-' if workload == 'process' else f'{cap:.2f}x'} | {difference:.1e} |",
            flush=True,
        )
        padding = [f"{run['padded'] / run['real'] - 1:.1%}" for run in (ours, theirs)]
        notes.append(
            f"- {about}: tokens of texts {ours['real']:,} / {theirs['real']:,}, tokens run {ours['padded']:,} / "
            f"{theirs['padded']:,}, padding {' / '.join(padding)}"
        )
    print("\nevalign / bert-score\n" + "\n".join(notes))
    print("\ncap: bert-score's seconds over the time of our tokens' weight matrices alone at the sgemm rate.")


if __name__ == "__main__":
    main()
