"""ROUGE beside rouge-score, on the same texts in the same run.

    python benchmarks/lexical_rouge.py [--repeat 5] [--only mt|summaries|long|stemmed|script|sentences]

"All three" are rouge1, rouge2 and rougeL. One thread, CPU seconds, the fastest of the repeats; both sides take turns
within a repeat, and evalign starts each turn with an empty memory. Scores are compared before anything is timed. What
is loaded before that is hidden from the garbage collector (gc.freeze): nltk's 100,000 objects are not to be visited at
evalign's expense.
"""

from __future__ import annotations

import argparse
import gc
import os
import time

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import numpy as np
import workloads
from rouge_score.rouge_scorer import RougeScorer

import evalign
from evalign.metrics.lexical.rouge.words import shared_reader
from evalign.text.sentences import split_sentences
from evalign.text.stemming import nltk_porter

THREE = ("rouge1", "rouge2", "rougeL")


def mt_pairs() -> tuple[list[str], list[str]]:
    """Translations into English: rouge-score finds no words in the others."""
    rows = [row for row in workloads.read("wmt16_daseg") if row["lp"].endswith("-en")]
    return [row["candidate"] for row in rows], [row["references"][0] for row in rows]


def summary_pairs() -> tuple[list[str], list[str]]:
    rows = workloads.read("summeval")
    return [row["candidate"] for row in rows], [row["references"][0] for row in rows]


def hundred_words() -> tuple[list[str], list[str]]:
    """The first 100 words of summaries and references, end to end."""
    rows = workloads.read("summeval")
    texts = [" ".join([*row["candidate"].split(), *rows[i - 1]["references"][0].split()]) for i, row in enumerate(rows)]
    cut = [" ".join(text.split()[:100]) for text in texts if len(text.split()) >= 100]
    return cut[:-1], cut[1:]


def peer_scores(kinds, candidates, references, stem: bool) -> list:
    scorer = RougeScorer(kinds, use_stemmer=stem)
    return [scorer.score(reference, text) for text, reference in zip(candidates, references, strict=True)]


def own_scores(kinds, candidates, references, stem: bool) -> dict:
    options = "(tokens=ascii, stem=nltk-porter)" if stem else "(tokens=ascii)"
    return {kind: evalign.metric(kind + options).score(candidates, references) for kind in kinds}


def largest_difference(kinds, texts, stem: bool) -> float:
    theirs, ours = peer_scores(kinds, *texts, stem), own_scores(kinds, *texts, stem)
    gaps = [np.array([one[kind] for one in theirs]) - np.stack(list(ours[kind]), axis=1) for kind in kinds]
    return max(float(np.abs(gap).max()) for gap in gaps)


def seconds(work, *args) -> float:
    """CPU time until the scores are there; taking them apart again is not timed."""
    shared_reader.cache_clear()
    nltk_porter.cache_clear()
    begin = time.process_time()
    scores = work(*args)
    end = time.process_time()
    del scores
    return end - begin


def compare(name: str, kinds, texts, stem: bool, repeat: int) -> None:
    worst = largest_difference(kinds, texts, stem)
    gc.collect()
    gc.freeze()
    times = [
        (seconds(peer_scores, kinds, *texts, stem), seconds(own_scores, kinds, *texts, stem)) for _ in range(repeat)
    ]
    peer, own = (min(column) for column in zip(*times, strict=True))
    pairs = len(texts[0])
    print(
        f"{name:<37} {pairs:>6} pairs   rouge-score {1e6 * peer / pairs:8.1f} µs   evalign {1e6 * own / pairs:7.1f} µs"
        f"   {peer / own:6.1f}x   largest difference {worst:.0e}"
    )


def script_modes(repeat: int) -> None:
    """What the other members and the script's mode cost; there is no peer."""
    candidates, references = mt_pairs()
    for spec in ("rougeLsum", "rougeMEAD", "rougeW", "rougeS", "rougeSU(skip=4)", "lcsr", "rouge1(mode=rouge155)",
                 "rougeL(mode=rouge155)", "rougeW(mode=rouge155)", "rougeSU(mode=rouge155, skip=4)"):  # fmt: skip
        metric = evalign.metric(spec)
        best = min(seconds(metric.score, candidates, references) for _ in range(min(2, repeat)))
        print(f"{spec:<37} {len(candidates):>6} pairs   evalign {1e6 * best / len(candidates):7.1f} µs a pair")


def splitting(repeat: int) -> None:
    """What finding the sentences of a summary costs, as they are and in lower case, and how many are found."""
    rows = workloads.read("summeval")
    texts = list(dict.fromkeys(text for row in rows for text in (row["candidate"], row["references"][0])))
    for name, some in (("as they are", texts), ("in lower case", [text.lower() for text in texts])):
        times = []
        for _ in range(repeat):
            begin = time.process_time()
            sentences = [split_sentences(text) for text in some]
            times.append(time.process_time() - begin)
        found = sum(map(len, sentences)) / len(some)
        print(
            f"sentences of summaries {name:<14} {len(some):>6} texts   {1e6 * min(times) / len(some):7.1f} µs a text"
            f"   {found:.2f} sentences a text"
        )


def segment_ends() -> None:
    """How many ends of segments are found where five segments are joined; each ends in a full stop or the like."""
    for name, language in (("wmt16_daseg", "English"), ("ted21_ende_mqm", "German")):
        rows = [row for row in workloads.read(name) if language == "German" or row["lp"].endswith("-en")]
        every = list(dict.fromkeys(row["references"][0].strip() for row in rows))
        segments = [text for text in every if text.endswith((".", "!", "?"))]
        for form, some in (("as they are", segments), ("in lower case", [text.lower() for text in segments])):
            groups = [some[place : place + 5] for place in range(0, len(some), 5)]
            ends = [boundaries(group) for group in groups]
            hits = [
                len(own & boundaries(split_sentences(" ".join(group)))) for own, group in zip(ends, groups, strict=True)
            ]
            total = sum(map(len, ends))
            print(f"{language} segments {form:<14} {total:>6} ends   {100 * sum(hits) / total:.1f} % found")


def boundaries(sentences: list[str]) -> set[int]:
    """Characters, white space aside, up to the end of every sentence but the last."""
    lengths = [len("".join(sentence.split())) for sentence in sentences]
    return set(np.cumsum(lengths)[:-1].tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=("mt", "summaries", "long", "stemmed", "script", "sentences"))
    given = parser.parse_args()
    if given.only in (None, "mt"):
        compare("MT, all three", THREE, mt_pairs(), False, given.repeat)
        compare("MT, 7 systems a reference, all three", THREE, workloads.mt_pairs(), False, given.repeat)
    if given.only in (None, "summaries"):
        compare("summaries, all three", THREE, summary_pairs(), False, given.repeat)
    if given.only in (None, "long"):
        compare("100 words, rougeL", ("rougeL",), hundred_words(), False, given.repeat)
    if given.only in (None, "stemmed"):
        compare("MT, stemmed, all three", THREE, mt_pairs(), True, given.repeat)
        compare("summaries, stemmed, all three", THREE, summary_pairs(), True, given.repeat)
    if given.only in (None, "script"):
        script_modes(given.repeat)
    if given.only in (None, "sentences"):
        splitting(given.repeat)
        segment_ends()


if __name__ == "__main__":
    main()
