"""Alignments: their parts add up to the scores, and their offsets point into the texts."""

import json

import numpy as np
import pytest

import evalign
from evalign.core import Alignment, Tokens
from evalign.errors import TextTooLongError
from evalign.matching.base import MatchResult, cell_values
from tiny_models import SENTENCES

PAIRS = [
    (SENTENCES[0], SENTENCES[1]),
    ("the river", "the river"),
    ("a", SENTENCES[4]),
    ("漢字 river", "ж river"),
    (" ".join(SENTENCES) * 2, "the river"),
]


def metric(tiny, family="bert", **options):
    return evalign.BERTScore(model=str(tiny(family)), **{"layer": "2", **options})


@pytest.mark.parametrize("options", [{}, {"specials": "drop"}, {"idf": "references"}, {"layer": "1+3"}], ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_shares_sum_to_precision_and_recall(tiny, family, pair, options):
    alignment = metric(tiny, family, **options).align(*pair)
    np.testing.assert_allclose(alignment.candidate_values, alignment.similarity.max(axis=1))
    np.testing.assert_allclose(alignment.reference_values, alignment.similarity.max(axis=0))
    assert alignment.precision_shares.sum() == pytest.approx(alignment.scores["precision"], abs=1e-6)
    assert alignment.recall_shares.sum() == pytest.approx(alignment.scores["recall"], abs=1e-6)
    assert alignment.similarity.shape == (len(alignment.candidate), len(alignment.reference))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
def test_an_alignment_has_the_scores_flags_and_signature_of_its_row(tiny, pair):
    alignment, report = metric(tiny).align(*pair), metric(tiny).score([pair[0]], [pair[1]])
    (segment,) = report.segments
    assert alignment.scores == pytest.approx(segment.scores, abs=1e-6)
    assert alignment.signature == report.signature
    assert alignment.flags == segment.flags
    assert alignment.counts == segment.counts


@pytest.mark.parametrize("specials", ["keep", "drop"])
@pytest.mark.parametrize("pair", [("", "the river"), ("the river", " "), ("", "")])
def test_empty_texts_align_to_nothing(tiny, pair, specials):
    alignment = metric(tiny, specials=specials).align(*pair)
    assert alignment.scores == {"precision": 0, "recall": 0, "f1": 0}
    assert alignment.flags == ("empty",)
    for shares in (alignment.precision_shares, alignment.recall_shares):
        assert np.isfinite(shares).all()
        assert shares.sum() == pytest.approx(0)
    json.dumps(alignment.to_dict(), allow_nan=False)


def test_a_rescaled_alignment_keeps_raw_shares(tiny, tmp_path):
    (tmp_path / "base.csv").write_text("LAYER,P,R,F\n2,0.5,0.5,0.5\n")
    plain, scaled = metric(tiny).align(*PAIRS[0]), metric(tiny, rescale=str(tmp_path / "base.csv")).align(*PAIRS[0])
    for field, value in plain.scores.items():
        assert scaled.scores[field] == pytest.approx((value - 0.5) / 0.5)
    np.testing.assert_array_equal(plain.precision_shares, scaled.precision_shares)


def test_to_dict_is_plain_json(tiny):
    plain = metric(tiny).align("  The river", "the fields").to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    side = plain["candidate"]
    words = [side["text"][start:stop] for (start, stop), special in zip(side["offsets"], side["special"], strict=True)
             if not special]  # fmt: skip
    assert "".join(words) == "Theriver"
    [greedy] = plain["matchings"]
    assert len(side["pieces"]) == len(side["weights"]) == len(greedy["candidate_values"])
    assert len(greedy["candidate_partners"]) == len(side["words"]) == len(side["pieces"])


def tokens(count):
    return Tokens("x" * count, ("x",) * count, np.arange(count), np.zeros((count, 2), int), np.zeros(count, bool))


def test_partners_and_unmatched_tokens_by_hand():
    similarity = np.array([[0.9, 0.2, 0.1], [0.8, 0.3, 0.1], [-0.5, -0.4, -0.6]])
    cells = np.array([[0, 0], [0, 2], [1, 0], [1, 1], [2, 1]])
    selected = np.zeros((3, 3), dtype=bool)
    selected[tuple(cells.T)] = True
    result = MatchResult(similarity, *cell_values(similarity, selected), lambda: selected)
    alignment = Alignment(
        tokens(3), tokens(3), similarity, np.ones(3), np.array([2.0, 1, 1]), result.candidate_values,
        result.reference_values, result.candidate_partners, result.reference_partners, cells, "greedy", {}, "signature"
    )  # fmt: skip
    assert alignment.candidate_values.tolist() == [0.9, 0.8, -0.4]
    assert alignment.reference_values.tolist() == [0.9, 0.3, 0.1]
    assert alignment.candidate_partners.tolist() == [0, 0, 1]
    assert alignment.reference_partners.tolist() == [0, 1, 0]
    assert alignment.unmatched_candidate == (2,)
    assert alignment.unmatched_reference == (2,)
    np.testing.assert_allclose(alignment.recall_shares, [0.45, 0.075, 0.025])


def test_a_matrix_too_large_to_draw_is_refused(tiny, monkeypatch):
    import evalign.metrics.token_metric as module

    monkeypatch.setattr(module, "MAX_ALIGNMENT_CELLS", 20)
    with pytest.raises(TextTooLongError, match="too many to show"):
        metric(tiny).align(*PAIRS[0])
    assert np.isfinite(metric(tiny).score([PAIRS[0][0]], [PAIRS[0][1]])["f1"]).all()
