"""Paired tests of systems against sacrebleu's own, on real translations with sacrebleu's own statistics."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from evalign.errors import InputError, LengthMismatchError
from evalign.stats.bootstrap import Resampling
from evalign.stats.system_tests import approximate_randomisation, paired_bootstrap
from own_texts import own_systems
from shared_files import shared_rows

PICKED = [(0, 1), (2, 3), (4, 5)]  # three pairs of the seven systems


@pytest.fixture(scope="module")
def translations():
    """Seven systems' translations of the same Kazakh sentences, and the references; else systems of our own."""
    rows = shared_rows("wmt19_darr_kk-en")
    if rows is None:
        return own_systems([0.25, 0.26, 0.3, 0.33, 0.4, 0.5, 0.6], count=200)
    outputs: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        for side in ("better", "worse"):
            outputs[row["references"][0]][row[f"{side}_system"]] = row[side]
    full = [(text, by_system) for text, by_system in outputs.items() if len(by_system) == 7][:200]
    return [[by_system[name] for _, by_system in full] for name in sorted(full[0][1])], [text for text, _ in full]


METRICS = {"BLEU": BLEU, "chrF2": CHRF}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("pair", PICKED)
def test_p_values_are_sacrebleus(translations, name, pair):
    """Same data, other random numbers: equal within four standard errors of two Monte-Carlo estimates."""
    systems, references = translations
    first, second = (systems[k] for k in pair)
    for kind, ours, samples in (("bs", paired_bootstrap, 1000), ("ar", approximate_randomisation, 2000)):
        metric = METRICS[name](references=[references])
        _, scores = PairedTest([("a", first), ("b", second)], {name: metric}, None, kind, samples)()
        theirs = scores[name][1]
        tables = [metric._extract_corpus_statistics(outputs, None) for outputs in (first, second)]
        found = ours(
            *tables, lambda totals, _, m=metric: m._compute_score_from_stats(list(totals)).score, Resampling(samples)
        )
        assert found.baseline.value == pytest.approx(scores[name][0].score)
        assert found.system.value == pytest.approx(theirs.score)
        error = max(2 * theirs.p_value * (1 - theirs.p_value) / samples, 2 / samples**2) ** 0.5
        assert found.p_value == pytest.approx(theirs.p_value, abs=4 * error), kind
        if kind == "bs":
            assert (found.system.high - found.system.low) / 2 == pytest.approx(theirs.ci, rel=0.15)


def test_means_are_the_default():
    rng = np.random.default_rng(1)
    scores = rng.random(300)
    better = np.clip(scores + 0.02 + 0.01 * rng.normal(size=300), 0, 1)
    for test in (paired_bootstrap, approximate_randomisation):
        found = test(scores, better, resampling=Resampling(samples=500))
        assert found.baseline.value == pytest.approx(scores.mean())
        assert found.difference.value == pytest.approx(better.mean() - scores.mean())
        assert found.p_value == pytest.approx(1 / 501)
        assert test(better, scores, resampling=Resampling(samples=500)).p_value == found.p_value
    assert paired_bootstrap(scores, better).difference.low > 0


def test_equal_systems():
    """A system against itself: no difference is larger than none, so p is 1 / (n + 1), which is sacrebleu's way."""
    scores = np.random.default_rng(2).random(50)
    assert approximate_randomisation(scores, scores, resampling=Resampling(samples=99)).p_value == 0.01


def test_the_level_holds_when_systems_are_equal():
    """Approximate randomisation: 5% of 200 pairs of equal systems come out below 0.05."""
    rng = np.random.default_rng(3)
    tests = [approximate_randomisation(*rng.normal(size=(2, 50)), resampling=Resampling(samples=199))
             for _ in range(200)]  # fmt: skip
    assert 0.02 <= np.mean([test.p_value < 0.05 for test in tests]) <= 0.09


def test_bad_statistics():
    for first, second, error, message in (
        ([1.0, 2], [1.0], LengthMismatchError, "same segments"),
        ([[1.0, 2]], [[1.0]], LengthMismatchError, "same segments"),
        ([1.0, float("nan")], [1.0, 2], InputError, "baseline must be finite"),
        ([], [], InputError, "at least one"),
        ([[[1.0]]], [[[1.0]]], InputError, "shape"),
    ):
        with pytest.raises(error, match=message):
            paired_bootstrap(first, second)
