"""Every metric obeys every law, in a light form here and with a real model below; laws on random texts follow.

A metric that is added to the registry must be given a line in LIGHT.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalign
from evalign.core import Row, Segment
from evalign.core.metric import Metric, Scorer
from evalign.core.registry import metric_names
from evalign.core.spec import Signature
from evalign.encoders.loading import open_encoder
from evalign.errors import SpecError
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.token_metric import MULTIREF
from evalign.metrics.weighting import count_idf
from evalign.research.learned.combine import Combination, combine, expand_features
from evalign.research.lstm.encoder import demonstration_file
from evalign.testing import LAWS, LawBroken, check_metric
from evalign.testing.trial import SENTENCES
from evalign.training.layers import RatedRows
from tiny_adapters import saved
from tiny_models import build_model
from tiny_torch_models import build

# {table}: IDF counted over sentences, {zeros}: over one text, so that its words weigh nothing, {base}: a baseline.
LIGHT: dict[str, tuple[str, ...]] = {
    "bertscore": (
        "bertscore(model=fake)",
        "bertscore(model=fake, layer=1+3)",
        "bertscore(model=fake, layer=0, specials=drop)",
        "bertscore(model=fake, multiref=mean)",
        "bertscore(model=fake, multiref=per-field-max, specials=drop)",
        "bertscore(model=fake, idf={table})",
        "bertscore(model=fake, idf={table}, specials=drop)",
        "bertscore(model=fake, idf={zeros})",
        "bertscore(model=fake, idf=references)",  # counted from the sample, whichever rows are scored
        "bertscore(model=fake, rescale={base})",
        "bertscore(model=fake, matching=exact)",
    ),
    "lisascore": (
        "lisascore(model=fake)",
        "lisascore(model=fake, layer=1+3, specials=drop, idf={table}, objective=weighted)",
        "lisascore(model=fake, denominator=min)",
        "lisascore(model=fake, method=row-mask)",
        "lisascore(model=fake, method=recursive-argmax)",
        "lisascore(model=fake, method=recursive-argmax, preset=authors, strict=true)",
        "lisascore(model=fake, method=recursive-topk)",
        "lisascore(model=fake, method=auction-topk)",
        "lisascore(model=fake, method=auction)",
    ),
    "moverscore": (
        "moverscore(model=fake)",
        "moverscore(model=fake, ngram=2, idf={table}, stopwords=drop, subwords=drop, punctuation=drop)",
        "moverscore(model=fake, cost=cosine, form=one-minus, layer=1+3)",
        "moverscore(model=fake, preset=moverscore_v2)",  # counted from the sample, whichever rows are scored
        "moverscore(model=fake, preset=moverscore_v2-plain, stopwords=the+a)",
        "moverscore(model=fake, transport=partial)",
        "moverscore(model=fake, transport=unbalanced)",
    ),
    "sbert": (
        "sbert(model=fake)",
        "sbert(model=fake, pooling=max, layer=1+3)",
        "sbert(model=fake, pooling=cls)",
        "sbert(model=fake, idf={table}, specials=drop)",
    ),
    "endtoken": ("endtoken(model=fake)", "endtoken(model=fake, token=cls)"),
    "bartscore": ("bartscore(model={bart})",),  # a tiny random one; more forms in tests/metrics/test_bartscore.py
    "lstm": ("lstm(file={lstm})", "lstm(file={lstm}, multiref=mean)"),  # the small cell that comes along
    "bleu": (
        "bleu",
        "bleu(tokenize=intl, lowercase=true, smooth_method=floor, smooth_value=0.25, max_ngram_order=3)",
        "bleu(tokenize=char, smooth_method=add-k, effective_order=false)",
        "bleu(tokenize=none, smooth_method=none, effective_order=true)",
        "bleu(trg_lang=zh)",
    ),
    "chrf": (
        "chrf",
        "chrf(word_order=2, lowercase=true)",
        "chrf(beta=3, eps_smoothing=true)",
        "chrf(char_order=3, whitespace=true)",
    ),
    "ter": ("ter",),
    "sari": (
        "sari",
        "sari(formula=paper, deletion=precision)",
        "sari(tokenize=intl, lowercase=false)",
        "sari(formula=script)",
        "sari(legacy=true)",
    ),
    "fkgl": ("fkgl",),
    "smog": ("smog",),
    "rouge1": (
        "rouge1",
        "rouge1(tokens=ascii, stem=nltk-porter)",
        "rouge1(stem=true, stopwords=true, multiref=mean, beta=P/R)",
        "rouge1(mode=rouge155)",
        "rouge1(mode=rouge155, multiref=max-recall, stem=true, alpha=0.8)",
        "rouge1(words=10)",
        "rouge1(multiref=pooled)",
        "rouge1(multiref=max-recall)",
        "rouge1(exclusive=true, multiref=pooled)",
        "rouge1(tokens=between-spaces)",  # registered below
    ),
    **{f"rouge{order}": (f"rouge{order}",) for order in range(2, 10)},
    "rougeL": ("rougeL", "rougeL(mode=rouge155)", "rougeL(bytes=200)"),
    "rougeLsum": ("rougeLsum", "rougeLsum(sentences=split)"),
    "rougeMEAD": ("rougeMEAD", "rougeMEAD(sentences=split, multiref=pooled)"),
    "rougeW": ("rougeW", "rougeW(mode=rouge155)", "rougeW(weight=2k-1, multiref=max-recall)"),
    "rougeS": ("rougeS", "rougeS(skip=4)"),
    "rougeSU": ("rougeSU", "rougeSU(mode=rouge155, skip=4)"),
    "gleu": ("gleu", "gleu(tokenize=intl, lowercase=true, min_len=2, max_len=3)"),
    "lcsr": ("lcsr", "lcsr(tokens=ascii, stem=true, stopwords=true, multiref=mean)"),
    "meteor": (
        "meteor",
        "meteor(task=adq, modules=exact+stem+synonym, normalize=no-punctuation)",
        "meteor(language=de)",
        "meteor(language=other, normalize=lower, alpha=0.5, beam=3)",
    ),
    "learned": ("learned(file={learned})",),
    "evalign": ("evalign(model={tiny}, adapter={adapter})",),  # random; what ships is in REAL
}
evalign.register_tokenizer("between-spaces", str.split)
SKIPPED = {
    # The k largest cells of a repeated token may all lie in its own rows, so a text can miss itself.
    "lisascore(model=fake, method=recursive-topk)": ("identity",),
    # The fake encoder's first and last tokens know only their neighbours.
    "sbert(model=fake, pooling=cls)": ("whole-text",),
    "endtoken(model=fake, token=cls)": ("whole-text",),
    # What a random model finds likely is not the text itself.
    "bartscore(model={bart})": ("identity",),
    # The tail has eight words, and so no run of nine.
    "rouge9": ("whole-text",),
}

REAL = (
    "bertscore",
    "evalign",
    "bertscore(layer=4+6)",
    "bertscore(overlong=truncate)",
    "bertscore(arithmetic=int8)",
    "lisascore",
    "bertscore(idf={table})",
    "bertscore(specials=drop)",
    "bertscore(multiref=mean)",
    "bertscore(multiref=per-field-max)",
    "bertscore(max_length=32)",
    "moverscore",
    "sbert",
    "endtoken",
    "moverscore(model=fake, transport=sinkhorn)",
)
SOME_WINDOWS = 6_000  # characters: enough to need several windows
SLOW_LAWS = {"ter": ("row-order", "batch-size", "other-rows", "repetition", "identity")}  # 25 s together
SHORT_LAWS = set(LAWS) - {"unicode", "whole-text"}  # those that read no long text
LEARNED = ("bertscore(model=fake, layer=1).*", "lisascore(model=fake, layer=2)", "chrf", "length-ratio")
TABLE_TEXTS = [*SENTENCES[:12], *SENTENCES[:3]]


def learnable() -> RatedRows:
    """Sentences that lose more and more words, rated by how many are left."""
    words = [(text, text.split(), kept) for text in SENTENCES[:12] for kept in (1, 3, 5)]
    rows = [Row(str(place), " ".join(some[:kept]), (text,)) for place, (text, some, kept) in enumerate(words)]
    ratings = np.array([min(1.0, kept / len(some)) for _, some, kept in words])
    return RatedRows(rows, ratings, [""] * len(rows), [text for text, _, _ in words])


@pytest.fixture(scope="session")
def make_metric(tmp_path_factory: pytest.TempPathFactory):
    """A spec with {table}, {zeros}, {base}, {bart}, {learned}, {tiny} and {adapter} filled in."""
    folder = tmp_path_factory.mktemp("tables")
    base = folder / "base.csv"
    base.write_text("LAYER,P,R,F\n2,0.3,0.25,0.28\n", encoding="utf-8")

    def make(spec: str) -> Metric:
        if "{adapter}" in spec:
            tiny = folder / "tiny"
            if not tiny.exists():
                saved(build_model("bert", tiny), folder / "adapter")
            return evalign.metric(spec.format(tiny=f'"{tiny}"', adapter=f'"{folder / "adapter"}"'))
        if "{learned}" in spec:
            made = combine(learnable(), expand_features(LEARNED), Combination(nonnegative=True))
            made.file.save(folder / "learned.json")
            return evalign.metric(spec.format(learned=f'"{folder / "learned.json"}"'))
        if "{bart}" in spec:
            return evalign.metric(spec.format(bart=f'"{build("bart", folder / "bart", generates=True)}"'))
        if "{lstm}" in spec:
            return evalign.metric(spec.format(lstm=f'"{demonstration_file()}"'))
        model = "fake" if "model=fake" in spec else "minilm"
        names = {"table": folder / f"{model}.json", "zeros": folder / f"{model}-one.json", "base": base}
        if "{" in spec:
            encoder = open_encoder(BERTScore(model=model).encoder_spec()).encoder
            count_idf(encoder, TABLE_TEXTS).save(names["table"])
            count_idf(encoder, [" ".join(SENTENCES)]).save(names["zeros"])
        return evalign.metric(spec.format(**{name: f'"{path}"' for name, path in names.items()}))

    return make


def test_every_metric_has_a_light_form() -> None:
    assert set(LIGHT) == set(metric_names()), "give each metric of the registry a line in LIGHT, and no other"


@pytest.mark.parametrize(("name", "spec"), [(name, spec) for name, specs in LIGHT.items() for spec in specs])
def test_laws(make_metric, name: str, spec: str) -> None:
    metric = make_metric(spec)
    assert metric.name == name
    skip = (*SKIPPED.get(spec, ()), *SLOW_LAWS.get(name, ()))
    check_metric(metric, skip=skip, long_text=SOME_WINDOWS)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [spec for specs in LIGHT.values() for spec in specs])
def test_laws_with_100_000_characters(make_metric, spec: str) -> None:
    metric = make_metric(spec)
    check_metric(metric, skip={*SHORT_LAWS, *SKIPPED.get(spec, ())} - {*SLOW_LAWS.get(metric.name, ())})


@pytest.mark.slow
@pytest.mark.parametrize("spec", REAL)
@pytest.mark.usefixtures("minilm")
def test_laws_with_a_real_model(make_metric, spec: str) -> None:
    check_metric(make_metric(spec), long_text=SOME_WINDOWS)


@pytest.mark.slow
@pytest.mark.usefixtures("minilm")
def test_laws_with_a_real_model_and_100_000_characters() -> None:
    check_metric(evalign.metric("bertscore"), skip=SHORT_LAWS)


class ToyScorer(Scorer):
    def __init__(self, metric: Toy) -> None:
        self.metric = metric
        self.signature = Signature(metric.name, {"v": "1"})

    def score(self, rows: list[Row]) -> list[Segment]:
        return [self._segment(row) for row in rows]

    def _segment(self, row: Row) -> Segment:
        assert bool(row.references) == ("references" in self.metric.needs)
        assert (row.source is not None) == ("sources" in self.metric.needs)
        if not row.candidate.split() or not all(text.split() for text in row.references):
            return Segment(row.id, {"score": self.metric.worst}, {"empty": 1})
        return Segment(row.id, {"score": self.metric.value(row)})


@dataclass(frozen=True)
class Toy(Metric):
    """A metric of words; subclasses are those kinds of metric that the registry may not have yet."""

    about: ClassVar[str] = "for this test"
    fields: ClassVar[tuple[str, ...]] = ("score",)
    bounds: ClassVar[tuple[float, float]] = (0.0, 100_000.0)
    worst: ClassVar[float] = 100_000.0
    higher_is_better: ClassVar[bool] = False

    def scorer(self, rows: object = None) -> ToyScorer:
        return ToyScorer(self)


class WordsPerSentence(Toy):
    """Reads the candidate alone, as readability formulas do."""

    name: ClassVar[str] = "words-per-sentence"
    needs: ClassVar[tuple[str, ...]] = ()

    def value(self, row: Row) -> float:
        return len(row.candidate.split()) / (1 + row.candidate.count("."))


class WordErrors(Toy):
    """Needs sources, and lower is better."""

    name: ClassVar[str] = "word-errors"
    needs: ClassVar[tuple[str, ...]] = ("references", "sources")

    def value(self, row: Row) -> float:
        assert row.source is not None
        own = Counter(row.candidate.split())
        return float(
            min((own - (other := Counter(text.split()))).total() + (other - own).total() for text in row.references)
        )


@pytest.mark.parametrize("kind", [WordsPerSentence, WordErrors])
def test_kinds_of_metric(kind: type[Toy]) -> None:
    check_metric(kind())
    if "references" in kind.needs:
        upside_down = type("UpsideDown", (kind,), {"higher_is_better": True})
        with pytest.raises(LawBroken, match="identity"):
            check_metric(upside_down())


def test_skip_names_a_law() -> None:
    metric = evalign.metric("bertscore(model=fake)")
    check_metric(metric, skip=LAWS)
    with pytest.raises(SpecError, match="row-order"):
        check_metric(metric, skip=["row order"])


def test_a_model_that_is_not_here_is_not_a_broken_law(tmp_path: Path) -> None:
    with pytest.raises(evalign.EvalignError):
        check_metric(evalign.metric(f'bertscore(model="{tmp_path}/none")'))


# Random texts. Words are few, so that they meet; any character at all may stand between them.
FAKE = {spec: evalign.metric(spec) for spec in LIGHT["bertscore"] if "{" not in spec and "references" not in spec}
words = st.lists(st.sampled_from(["the", "cat", "Cat", "sat", "mat", ".", "[CLS]", "ﬁn", "e\u0301"]), max_size=12)
anything = st.text(st.characters(exclude_categories=()), max_size=20)
texts = st.one_of(words.map(" ".join), anything, st.tuples(words.map(" ".join), anything).map(" ".join))
rows = st.lists(st.tuples(texts, st.lists(texts, min_size=1, max_size=3)), min_size=1, max_size=9)
metrics = st.sampled_from(sorted(FAKE)).map(FAKE.__getitem__)
property_test = settings(deadline=None, max_examples=150, database=None)


def scores(metric: Metric, some: list[tuple[str, list[str]]]) -> np.ndarray:
    report = metric.score([row[0] for row in some], [row[1] for row in some])
    return np.stack([report[name] for name in report.fields], axis=1)


@property_test
@given(metrics, rows, st.randoms(use_true_random=False))
def test_order_of_rows(metric: Metric, some, chance) -> None:
    order = list(range(len(some)))
    chance.shuffle(order)
    np.testing.assert_allclose(scores(metric, [some[i] for i in order]), scores(metric, some)[order], atol=1e-6)


@property_test
@given(metrics, rows, st.data())
def test_subset_of_rows(metric: Metric, some, data) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(some) - 1), min_size=1, max_size=12), "rows, some of them twice")
    np.testing.assert_allclose(scores(metric, [some[i] for i in chosen]), scores(metric, some)[chosen], atol=1e-6)


@property_test
@given(metrics, rows)
def test_finite_and_within_bounds(metric: Metric, some) -> None:
    values = scores(metric, some)
    assert np.isfinite(values).all()
    assert (values >= metric.bounds[0] - 1e-9).all()
    assert (values <= metric.bounds[1] + 1e-9).all()


@property_test
@given(st.sampled_from(MULTIREF), texts, st.lists(texts, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_of_references(multiref: str, candidate: str, references: list[str], chance) -> None:
    metric = BERTScore(model="fake", multiref=multiref)
    shuffled = chance.sample(references, len(references))
    one, other = scores(metric, [(candidate, references), (candidate, shuffled)])
    np.testing.assert_allclose(one[-1], other[-1], atol=1e-6)  # references of equal F1 may differ in the rest
    if multiref != "best":
        np.testing.assert_allclose(one, other, atol=1e-6)


@property_test
@given(metrics, texts, st.sampled_from(["", " ", "\n\t", "\u2003\u00a0"]))
def test_empty_is_worst_and_flagged(metric: Metric, text: str, nothing: str) -> None:
    report = metric.score([nothing, text, nothing], [text, nothing, nothing])
    assert report.flags["empty"] == 3
    for values in report:
        assert values.tolist() == [metric.worst] * 3


@property_test
@given(metrics, texts, st.lists(texts, min_size=1, max_size=6))
def test_nothing_beats_the_text_itself(metric: Metric, text: str, others: list[str]) -> None:
    report = metric.score([text, *others], [text] * (1 + len(others)))
    itself, *rest = report["f1"]
    if not report.segments[0].flags:
        assert max(rest) <= itself + 1e-6
        assert itself == pytest.approx(1, abs=1e-6)
