"""Metric `evalign`: its scale, its one encoding pass, what tricks do to it, and that features are what they say."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import evalign
from evalign.encoders.loading import EncoderChoice, open_encoder
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import SpecError, TableError
from evalign.metrics import evalign_features, evalign_metric
from evalign.metrics.evalign_features import Looker, Text, shared
from evalign.metrics.evalign_metric import MODELS, shipped
from evalign.metrics.learned_file import LearnedFile, Term
from evalign.metrics.rows import make_rows

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from attacked_texts import CANDIDATES, REFERENCES
from attacks import ATTACKS


@pytest.fixture(scope="module")
def metric(minilm):
    return evalign.metric("evalign")


def texts(*some: str, layer: str = "0+1+2+3") -> list[Text]:
    encoder = open_encoder(EncoderChoice("fake", layer)).encoder
    return [Text(one, 100) for one in encoder.encode(list(some))]


def test_greedy_features_are_bertscore():
    candidate, reference = texts(CANDIDATES[0], REFERENCES[0])
    names = [f"{side}@{layer}" for side in ("precision", "recall") for layer in (1, 3)]
    found = dict(zip(names, Looker(names, (0, 1, 2, 3))(candidate, reference), strict=True))
    for layer in (1, 3):
        bert = evalign.metric(f"bertscore(model=fake, layer={layer}, specials=drop)")
        report = bert.score(CANDIDATES[:1], REFERENCES[:1])
        for side in ("precision", "recall"):
            assert found[f"{side}@{layer}"] == pytest.approx(report[side][0], abs=1e-6)


def test_pooled_is_sbert():
    (found,) = Looker(["pooled@2"], (0, 1, 2, 3))(*texts(CANDIDATES[1], REFERENCES[1]))
    assert found == pytest.approx(
        evalign.metric("sbert(model=fake, layer=2)").score(CANDIDATES[1:2], REFERENCES[1:2])["score"][0], abs=1e-6
    )


def test_neighbours_rare_and_worst_by_their_definitions():
    candidate, reference = texts(CANDIDATES[2], REFERENCES[2])
    names = ["next-precision@1", "next-recall@1", "rare-recall@1", "worst-precision@1"]
    found = Looker(names, (0, 1, 2, 3))(candidate, reference)
    ours, theirs = (one.vectors[1].astype(float) / one.norms[1][:, None] for one in (candidate, reference))
    cosine = ours @ theirs.T
    pairs = (cosine[1:, 1:] + cosine[:-1, :-1]) / 2
    ids = reference.embedded.tokens.ids[~reference.embedded.tokens.special]
    rare = np.array([0.3 if one < 100 else np.log1p((one - 100) / 10) + 0.5 for one in ids.tolist()])
    worst = np.sort(cosine.max(axis=1))[: max(1, len(cosine) // 4)]
    wanted = [pairs.max(1).mean(), pairs.max(0).mean(), rare @ cosine.max(0) / rare.sum(), worst.mean()]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_bands_do_not_change_a_number(monkeypatch):
    names = ["precision@0", "recall@2", "rare-recall@1", "next-precision@1", "next-recall@3", "worst-recall@2"]
    pair = texts(" ".join(CANDIDATES), " ".join(REFERENCES))
    whole = Looker(names, (0, 1, 2, 3))(*pair)
    for cells in (1, 300, 700):
        monkeypatch.setattr(evalign_features, "CELLS", cells)
        np.testing.assert_allclose(Looker(names, (0, 1, 2, 3))(*pair), whole, atol=1e-7)


@pytest.mark.parametrize(
    ("ours", "theirs", "value"), [("abcde", "abcde", 1), ("abcd", "wxyz", 0), ("abcde", "abcdx", 0.5), ("ab", "ab", 1)]
)
def test_characters(ours, theirs, value):
    (found,) = Looker(["characters"], (0,))(*texts(ours, theirs, layer="0"))
    assert found == pytest.approx(value)
    assert shared(Counter("aab"), Counter("abb")) == pytest.approx(4 / 6)


@pytest.mark.parametrize("name", ["precison@1", "precision@9", "precision", "characters@1", "pooled@x"])
def test_features_there_are_not(name):
    with pytest.raises(SpecError, match="feature"):
        Looker([name], (0, 1))


def test_the_text_itself_has_100_and_nothing_more(metric):
    odd = ["a", "I", "Да, конечно.", "猫がマットの上に座った。", "no no no no no", "x" * 300, "[CLS] ##ing ."]
    report = metric.score([*REFERENCES, *odd], [*REFERENCES, *odd])
    assert report["score"].tolist() == [100.0] * (len(REFERENCES) + len(odd))


def test_unrelated_is_low_and_paraphrase_lies_between(metric):
    near = metric.score(CANDIDATES, REFERENCES)["score"]
    far = metric.score(CANDIDATES, [*REFERENCES[1:], REFERENCES[0]])["score"]
    assert (far < 35).all()
    assert ((near > 35) & (near < 95)).all()
    assert far.min() >= 0


def test_empty_text_is_worth_nothing(metric):
    report = metric.score(["", "a cat", " ", "a cat"], [["a cat"], [""], [""], ["", "a cat"]])
    assert report["score"].tolist() == [0, 0, 0, 100]
    assert report.flags == {"empty": 4}


def test_of_several_references_the_best_counts(metric):
    alone = [metric.score([CANDIDATES[0]], [text])["score"][0] for text in REFERENCES]
    together = metric.score([CANDIDATES[0]], [REFERENCES])["score"][0]
    assert together == pytest.approx(max(alone), abs=1e-4)


@pytest.mark.parametrize("attack", ["repetition", "padding", "stuffing"])
def test_more_words_never_pay(metric, attack):
    change = ATTACKS[attack][1]
    plain = metric.score(CANDIDATES, REFERENCES)["score"]
    attacked = metric.score([change(text) for text in CANDIDATES], REFERENCES)["score"]
    assert (attacked < plain).all()
    itself = metric.score([change(text) for text in REFERENCES], REFERENCES)["score"]
    assert (itself < 100).all()


def test_repeating_single_words_does_not_pay(metric):
    stuttered = [" ".join(word for one in text.split() for word in (one, one)) for text in CANDIDATES]
    assert (metric.score(stuttered, REFERENCES)["score"] < metric.score(CANDIDATES, REFERENCES)["score"]).all()


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
    assert f"|file:{shipped('minilm').digest[:8]}|" in signature
    assert evalign.metric(signature) == metric
    truncating = evalign.metric("evalign(overlong=truncate)")
    assert evalign.metric(str(truncating.scorer().signature)) == truncating


@pytest.mark.parametrize(
    ("part", "other"),
    [
        (f"file:{shipped('minilm').digest[:8]}", "file:00000000"),
        (f"file:{shipped('minilm').digest[:8]}", "file:"),
        (f"file:{shipped('minilm').digest[:8]}", f"file:{shipped('minilm').digest[:2]}"),
        ("model:all-MiniLM-L6-v2@53aa5117", "model:another@00000000"),
        ("layers:0+1+2+4+5", "layers:0+1"),
        ("prec:fp32", "prec:int8"),
    ],
)
def test_a_signature_of_other_numbers_rebuilds_nothing(metric, part, other):
    signature = str(metric.scorer().signature)
    assert f"|{part}|" in signature
    with pytest.raises(SpecError, match="no recipe that ships here"):
        evalign.metric(signature.replace(part, other))


@pytest.mark.parametrize("model", MODELS)
def test_what_ships_is_whole_and_small(model):
    content = shipped(model)
    assert (content.low, content.high) == (0, 100)
    assert len(content.terms) < 60
    looker = Looker([term.feature for term in content.terms], content.trained["layers"])
    assert looker is not None
    itself = content.predict(np.ones((1, len(content.terms))))
    assert itself[0] == 100


SHORT = [("a", "b"), ("Yes", "No"), ("1", "2"), ("dog", "economics"), ("\U0001f600", "\U0001f697")]


@pytest.mark.parametrize("model", MODELS)
def test_no_sum_of_free_weights_is_more_than_the_matching_says(model):
    content = shipped(model)
    names = [term.feature for term in content.terms]
    precision, recall = (names.index(f"{side}@{content.trained['tuned']}") for side in ("precision", "recall"))
    values = np.random.default_rng(0).uniform(0, 1, (1000, len(names)))
    harmonic = stats.hmean(values[:, [precision, recall]], axis=1)
    assert (content.predict(values) > 100 * harmonic).any()
    assert (evalign_metric.weighed(content, values) <= 100 * harmonic * 1.0001 + 1e-9).all()


def test_other_words_are_never_the_text_itself(metric):
    assert metric.score(*map(list, zip(*SHORT, strict=True)))["score"].max() < 90


@pytest.mark.parametrize("damage", [None, b"{", "a weight changed"])
def test_a_damaged_installation_says_so(tmp_path, monkeypatch, damage):
    (tmp_path / "recipes").mkdir()
    file = tmp_path / "recipes" / "minilm.json"
    if damage is not None:
        shipped("minilm").save(file)
        whole = file.read_bytes()
        file.write_bytes(damage if isinstance(damage, bytes) else whole.replace(b'"weight": -', b'"weight": ', 1))
        assert file.read_bytes() != whole
    monkeypatch.setattr(evalign_metric.resources, "files", lambda _: tmp_path)
    with pytest.raises(TableError, match=r"the recipe that ships for minilm cannot be used.*install evalign again"):
        shipped.__wrapped__("minilm")


def fake_recipe(path: Path, **changes) -> str:
    name = open_encoder(EncoderChoice("fake", "0+1")).encoder.name
    terms = tuple(Term(one, name, 0.0, 1.0, 100 / 3) for one in ("precision@1", "recall@1", "characters"))
    trained = {"encoder": "fake", "layers": [0, 1], "commonest": 100, "tuned": 1}
    replace(LearnedFile(terms, 0.0, 0.0, 100.0, trained), **changes).save(path)
    return str(path)


def test_a_recipe_of_ones_own(tmp_path):
    metric = evalign.Recipe(file=fake_recipe(tmp_path / "own.json"))
    assert metric.score(["a cat"], ["a cat"])["score"][0] == pytest.approx(100)
    assert 0 < metric.score(["a dog"], ["a cat"])["score"][0] < 100


def test_recipes_that_do_not_fit(tmp_path):
    terms = tuple(
        Term(one, "all-MiniLM-L6-v2@00000000", 0.0, 1.0, 1.0) for one in ("precision@1", "recall@1", "characters")
    )
    with pytest.raises(TableError, match="made for all-MiniLM-L6-v2@00000000, but the model here is"):
        evalign.Recipe(file=fake_recipe(tmp_path / "a.json", terms=terms)).scorer()
    with pytest.raises(TableError, match="but no recipe"):
        evalign.Recipe(file=fake_recipe(tmp_path / "b.json", trained={})).scorer()
    unmatched = {"encoder": "fake", "layers": [0, 1], "commonest": 100, "tuned": 0}
    with pytest.raises(TableError, match="but no recipe"):
        evalign.Recipe(file=fake_recipe(tmp_path / "c.json", trained=unmatched)).scorer()
    with pytest.raises(SpecError, match="model=bert"):
        evalign.Recipe(model="bert")
