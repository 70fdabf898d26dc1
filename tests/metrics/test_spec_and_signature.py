"""Specs and signatures: what prints parses back, in any alphabet."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalign
from evalign.core.metric import Metric
from evalign.core.options import option_choices
from evalign.core.spec import format_spec, parse_spec
from evalign.errors import SpecError
from tiny_models import SENTENCES

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]*", fullmatch=True)
KEYS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True)


@pytest.mark.parametrize(
    ("spec", "name", "options"),
    [
        ("bertscore", "bertscore", {}),
        (" bertscore ", "bertscore", {}),
        ("bertscore()", "bertscore", {}),
        ("bertscore(layer=5)", "bertscore", {"layer": "5"}),
        ("bertscore( layer = 5 , idf=references )", "bertscore", {"layer": "5", "idf": "references"}),
        ('m(path="a b, (c)=\\"d\\" \\\\e")', "m", {"path": 'a b, (c)="d" \\e'}),
        ('m(empty="")', "m", {"empty": ""}),
        ("m(x=-1.5e-3,y=true)", "m", {"x": "-1.5e-3", "y": "true"}),
        ("m(x=C:/models/a+b)", "m", {"x": "C:/models/a+b"}),
    ],
)
def test_specs_are_parsed(spec, name, options):
    assert parse_spec(spec) == (name, options)


@pytest.mark.parametrize(
    "spec",
    ["", "(", "4x", "m(", "m(x", "m(x=", "m(x=1", "m(x=1,", "m(x=1 y=2)", "m(x=1))", "m(x=1)z", "m x", 'm(x="a)',
     "m(x=1,x=2)", "m(=1)", "m(x=a b)", "m(x==1)", "m)"],
)  # fmt: skip
def test_broken_specs_say_where(spec):
    with pytest.raises(SpecError, match=re.escape(repr(spec))):
        parse_spec(spec)


@given(NAMES, st.dictionaries(KEYS, st.text(), max_size=4))
def test_what_is_formatted_parses_back(name, options):
    assert parse_spec(format_spec(name, options)) == (name, options)


@given(NAMES, st.dictionaries(KEYS, st.text(min_size=0), max_size=5))
def test_a_signature_parses_back(name, settings):
    signature = evalign.Signature(name, settings)
    assert evalign.Signature.parse(str(signature)) == signature
    assert "\n" not in str(signature)


@pytest.mark.parametrize("broken", ["bertscore|layer", "bertscore|:4", "bertscore|layer:4|layer:5", "bertscore|"])
def test_broken_signatures(broken):
    with pytest.raises(SpecError, match="not one key:value"):
        evalign.Signature.parse(broken)
    with pytest.raises(SpecError):
        evalign.metric(broken)


@pytest.mark.parametrize(
    "spec",
    [
        "bertscore(model=fake)",
        "bertscore(model=fake, layer=3)",
        "bertscore(model=fake, layer=1+2)",
        "bertscore(model=fake, specials=drop)",
        "bertscore(model=fake, idf=references)",
        "bertscore(model=fake, multiref=mean)",
        "bertscore(model=fake, overlong=truncate)",
        "bertscore(model=fake, overlong=error, max_length=64)",
        "bertscore(model=fake, idf=sources, layer=0)",
        "bertscore(model=fake, matching=recursive-argmax)",
        "bertscore(model=fake, matching=auction)",
        "lisascore(model=fake, method=auction, eps=0.0123456789)",
        "lisascore(model=fake, method=recursive-topk, preset=authors, strict=true, denominator=max)",
        "moverscore(model=fake, transport=partial, fraction=0.75, ngram=2)",
        "sbert(model=fake, pooling=max)",
        "endtoken(model=fake, token=cls)",
    ],
)
def test_the_signature_of_a_score_rebuilds_its_metric(spec):
    texts = ["a cat sat", "the"], ["the cat sat down", "a dog"]
    report = evalign.metric(spec).score(*texts, sources=texts[0])
    rebuilt = evalign.metric(report.signature)
    again = rebuilt.score(*texts, sources=texts[0])
    assert again.signature == report.signature
    for name in report.fields:
        np.testing.assert_array_equal(again[name], report[name])


def test_the_signature_of_minilm(minilm):
    report = evalign.metric("bertscore").score(["a cat"], ["the cat"])
    assert report.signature == (
        "bertscore|model:all-MiniLM-L6-v2@40bc2228|layer:4|match:greedy|specials:keep|idf:no|base:no|"
        f"multiref:best|overlong:window|prec:fp32|spec:bertscore|v:{evalign.__version__}"
    )
    assert evalign.metric(report.signature).score(["a cat"], ["the cat"]).signature == report.signature


@pytest.mark.parametrize("signature", ["meteor|x:1", "rouge1|x:1", "rouge1|mode:paper|v:0.1.0"])
def test_signatures_that_are_not_whole(signature):
    with pytest.raises(SpecError, match="missing"):
        evalign.metric(signature)


@pytest.mark.parametrize(
    "options",
    [
        {"specials": "drop"}, {"layer": "1"}, {"multiref": "mean"}, {"overlong": "truncate"}, {"max_length": 30},
        {"arithmetic": "int8"}, {"idf": "references"}, {"layer": "1+2"},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_changes_a_number_changes_the_signature(tiny, options):
    """bert_score, torchmetrics and modern-bert-score give three numbers under one name."""
    plain, changed = (
        evalign.BERTScore(model=str(tiny("bert")), **{"layer": "2", **chosen}).score(["a"], ["b"])
        for chosen in ({}, options)
    )
    assert plain.signature != changed.signature


def test_other_weights_change_the_signature(tiny):
    models = [str(tiny("bert", seed=seed)) for seed in (0, 1)]
    assert len({evalign.BERTScore(model=model, layer="2").score(["a"], ["b"]).signature for model in models}) == 2


def test_the_signature_tells_idf_corpora_apart(tiny):
    """The package evaluate keeps its scorer under a key without the corpus: the second call gets the first's table."""
    metric = evalign.BERTScore(model=str(tiny("bert")), layer="2", idf="references")
    candidates, corpus = SENTENCES[:3], SENTENCES[4:7]
    reports = [metric.score(candidates, texts) for texts in (corpus, corpus[::-1], [*corpus[:2], "another text"])]
    digests = [report.signature.partition("|idf:references@")[2].partition("|")[0] for report in reports]
    assert [len(digest) for digest in digests] == [8, 8, 8]
    assert digests[0] == digests[1] != digests[2]  # the same texts in another order are the same corpus
    np.testing.assert_array_equal(np.stack(list(metric.score(candidates, corpus))), np.stack(list(reports[0])))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("fake@00000000", "fake@11111111"), "pins model:fake@11111111, but here it is model:fake@00000000"),
        (("idf:no", "idf:table@12345678"), "pins idf:table@12345678, but here it is idf:no"),
        (("base:no", "base:12345678"), "pins base:12345678, but here it is base:no"),
        (("bertscore|", "bertscrore|"), "unknown metric 'bertscrore'; did you mean bertscore"),
    ],
)
def test_a_signature_that_cannot_be_kept_is_refused(change, said):
    signature = evalign.BERTScore(model="fake").score(["a"], ["a"]).signature
    assert change[0] in signature
    with pytest.raises(SpecError, match=said):
        evalign.metric(signature.replace(*change))


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("bertscore", {}),
        ("bertscore(layer=5)", {"layer": 5}),
        ("bertscore(layer=4+6, idf=references)", {"layer": "4+6", "idf": "references"}),
        ('bertscore(model="a dir", max_length=40)', {"model": "a dir", "max_length": "40"}),
        ("bertscore(rescale=base.tsv)", {"rescale": "base.tsv"}),
        ("bertscore(rescale=true)", {"rescale": True}),
    ],
)
def test_a_metric_prints_as_its_spec(spec, options):
    metric = evalign.BERTScore(**options)
    assert str(metric) == spec
    assert evalign.metric(spec) == metric
    assert hash(evalign.metric(spec)) == hash(metric)


