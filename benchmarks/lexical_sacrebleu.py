"""What evalign adds to sacrebleu's own time: BLEU, chrF and TER on real translations, interleaved with direct calls.

    python benchmarks/lexical_sacrebleu.py [pairs] [rounds]

evalign gives sentence scores, statistics and the corpus score in one pass, so it is compared with sacrebleu's
sentence scores, and with its corpus score. Tokenisers remember lines, so every round starts with fresh ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import sacrebleu
from workloads import mt_pairs

import evalign
from evalign.metrics.lexical.sacrebleu_metrics import engine

METRICS: dict[str, tuple[Callable[[], sacrebleu.metrics.base.Metric], int]] = {  # and which share of the pairs
    "bleu": (lambda: sacrebleu.BLEU(effective_order=True), 1),
    "chrf": (sacrebleu.CHRF, 1),
    "chrf(word_order=2)": (lambda: sacrebleu.CHRF(word_order=2), 1),
    "ter": (sacrebleu.TER, 10),
}


def main() -> None:
    count, rounds = [int(given) for given in sys.argv[1:3]] + [2000, 5][len(sys.argv) - 1 :]
    candidates, references = mt_pairs(count)
    print(f"{count} pairs (TER a tenth), CPU seconds, median of {rounds} rounds; sacrebleu {sacrebleu.__version__}")
    print(f"{'':20}{'evalign':>9}{'sentences':>11}{'ratio':>7}{'corpus':>9}{'ratio':>7}")
    for spec, (peer, share) in METRICS.items():
        some, others = candidates[::share], references[::share]
        ours, sentences, corpus = [], [], []
        for _ in range(rounds):
            ours.append(_seconds(_evalign, spec, some, others))
            sentences.append(_seconds(_sentences, peer(), some, others))
            corpus.append(_seconds(peer().corpus_score, some, [others]))
        own, *theirs = (float(np.median(times)) for times in (ours, sentences, corpus))
        print(f"{spec:20}{own:9.2f}{theirs[0]:11.2f}{own / theirs[0]:7.2f}{theirs[1]:9.2f}{own / theirs[1]:7.2f}")


def _evalign(spec: str, candidates: list[str], references: list[str]) -> float:
    engine.cache_clear()
    return evalign.metric(spec).score(candidates, references).corpus("score")


def _sentences(peer: sacrebleu.metrics.base.Metric, candidates: list[str], references: list[str]) -> list[float]:
    return [peer.sentence_score(own, [other]).score for own, other in zip(candidates, references, strict=True)]


def _seconds(call: Callable[..., object], *given: object) -> float:
    start = time.process_time()
    call(*given)
    return time.process_time() - start


if __name__ == "__main__":
    main()
