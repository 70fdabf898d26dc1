"""How far evalign's equivalent lies from a peer's own call, for the pages of docs/migrating.

    python benchmarks/migrating.py           prints the tables
    python benchmarks/migrating.py --write   puts them into docs/migrating/*.md

900 pairs of the project's own texts (tests/own_texts.py) go through both; sentence scores are compared one by one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import evalign  # noqa: E402
from own_texts import own_pairs  # noqa: E402

BEGIN, END = "<!-- made by benchmarks/migrating.py -->", "<!-- end -->"
CANDIDATES, REFERENCES = (list(side) for side in zip(*own_pairs(), strict=True))
Case = tuple[str, str, Callable[[], Iterable[float]], Callable[[], Iterable[float]]]  # peer, evalign, their numbers


def ours(spec: str, field: str | None = None, corpus: bool = False) -> Callable[[], Iterable[float]]:
    def numbers() -> Iterable[float]:
        metric = evalign.metric(spec)
        report = metric.score(CANDIDATES, REFERENCES)
        name = field or metric.main
        return [report.corpus(name)] if corpus else report[name]

    return numbers


def rouge_score() -> Iterable[Case]:
    from rouge_score.rouge_scorer import RougeScorer

    for stem in (False, True):
        for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
            scorer = RougeScorer([name], use_stemmer=stem)
            options = "tokens=ascii, stem=nltk-porter" if stem else "tokens=ascii"
            theirs = _each(lambda pair, s=scorer, n=name: s.score(pair[1], pair[0])[n].fmeasure)
            yield (
                f'RougeScorer(["{name}"], use_stemmer={stem})',
                f"{name}({options})",
                theirs,
                ours(f"{name}({options})"),
            )
    for name in ("rouge1", "rougeLsum"):  # as evalign reads texts unless told otherwise
        scorer = RougeScorer([name])
        theirs = _each(lambda pair, s=scorer, n=name: s.score(pair[1], pair[0])[n].fmeasure)
        yield f'RougeScorer(["{name}"])', name, theirs, ours(name)


def sacrebleu() -> Iterable[Case]:
    import sacrebleu as peer

    metrics = {
        "bleu": (peer.BLEU(effective_order=True), peer.BLEU()),
        "chrf": (peer.CHRF(), peer.CHRF()),
        "chrf(word_order=2)": (peer.CHRF(word_order=2), peer.CHRF(word_order=2)),
        "ter": (peer.TER(), peer.TER()),
    }
    names = {"bleu": "BLEU", "chrf": "CHRF", "chrf(word_order=2)": "CHRF", "ter": "TER"}
    for spec, (sentence, corpus) in metrics.items():
        options = "word_order=2" if "word" in spec else ""
        effective = "effective_order=True" if spec == "bleu" else options
        theirs = _each(lambda pair, m=sentence: m.sentence_score(pair[0], [pair[1]]).score)
        yield f"{names[spec]}({effective}).sentence_score", f'`{spec}`: `report["score"]`', theirs, ours(spec)
        whole = lambda m=corpus: [m.corpus_score(CANDIDATES, [REFERENCES]).score]  # noqa: E731
        yield (
            f"{names[spec]}({options}).corpus_score",
            f'`{spec}`: `report.corpus("score")`',
            whole,
            ours(spec, corpus=True),
        )


def torchmetrics() -> Iterable[Case]:
    from torchmetrics import text
    from torchmetrics.functional import text as functional

    lists = [[reference] for reference in REFERENCES]
    corpus = {
        "SacreBLEUScore()": (text.SacreBLEUScore(), "bleu"),
        "BLEUScore()": (text.BLEUScore(), "bleu(tokenize=none)"),
        "CHRFScore()": (text.CHRFScore(), "chrf(word_order=2)"),
        "CHRFScore(n_word_order=0)": (text.CHRFScore(n_word_order=0), "chrf"),
        "TranslationEditRate()": (text.TranslationEditRate(), "ter"),
    }
    for call, (metric, spec) in corpus.items():
        theirs = lambda m=metric: [100 * float(m(CANDIDATES, lists))]  # noqa: E731
        yield f"100 · {call}", f'`{spec}`: `report.corpus("score")`', theirs, ours(spec, corpus=True)
    for name in ("rouge1", "rouge2", "rougeL"):
        for stem in (False, True):
            theirs = _each(
                lambda pair, n=name, s=stem: float(
                    functional.rouge_score(pair[0], pair[1], rouge_keys=n, use_stemmer=s)[f"{n}_fmeasure"]
                )
            )
            options = "tokens=ascii, stem=nltk-porter" if stem else "tokens=ascii"
            yield (
                f'ROUGEScore(rouge_keys="{name}", use_stemmer={stem})',
                f"{name}({options})",
                theirs,
                ours(f"{name}({options})"),
            )
    yield from _torchmetrics_bertscore(functional)


def _torchmetrics_bertscore(functional) -> Iterable[Case]:
    from evalign.encoders.weights import locate

    folder = str(locate("minilm").directory)

    def theirs(rows: int) -> Iterable[float]:
        for start in range(0, 40, rows):
            part = slice(start, start + rows)
            options = {"model_name_or_path": folder, "num_layers": 4, "batch_size": 8}
            yield from np.atleast_1d(functional.bert_score(CANDIDATES[part], REFERENCES[part], **options)["f1"])

    for spec in ("bertscore(layer=4)", "bertscore(layer=4, specials=drop)"):
        for rows, calls in ((40, "40 rows in one call"), (1, "40 calls of one row")):
            mine = lambda s=spec: evalign.metric(s).score(CANDIDATES[:40], REFERENCES[:40])["f1"]  # noqa: E731
            yield f"BERTScore(num_layers=4), {calls}", spec, lambda n=rows: theirs(n), mine


def _each(score: Callable[[tuple[str, str]], float]) -> Callable[[], Iterable[float]]:
    return lambda: [score(pair) for pair in zip(CANDIDATES, REFERENCES, strict=True)]


def measured(cases: Iterable[Case], package: str) -> str:
    lines = [BEGIN, f"`python benchmarks/migrating.py`, {len(CANDIDATES)} pairs, {package} {version(package)}:", ""]
    lines += [
        "| there | here | numbers compared | largest difference | rows that differ by more than 1e-6 |",
        "|---|---|---|---|---|",
    ]
    for call, spec, theirs, mine in cases:
        left, right = np.asarray(list(theirs()), float), np.asarray(list(mine()), float)
        apart = np.abs(left - right)
        shown = spec if "`" in spec else f"`{spec}`"
        lines.append(f"| `{call}` | {shown} | {len(left)} | {apart.max():.1e} | {(apart > 1e-6).sum()} |")
        print(lines[-1], flush=True)
    return "\n".join([*lines, END])


PAGES = {"rouge_score": (rouge_score, "rouge-score"), "sacrebleu": (sacrebleu, "sacrebleu"),
         "torchmetrics": (torchmetrics, "torchmetrics")}  # fmt: skip


def main() -> None:
    for page, (cases, package) in PAGES.items():
        table = measured(cases(), package)
        if "--write" in sys.argv:
            path = ROOT / "docs" / "migrating" / f"{page}.md"
            before, _, rest = path.read_text("utf-8").partition(BEGIN)
            path.write_text(before + table + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
