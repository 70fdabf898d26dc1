"""Texts, specs, signatures and layers: what a person types, or pastes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fuzzing import any_text, decoded, fuzz
from hypothesis import given
from hypothesis import strategies as st

import evalign
from evalign.core.spec import Signature, format_spec, parse_spec
from evalign.errors import EvalignError, SpecError

pytestmark = pytest.mark.slow


@fuzz
@given(st.lists(st.one_of(any_text, decoded), min_size=1, max_size=6), st.data())
def test_texts(minilm: Path, texts: list[str], data: st.DataObject) -> None:
    others = data.draw(st.permutations(texts))
    for spec in ("bertscore(model=fake)", "bertscore", "bertscore(specials=drop, max_length=8)"):
        report = evalign.metric(spec).score(texts, others)
        for values in report:
            assert np.isfinite(values).all()
            assert (np.abs(values) <= 1 + 1e-9).all()


@fuzz
@given(st.one_of(any_text, decoded))
def test_offsets_point_into_the_text(minilm: Path, text: str) -> None:
    tokens = evalign.metric("bertscore").scorer().cache.encoder.tokenize([text])[0]
    for start, stop in tokens.offsets.tolist():
        assert 0 <= start <= stop <= len(text)


# Specs and signatures ------------------------------------------------------------------------------------------

SPECS = [
    "bertscore",
    "bertscore(layer=5, idf=references)",
    'bertscore(idf="a \\"b\\".json", specials=drop)',
    "bertscore|model:fake@00000000|layer:2|match:greedy|v:0.1.0",
]
marks = st.sampled_from([*'()=,"\\|:%@+ \n\t\x00', "true", "9" * 5000, "²", "٤", "-1", "\ud800", "layer=", "\u2028"])


@st.composite
def broken_specs(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SPECS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(marks) + text[start + draw(st.integers(0, 3)) :]
    return text


BROKEN = [
    "", " ", "(", ")", "1bertscore", "bertscore(", "bertscore)", "bertscore()x", "bertscore(layer)", "\ud800",
    "bertscore(layer=)", "bertscore(=5)", "bertscore(layer=5", "bertscore(layer=5 idf=no)", "bertscore(,)",
    "bertscore(layer=5,, idf=no)", "bertscore(layer=5, layer=6)", 'bertscore(idf="a)', 'bertscore(idf="a"b)',
    "bertscore(layer=5) x", "bertscore layer=5", "bertscore(4layer=5)", "bertscore(layer=(5))", "bertscore[layer=5]",
]  # fmt: skip
spaces = st.text(" \t\n", max_size=2)
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True)
bare_values = st.text(st.characters(exclude_categories=("Z", "Cc", "Cs"), exclude_characters=',()="\\'), min_size=1)


@st.composite
def good_specs(draw: st.DrawFn) -> tuple[str, str, dict[str, str]]:
    """A spec in any spelling that the grammar allows, the name and the options."""
    name = draw(names)
    options = draw(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True), any_text, max_size=4))
    written = []
    for key, value in options.items():
        quoted = '"' + "".join(f"\\{char}" if char in '\\"' else char for char in value) + '"'
        if draw(st.booleans()):
            quoted = value = options[key] = draw(bare_values)
        around = [draw(spaces) for _ in range(4)]
        written.append(f"{around[0]}{key}{around[1]}={around[2]}{quoted}{around[3]}")
    end = draw(st.sampled_from(["", ","])) if written else ""
    inner = f"({','.join(written)}{end}{draw(spaces)})" if written or draw(st.booleans()) else ""
    return f"{draw(spaces)}{name}{draw(spaces)}{inner}{draw(spaces)}", name, options


@fuzz
@given(good_specs())
def test_good_specs_are_read(good: tuple[str, str, dict[str, str]]) -> None:
    spec, name, options = good
    assert parse_spec(spec) == (name, options)


@pytest.mark.parametrize("spec", BROKEN)
def test_broken_specs_are_refused(spec: str) -> None:
    with pytest.raises(SpecError):
        parse_spec(spec)


@fuzz
@given(st.one_of(broken_specs(), any_text))
def test_specs(spec: str) -> None:
    try:
        name, options = parse_spec(spec)
    except SpecError:
        return
    assert parse_spec(format_spec(name, options)) == (name, options)


@fuzz
@given(st.dictionaries(st.from_regex(r"[a-z_]\w{0,5}", fullmatch=True), any_text, max_size=4))
def test_any_option_value_survives(options: dict[str, str]) -> None:
    assert parse_spec(format_spec("bertscore", options)) == ("bertscore", options)


@fuzz
@given(broken_specs())
def test_metrics_from_specs(spec: str) -> None:
    try:
        metric = evalign.metric(spec)
    except EvalignError:
        return
    assert evalign.metric(str(metric)) == metric


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "|" not in spec and '"' not in spec])
def test_good_specs_make_metrics(spec: str) -> None:
    assert str(evalign.metric(spec)) == spec


@pytest.mark.parametrize("layer", ["9" * 5000, "-1", "1e3", "2-", "x"])
def test_layers(layer: str) -> None:
    with pytest.raises(EvalignError):
        evalign.BERTScore(model="fake", layer=layer).score(["a"], ["b"])


@pytest.mark.parametrize("layer", ["", "0", "2", "1+2", 3, "٤"])
def test_layers_that_there_are(layer: str | int) -> None:
    assert np.isfinite(evalign.BERTScore(model="fake", layer=layer).score(["a"], ["b"]).score).all()


@fuzz
@given(st.one_of(any_text, st.lists(any_text).map("|".join)))
def test_signatures(text: str) -> None:
    try:
        signature = Signature.parse(text)
    except SpecError:
        return
    assert Signature.parse(str(signature)) == signature


@fuzz
@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), any_text, max_size=4))
def test_any_setting_survives_in_a_signature(said: dict[str, str]) -> None:
    signature = Signature("bertscore", said)
    assert Signature.parse(str(signature)) == signature
