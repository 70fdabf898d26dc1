"""Fitted baselines: unrelated pairs, the numbers, both files, and what bert_score makes of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import evalign
from evalign.errors import InputError, SpecError, TableError
from evalign.metrics.baseline import Baseline, shipped
from evalign.training.baselines import fit_baseline, unrelated_rows

FIRST, SECOND, THIRD = ("river", "stone", "cloud", "bread", "seven", "run"), ("green", "over", "music", "never"), "xyz"
TEXTS = [f"{a} {b} {c}" for a in FIRST for b in SECOND for c in THIRD]


@pytest.mark.parametrize(("texts", "pairs"), [(2, 1), (2, 50), (33, 40), (65, 65), (72, 500), (40, 7)])
def test_unrelated_pairs_never_meet_themselves(texts, pairs):
    rows = list(unrelated_rows(TEXTS[:texts], pairs, seed=3))
    assert len(rows) == min(pairs, len(rows))
    assert len(rows) == pairs or len(rows) == texts * min(texts - 1, 32, -(-pairs // texts))
    assert all(row.candidate != row.references[0] for row in rows)
    assert len({(row.candidate, row.references[0]) for row in rows}) == len(rows)
    assert rows == list(unrelated_rows(TEXTS[:texts], pairs, seed=3))
    if texts > 2:
        assert rows != list(unrelated_rows(TEXTS[:texts], pairs, seed=4))


def test_the_baseline_is_the_mean_of_the_metric_over_the_pairs(tmp_path):
    metric = evalign.BERTScore(model="fake", specials="drop")
    fitted = fit_baseline(metric, TEXTS, pairs=100, seed=1, more_choices=["1+2"])
    rows = list(unrelated_rows(sorted(set(TEXTS)), 100, 1))
    for layer in ("0", "2", "1+2"):
        report = replace(metric, layer=layer).score(
            [row.candidate for row in rows], [row.references[0] for row in rows]
        )
        assert fitted.by_layer[layer] == pytest.approx([report.mean(name) for name in report.fields], abs=1e-6)
        assert fitted.quantiles[layer][2][25] == pytest.approx(np.median(report["f1"]), abs=1e-4)
    fitted.save(tmp_path / "base.tsv")
    again = Baseline.load(tmp_path / "base.tsv")
    assert again.provenance == json.loads(json.dumps(fitted.provenance))
    assert again.quantiles == fitted.quantiles
    scaled = replace(metric, layer="2", rescale=str(tmp_path / "base.tsv"))
    report = scaled.score([row.candidate for row in rows], [row.references[0] for row in rows])
    assert abs(report.mean("f1")) < 0.01
    shares = replace(scaled, scale="percentile").score(
        [row.candidate for row in rows], [row.references[0] for row in rows]
    )
    assert shares.mean("f1") == pytest.approx(0.5, abs=0.02)
    assert ((shares["f1"] >= 0) & (shares["f1"] <= 1)).all()
    assert "base:" + again.digest + "|" in report.signature
    assert f"base:{again.digest}+{again.quantiles_digest},percentile" in shares.signature


def test_other_distributions_are_another_signature_on_the_percentile_scale(tmp_path):
    fitted = fit_baseline(evalign.BERTScore(model="fake"), TEXTS, pairs=40)
    signatures = set()
    for number, shift in enumerate((0.0, 0.01)):
        quantiles = {
            layer: tuple(tuple(value + shift for value in points) for points in fields)
            for layer, fields in fitted.quantiles.items()
        }
        replace(fitted, quantiles=quantiles).save(tmp_path / f"base{number}.tsv")
        metric = evalign.BERTScore(model="fake", rescale=str(tmp_path / f"base{number}.tsv"), scale="percentile")
        signatures.add(metric.scorer().signature["base"])
    assert len(signatures) == 2


def test_bert_score_reads_the_same_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    fitted = fit_baseline(evalign.BERTScore(model="fake"), TEXTS, pairs=40, more_choices=["1+2"])
    fitted.save(tmp_path / "base.tsv")
    table = pandas.read_csv(tmp_path / "base.tsv")
    for layer in range(3):  # bert_score takes the row at the layer's position
        theirs = table.iloc[layer].to_numpy()[1:].astype(float)
        assert theirs == pytest.approx(fitted.by_layer[str(layer)], abs=1e-6)


@pytest.mark.parametrize(
    ("texts", "metric", "error", "said"),
    [
        (["one"], {}, InputError, "at least 2 different texts"),
        (["same", "same", " "], {}, InputError, "at least 2 different texts"),
        (TEXTS, {"idf": "references"}, SpecError, "leave out rescale and idf"),
    ],
)
def test_what_cannot_be_fitted(texts, metric, error, said):
    with pytest.raises(error, match=said):
        fit_baseline(evalign.BERTScore(model="fake", **metric), texts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda notes: notes | {"format": "other"}, "format 'other'"),
        (lambda notes: notes | {"format": "x" * 10_000}, "format 'x{79}, expected"),
        (lambda notes: notes | {"table_sha256": "0"}, "another table"),
        (lambda notes: notes | {"quantiles": {"0": [[0, 1], [1, 0], [0, 1]]}}, "rising"),
        (lambda notes: notes | {"quantiles": {"0": [[0, 1]]}}, "rising"),
        (lambda notes: notes | {"quantiles": 5}, "not what evalign fit baseline writes"),
        (
            lambda notes: notes | {"quantiles": {"0": ["x" * 10_000]}},
            "not what .* writes \\(could not convert .{,180}\\)$",
        ),
        (lambda notes: [], "not what evalign fit baseline writes"),
    ],
)
def test_damaged_notes(tmp_path, change, said):
    fit_baseline(evalign.BERTScore(model="fake"), TEXTS, pairs=10).save(tmp_path / "base.tsv")
    notes = tmp_path / "base.json"
    notes.write_text(json.dumps(change(json.loads(notes.read_text()))))
    with pytest.raises(TableError, match=said):
        Baseline.load(tmp_path / "base.tsv")


@pytest.mark.parametrize("model", ["x" * 10_000, "a\nb", [[[]]]], ids=["long", "line end", "nested"])
def test_a_baseline_of_a_strange_model_is_one_short_sentence(tmp_path, model):
    fit_baseline(evalign.BERTScore(model="fake"), TEXTS, pairs=10).save(tmp_path / "base.tsv")
    notes = json.loads((tmp_path / "base.json").read_text())
    notes["provenance"]["model"] = model
    (tmp_path / "base.json").write_text(json.dumps(notes))
    with pytest.raises(TableError, match=r"^this baseline was fitted with model .{3,80}, not \S+: evalign fit"):
        evalign.BERTScore(model="fake", rescale=str(tmp_path / "base.tsv")).scorer()


def test_percentiles_need_a_distribution(tmp_path):
    (tmp_path / "plain.tsv").write_text("LAYER,P,R,F\n0,.1,.1,.1\n")
    with pytest.raises(TableError, match="no distribution for layer 0"):
        evalign.BERTScore(model="fake", layer="0", rescale=str(tmp_path / "plain.tsv"), scale="percentile").scorer()


def test_unrelated_text_is_near_zero_out_of_the_box(minilm):
    """Sentences written for this test, none of them about what another is about."""
    texts = [
        "The harbour was closed because of the storm.",
        "Her brother plays the trumpet in a small band.",
        "Boil the potatoes until they are soft.",
        "The committee will publish its report in June.",
        "Two hikers found an old coin near the river.",
        "This printer does not accept thicker paper.",
    ]
    metric = evalign.metric("bertscore(rescale=true)")
    pairs = [(one, other) for one in texts for other in texts if one != other]
    unrelated = metric.score([one for one, _ in pairs], [other for _, other in pairs])
    assert abs(unrelated.mean("f1")) < 0.1
    assert metric.score(texts, texts)["f1"] == pytest.approx(1, abs=1e-5)
    back = evalign.metric(unrelated.signature)
    assert (back.rescale, back.scale) == (True, "linear")


def test_every_shipped_baseline_says_where_it_comes_from():
    assert {key[0].partition("@")[0] for key in shipped()} == {"all-MiniLM-L6-v2", "all-mpnet-base-v2"}
    for (model, match, specials), baseline in shipped().items():
        assert match in ("greedy", "exact")
        assert specials in ("keep", "drop")
        assert len(baseline.by_layer) == (11 if "MiniLM" in model else 17)
        assert baseline.provenance["pairs"] >= 2000
        assert baseline.provenance["about"]
        assert set(baseline.quantiles) == set(baseline.by_layer)


def test_what_does_not_ship_is_said(minilm):
    with pytest.raises(TableError, match="evalign fit baseline"):
        evalign.metric("lisascore(method=row-mask, rescale=true)").scorer()


def test_a_baseline_is_for_the_matching_it_was_fitted_with(tmp_path):
    texts = [f"{word} {place}" for word in ("red", "green", "blue") for place in range(6)]
    fit_baseline(evalign.BERTScore(model="fake"), texts, pairs=30, more_choices=["2+1"]).save(tmp_path / "b.tsv")
    used = {"model": "fake", "rescale": str(tmp_path / "b.tsv")}
    assert evalign.BERTScore(layer="1+2", **used).score(["red 1"], ["red 1"])["f1"] == pytest.approx(1)
    with pytest.raises(TableError, match="fitted with match greedy, not exact"):
        evalign.LiSAScore(**used).scorer()
    with pytest.raises(TableError, match="fitted with specials keep, not drop"):
        evalign.BERTScore(specials="drop", **used).scorer()
