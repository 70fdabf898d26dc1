"""Rows of a source to segments and totals: a row that cannot be scored fails alone; intervals over rows."""

import numpy as np
import pytest

import evalign
from evalign.analysis.scoring import RowBootstrap, score_source
from evalign.core import Row
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling, resample_weights


def test_a_row_without_references_fails_alone():
    rows = [Row(str(place), f"a cat {place}", (f"the cat {place}",)) for place in range(6)]
    rows.insert(3, Row("bare", "a cat"))
    segments = []
    (result,) = score_source(InMemory(rows), [evalign.metric("rouge1")], lambda _, segment: segments.append(segment))
    assert (result.n, result.failed) == (6, 1)
    assert [segment.id for segment in segments] == [row.id for row in rows]
    assert "needs references" in segments[3].error


def test_intervals_of_means_and_corpus_scores():
    chance = np.random.default_rng(3)
    words = np.array(["a", "b", "c", "d"])
    texts = [[" ".join(chance.choice(words, size=chance.integers(3, 9))) for _ in range(60)] for _ in range(2)]
    rows = [Row(str(place), own, (other,), system="s") for place, (own, other) in enumerate(zip(*texts, strict=True))]
    metrics = [evalign.metric("rouge1"), evalign.metric("bleu")]
    bootstrap = RowBootstrap(Resampling(400))
    rouge, bleu = results = score_source(InMemory(rows), metrics, bootstrap)
    bootstrap.finish(results, metrics)
    low, high = rouge.mean_intervals["f1"]
    values = metrics[0].score(*texts)["f1"]
    spread = 1.96 * values.std() / len(values) ** 0.5
    assert (low, high) == pytest.approx((values.mean() - spread, values.mean() + spread), abs=0.01)
    assert rouge.to_dict()["mean_intervals"]["f1"] == (low, high)
    report = metrics[1].score(*texts)
    low, high = bleu.intervals["score"]
    assert low < report.corpus("score") < high
    draw = next(iter(resample_weights(60, Resampling(400))))[0].astype(int)  # the same as scoring the drawn rows
    again = metrics[1].score(*(np.repeat(side, draw).tolist() for side in texts))
    statistics = np.array([segment.statistics for segment in report.segments])
    assert metrics[1].from_totals((draw @ statistics).tolist(), 60)["score"] == pytest.approx(again.corpus("score"))
