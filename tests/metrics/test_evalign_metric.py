"""Metric `evalign`: its scale, its one encoding pass, what tricks do to it; it is P, R and F1 of one matrix."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import evalign
from evalign.core.rows import make_rows
from evalign.encoders import adapter as shipped_adapters
from evalign.encoders.adapter import SHIPPED_DIGESTS, read_adapter, shipped
from evalign.encoders.loading import EmbeddingMemory
from evalign.errors import EvalignError, SpecError, WeightsError
from evalign.metrics.all_matchings import align_all
from evalign.metrics.evalign import token_shares
from evalign.metrics.reduction import unrepeated_share
from tiny_adapters import saved

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from adapter_guards import negations

from attacked_texts import CANDIDATES, REFERENCES
from attacks import ATTACKS

SHORT = [("a", "b"), ("Yes", "No"), ("1", "2"), ("dog", "economics"), ("no", "9")]


@pytest.fixture(scope="module")
def metric(minilm):
    return evalign.metric("evalign")


@pytest.fixture
def adapted(tiny, tmp_path):
    """The metric with a random adapter of a tiny model."""
    model = tiny("bert")
    return evalign.Evalign(model=str(model), adapter=str(saved(model, tmp_path / "adapter")))


def test_it_is_the_output_layer_over_bertscore_with_the_adapter(adapted):
    output = read_adapter(adapted.adapter).output
    bert = evalign.BERTScore(model=adapted.model, adapter=adapted.adapter).score(CANDIDATES, REFERENCES)
    fields = np.stack([bert[name] for name in ("precision", "recall", "f1")], axis=-1)
    once = [unrepeated_share(*pair) for pair in zip(CANDIDATES, REFERENCES, strict=True)]
    found = adapted.score(CANDIDATES, REFERENCES)["score"]
    np.testing.assert_allclose(found, output.percent(fields) * once, atol=1e-9)
    assert len(set(found.tolist())) > 1


@pytest.mark.parametrize("model", SHIPPED_DIGESTS)
def test_what_ships_is_whole_small_and_made_for_its_model(model):
    adapter = read_adapter(shipped(model))
    weights, unrelated = adapter.output.mean
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert unrelated < 1
    assert adapter.trained["run"], "how it was trained is written in it"
    assert sum(file.stat().st_size for file in Path(shipped(model)).iterdir()) < 6_000_000


def test_both_folders_together_are_small():
    files = [file for model in SHIPPED_DIGESTS for file in Path(shipped(model)).iterdir()]
    assert sum(file.stat().st_size for file in files) <= 8_000_000


def test_the_text_itself_has_100_and_nothing_more(metric):
    odd = ["a", "I", "Да, конечно.", "猫がマットの上に座った。", "no no no no no", "x" * 300, "[CLS] ##ing ."]
    found = metric.score([*REFERENCES, *odd], [*REFERENCES, *odd])["score"]
    np.testing.assert_allclose(found, 100, atol=1e-3)
    assert found.max() <= 100


def test_unrelated_is_low_and_paraphrase_lies_between(metric):
    near = metric.score(CANDIDATES, REFERENCES)["score"]
    far = metric.score(CANDIDATES, [*REFERENCES[1:], REFERENCES[0]])["score"]
    assert far.min() >= 0
    assert (far < 20).mean() >= 0.95
    assert near.mean() > far.mean() + 20
    assert near.max() < 100


def test_most_opposites_score_far_below_the_paraphrase(metric):
    references, paraphrases, opposites = map(list, zip(*negations(), strict=True))
    same, other = (metric.score(texts, references)["score"] for texts in (paraphrases, opposites))
    assert len(same) == 50
    assert (other < 0.6 * same).sum() >= 40


def test_empty_text_is_worth_nothing(metric):
    report = metric.score(["", "a cat", " ", "a cat"], [["a cat"], [""], [""], ["", "a cat"]])
    assert report["score"] == pytest.approx([0, 0, 0, 100], abs=1e-3)
    assert report.flags == {"empty": 4}


def test_of_several_references_the_best_counts(metric):
    alone = [metric.score([CANDIDATES[0]], [text])["score"][0] for text in REFERENCES]
    together = metric.score([CANDIDATES[0]], [REFERENCES])["score"][0]
    assert together == pytest.approx(max(alone), abs=1e-3)


@pytest.mark.parametrize("attack", ["repetition", "padding", "stuffing"])
def test_more_words_never_pay(metric, attack):
    change = ATTACKS[attack][1]
    plain = metric.score(CANDIDATES, REFERENCES)["score"]
    attacked = metric.score([change(text) for text in CANDIDATES], REFERENCES)["score"]
    assert (attacked < plain).all()
    itself = metric.score([change(text) for text in REFERENCES], REFERENCES)["score"]
    assert (itself < 99).all()


def test_repeating_single_words_does_not_pay(metric):
    stuttered = [" ".join(word for part in text.split() for word in (part, part)) for text in CANDIDATES]
    assert (metric.score(stuttered, REFERENCES)["score"] < metric.score(CANDIDATES, REFERENCES)["score"]).all()


def test_other_words_are_never_the_text_itself(metric):
    assert metric.score(*map(list, zip(*SHORT, strict=True)))["score"].max() < 90


def test_pairwise_is_score_of_every_pair(adapted):
    table = adapted.pairwise(CANDIDATES[:3], REFERENCES[:4])["score"]
    pairs = [(own, other) for own in CANDIDATES[:3] for other in REFERENCES[:4]]
    scores = adapted.score(*map(list, zip(*pairs, strict=True)))["score"]
    np.testing.assert_allclose(np.ravel(table), scores, atol=1e-6)


def test_shares_of_tokens_sum_to_the_score(metric):
    for candidate, reference in zip(CANDIDATES, REFERENCES, strict=True):
        given = token_shares(metric.align(candidate, reference), metric.pipeline().reduction.output)
        once, score = unrepeated_share(candidate, reference), metric.score([candidate], [reference])["score"][0]
        straight = sum(part.sum() for part in given)
        bent = straight if straight >= 10 else 10 * np.exp(straight / 10 - 1)
        assert bent * once == pytest.approx(score, abs=1e-3)


def test_other_metrics_can_have_the_adapter_that_ships_by_its_name(minilm):
    metric = evalign.metric("lisascore(adapter=evalign)")
    signature = str(metric.scorer().signature)
    assert f"+{read_adapter(shipped('minilm')).name}|" in signature
    assert evalign.metric(signature).adapter == "evalign"


def test_the_same_matrix_under_every_matching(metric):
    every = align_all(metric, CANDIDATES[0], REFERENCES[0])
    matrix = every.alignments["greedy"].similarity
    assert len(every.alignments) > 5
    assert not every.skipped
    assert all(np.array_equal(alignment.similarity, matrix) for alignment in every.alignments.values())


def test_one_encoding_pass(metric, monkeypatch):
    passes = []
    encode = EmbeddingMemory.encode

    def counted(self, some, *args, **kwargs):
        passes.append(1)
        return encode(self, some, *args, **kwargs)

    scorer = metric.scorer()
    monkeypatch.setattr(EmbeddingMemory, "encode", counted)
    metric.report(scorer, make_rows(CANDIDATES, REFERENCES))
    assert len(passes) == 1


def test_signature_rebuilds_the_metric(metric):
    signature = str(metric.scorer().signature)
    assert f"+{read_adapter(shipped('minilm')).name}|" in signature
    assert evalign.metric(signature) == metric
    truncating = evalign.metric("evalign(overlong=truncate)")
    assert evalign.metric(str(truncating.scorer().signature)).overlong == "truncate"


@pytest.mark.parametrize(
    ("part", "other"),
    [(r"+adapter@", "+adapter@0"), ("all-MiniLM-L6-v2@", "another@"), ("all-MiniLM-L6-v2@40", "all-MiniLM-L6-v2@00")],
)
def test_a_signature_of_other_numbers_rebuilds_nothing(metric, part, other):
    signature = str(metric.scorer().signature)
    assert part in signature
    with pytest.raises(SpecError, match=r"its adapter is needed too|the signature pins"):
        evalign.metric(signature.replace(part, other))


@pytest.mark.parametrize("name", ["adapter.json", "adapter.safetensors"])
@pytest.mark.parametrize("damage", [None, b"{"], ids=["missing", "torn"])
def test_a_damaged_installation_says_so(tmp_path, monkeypatch, metric, name, damage):
    shutil.copytree(shipped("minilm"), tmp_path / "adapters" / "minilm")
    file = tmp_path / "adapters" / "minilm" / name
    file.unlink() if damage is None else file.write_bytes(damage)
    monkeypatch.setattr(shipped_adapters.resources, "files", lambda _: tmp_path)
    with pytest.raises(WeightsError, match="adapter"):
        metric.score(["a"], ["b"])


def test_models_without_an_adapter_are_refused_with_the_way_to_one(tiny):
    with pytest.raises(SpecError, match=r"adapters ship for minilm and mpnet.*evalign train adapter"):
        evalign.Evalign(model=str(tiny("bert")))
    with pytest.raises(EvalignError, match="was trained on"):
        evalign.Evalign(model="minilm", adapter=shipped("mpnet")).score(["a"], ["b"])
    with pytest.raises(SpecError, match="needs adapter=DIR"):
        evalign.Evalign(adapter="")
    with pytest.raises(SpecError, match="file"):
        evalign.metric("evalign(file=recipe.json)")