@given(st.data())
def test_any_metric_parses_back_to_an_equal_value(data):
    options = {}
    for item in dataclasses.fields(evalign.BERTScore):
        if choices := option_choices(item):
            options[item.name] = data.draw(st.sampled_from(list(choices)))
        elif isinstance(item.default, int):
            options[item.name] = data.draw(st.integers(-5, 10**9))
        else:
            options[item.name] = data.draw(st.text())
    metric = evalign.BERTScore(**options)
    assert evalign.metric(str(metric)) == metric


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bertscor", "unknown metric 'bertscor'; did you mean bertscore"),
        ("bertscore(model=fake, layer=all)", "score_layers"),
        ("bertscore(layr=4)", "no option 'layr'; did you mean layer"),
        ("bertscore(multiref=max)", "multiref=max: did you mean"),
        ("bertscore(max_length=ten)", "max_length=ten: expected a whole number"),
        ("bertscore(arithmetic=fp8)", "arithmetic=fp8: "),
    ],
)
def test_mistyped_specs_are_corrected(spec, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        evalign.metric(spec)


def test_every_option_has_one_line_of_help():
    for item in dataclasses.fields(evalign.BERTScore):
        assert item.metadata["about"]
        assert not option_choices(item) or item.default in option_choices(item)
    assert issubclass(evalign.BERTScore, Metric)


@pytest.mark.parametrize("value", ["%eedy", "%ff", "a%C3", "%E2%82"])
def test_escapes_that_are_no_text(value):
    with pytest.raises(SpecError, match="escapes"):
        evalign.metric(f"bertscore|model:fake@00000000|layer:2|match:{value}|v:0.1.0")
