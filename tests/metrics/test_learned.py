"""`learned`: one encoding pass gives what each metric gives by itself; changed or unfitting files are refused."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import evalign
from evalign.core import Row
from evalign.core.rows import make_rows
from evalign.encoders.loading import EmbeddingMemory
from evalign.errors import LengthMismatchError, SpecError, TableError
from evalign.research.learned.features import FeatureScorer, length_ratio, parse_features
from evalign.research.learned.metric import LearnedFile, Term

CANDIDATES = ["the cat sat on the mat", "a dog barked", "it rained all day long", "", "yes", "the end ."]
REFERENCES = [
    ["a cat was sitting on a mat", "the cat sat down"],
    ["dogs bark"],
    ["the whole day it rained", "", "rain fell all day"],
    ["not empty"],
    ["yes"],
    [""],
]
SPECS = [
    "bertscore({model}layer=1).*",
    "bertscore({model}layer=2, specials=drop).recall",
    "lisascore({model}layer=0+1).f1",
    "bertscore({model}layer=2, idf=references).f1",
    "moverscore({model}layer=2)",
    "sbert({model}layer=2)",
    "chrf",
    "rougeL.recall",
]


def features(model: str) -> list:
    given = "" if model == "minilm" else f"model={model}, "
    return [one for spec in SPECS for one in parse_features(spec.format(model=given))]


def learned_file(specs: dict[str, float], low=0.0, high=1.0, **trained) -> LearnedFile:
    parts = FeatureScorer([one for spec in specs for one in parse_features(spec)])
    terms = [
        Term(spec, signature, 0.5, 0.25, weight)
        for (spec, weight), signature in zip(specs.items(), parts.signatures, strict=True)
    ]
    return LearnedFile(tuple(terms), 0.4, low, high, trained)


@pytest.fixture
def saved(tmp_path):
    def save(*args, **kwargs) -> str:
        path = tmp_path / "learned.json"
        learned_file(*args, **kwargs).save(path)
        return str(path)

    return save


class UnreadRows:
    """A stream that must not be read before its rows are scored."""

    rereadable = False

    def __iter__(self):
        raise AssertionError("a stream was read before it was scored")


@pytest.mark.parametrize(
    "spec", ["bertscore(model=fake)", "moverscore(model=fake)", "sbert(model=fake)", "chrf", "rouge1"]
)
def test_a_scorer_reads_no_rows_that_it_does_not_need(spec, saved):
    assert evalign.metric(spec).scorer(UnreadRows()).signature
    assert evalign.Learned(file=saved({spec: 1.0})).scorer(UnreadRows()).signature


def test_a_stream_cannot_be_counted_for_idf():
    with pytest.raises(SpecError, match="a stream can be read only once"):
        evalign.metric("bertscore(model=fake, idf=references)").scorer(UnreadRows())


@pytest.mark.parametrize("model", ["fake", "minilm"])
def test_features_equal_the_metrics_they_come_from(model, minilm):
    rows = make_rows(CANDIDATES, REFERENCES)
    parts = FeatureScorer(features(model), rows)
    seen = parts.compute(rows)
    for column, one in enumerate(features(model)):
        alone = one.metric.score(CANDIDATES, REFERENCES)
        np.testing.assert_allclose(seen.values[:, column], alone[one.field], atol=2e-6, err_msg=str(one))
    assert list(seen.empty) == [False, False, False, True, False, True]


def test_one_encoding_pass_whatever_the_layers_and_matchings(monkeypatch):
    passes = []
    encode = EmbeddingMemory.encode

    def counted(self, texts, *args, **kwargs):
        texts = list(texts)
        passes.append(len(texts))
        return encode(self, texts, *args, **kwargs)

    rows = make_rows(CANDIDATES, REFERENCES)
    parts = FeatureScorer(features("fake"), rows)
    monkeypatch.setattr(EmbeddingMemory, "encode", counted)
    parts.compute(rows)
    assert len(passes) == 1


def test_signatures_of_features_are_those_of_their_metrics():
    parts = FeatureScorer(
        parse_features("bertscore(model=fake, layer=1)") + parse_features("sbert(model=fake, layer=3)")
    )
    settings = evalign.metric("bertscore(model=fake, layer=1)").scorer().signature.settings
    compared = {name: value for name, value in settings.items() if name not in ("spec", "v")}
    assert parts.signatures[0] == str(evalign.Signature("bertscore", compared))
    assert "|layer:3|" in parts.signatures[1]


@pytest.mark.parametrize(
    ("candidate", "references", "ratio"),
    [
        ("abcd", ["abcdefgh"], 0.5),
        ("abcdefgh", ["abcd", "abcdefg"], 7 / 8),
        ("", ["a"], 0),
        ("a", [""], 0),
        (" a ", ["b"], 1),
    ],
)
def test_length_ratio(candidate, references, ratio):
    assert length_ratio(Row("1", candidate, tuple(references))) == pytest.approx(ratio)


def test_the_score_is_the_weighted_sum_within_the_human_scale(saved):
    metric = evalign.Learned(file=saved({"chrf": 0.01, "length-ratio": 1.0}, low=-2.0, high=3.0))
    assert (metric.bounds, metric.worst) == ((-2, 3), -2)
    report = metric.score(["the cat", "x", ""], [["the cat"], ["a longer text"], ["a"]])
    assert report["score"][0] == pytest.approx(min(3, 0.4 + (100 - 0.5) / 0.25 * 0.01 + 0.5 / 0.25))
    chrf, ratio = evalign.metric("chrf").score(["x"], ["a longer text"])["score"][0], 1 / 13
    assert report["score"][1] == pytest.approx(max(-2, 0.4 + (chrf - 0.5) / 0.25 * 0.01 + (ratio - 0.5) / 0.25))
    assert report["score"][2] == -2
    assert report.flags == {"empty": 1}


def test_signature_names_file_and_parts(saved):
    path = saved({"bertscore(model=fake, layer=1).f1": 1.0, "chrf": 0.1})
    signature = evalign.Learned(file=path).scorer().signature
    assert signature.settings["file"] == LearnedFile.load(path).digest[:8]
    assert signature.settings["parts"].startswith("bertscore+chrf@")
    other = saved({"bertscore(model=fake, layer=2).f1": 1.0, "chrf": 0.1})
    assert evalign.Learned(file=other).scorer().signature.settings["parts"] != signature.settings["parts"]


def test_an_idf_table_of_other_rows_is_another_signature(tmp_path):
    rows = make_rows(CANDIDATES, REFERENCES)
    feature = "bertscore(model=fake, layer=2, idf=references).f1"
    (signature,) = FeatureScorer(parse_features(feature), rows).signatures
    assert "|idf:references|" in signature
    LearnedFile((Term(feature, signature, 0.5, 0.25, 0.1),), 0.4, 0.0, 1.0).save(tmp_path / "idf.json")
    metric = evalign.Learned(file=str(tmp_path / "idf.json"))
    one, same, other = (
        metric.score(CANDIDATES[:2], REFERENCES[:2]),
        metric.score(CANDIDATES[1::-1], REFERENCES[1::-1]),
        metric.score(CANDIDATES[:5], REFERENCES[:5]),
    )
    assert one.signature == same.signature != other.signature
    assert one["score"][0] != pytest.approx(other["score"][0], abs=1e-6)


def resigned(path: str, change) -> None:
    plain = json.loads(Path(path).read_text("utf-8"))
    change(plain["content"])
    canonical = json.dumps(plain["content"], sort_keys=True, separators=(",", ":"))
    plain["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    Path(path).write_text(json.dumps(plain), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content["trained"].update(rmse="x"), "trained says rmse 'x', expected a number"),
        (lambda content: content["trained"].update(folds=None), "trained says folds None, expected a number"),
        (lambda content: content["trained"].pop("rows"), "not a learned metric .*rows"),
        (lambda content: content.update(trained=[[1, 2]]), "trained is list, expected an object"),
        (lambda content: content["terms"][0].update(weight=1e308), "not a number up to 1e[+]100"),
        (lambda content: content["terms"][0].update(weight=10**400), "too large to convert"),
        (lambda content: content["terms"][0].update(scale=1e-320), "scale is at least 1e-100"),
        (lambda content: content.update(low=2.0), "low below high"),
        (lambda content: content["terms"][0].update(feature="rougeL.*"), "is 3 features, expected one"),
    ],
)
def test_a_signed_file_with_odd_content_is_refused(saved, change, said):
    path = saved({"rougeL": 1.0}, rmse=0.1, rows=50, folds=5)
    evalign.Learned(file=path).scorer()
    resigned(path, change)
    with pytest.raises(TableError, match=said):
        evalign.Learned(file=path)


def test_the_largest_numbers_do_not_overflow(saved):
    path = saved({"chrf": 1e100, "length-ratio": -1e100})
    resigned(path, lambda content: [term.update(scale=1e-99, mean=1e100) for term in content["terms"]])
    assert 0 <= evalign.Learned(file=path).score(["a b"], ["a c"])["score"][0] <= 1


def test_the_note_says_how_far_off_it_is(saved):
    path = saved({"chrf": 0.1}, human="adequacy", rmse=0.123, rows=500, folds=5)
    note = evalign.Learned(file=path).scorer().note
    assert "error on held-out rows is 0.123 (root mean square over 500 rows, 5 folds)" in note


def test_other_weights_than_in_training_are_refused(tiny, tmp_path):
    first, second = tiny("bert"), tiny("bert", seed=7)
    spec = f'bertscore(model="{second}", layer=1).f1'
    made = learned_file({f'bertscore(model="{first}", layer=1).f1': 1.0})
    changed = replace(made, terms=(replace(made.terms[0], feature=spec),))
    changed.save(tmp_path / "other.json")
    with pytest.raises(TableError, match=r"was trained as bertscore.*but is bertscore.*train again"):
        evalign.Learned(file=str(tmp_path / "other.json")).scorer()


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["content"].update(intercept=0.5),
        lambda plain: plain["content"]["terms"][0].update(weight=9),
        lambda plain: plain["content"].update(more=1),
        lambda plain: plain.update(sha256="0" * 64),
    ],
)
def test_a_changed_file_is_refused(saved, change):
    path = saved({"chrf": 1.0})
    plain = json.loads(Path(path).read_text("utf-8"))
    change(plain)
    Path(path).write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises(TableError, match="does not fit its sha256"):
        evalign.Learned(file=path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "not a learned metric"),
        ("[]", "not a learned metric"),
        ('{"format": "evalign-idf-1", "version": 1}', "expected 'evalign-learned' 1"),
        ('{"format": "evalign-learned", "version": 9}', "version 9"),
        ('{"format": "evalign-learned", "version": 1}', "not a learned metric"),
    ],
)
def test_files_that_are_something_else(tmp_path, text, said):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=said):
        evalign.Learned(file=str(tmp_path / "a.json"))


def test_no_file_and_unknown_metrics(tmp_path):
    with pytest.raises(TableError, match="cannot be read as a learned metric"):
        evalign.Learned(file=str(tmp_path / "none.json"))
    with pytest.raises(SpecError, match="learned needs its file"):
        evalign.Learned().scorer()
    made = learned_file({"chrf": 1.0})
    replace(made, terms=(replace(made.terms[0], feature="chrg"),)).save(tmp_path / "b.json")
    with pytest.raises(TableError, match="unknown metric 'chrg'; did you mean chrf"):
        evalign.Learned(file=str(tmp_path / "b.json"))


def test_it_needs_what_its_parts_need(saved):
    path = saved({"sari": 0.1, "chrf": 0.1})
    assert set(evalign.Learned(file=path).needs) == {"references", "sources"}
    with pytest.raises(LengthMismatchError, match="needs a source"):
        evalign.Learned(file=path).score(["a"], ["b"])


def test_infinite_numbers_are_no_weights(tmp_path):
    made = learned_file({"chrf": float("inf")})
    with pytest.raises(ValueError, match="Out of range float"):
        made.save(tmp_path / "c.json")
