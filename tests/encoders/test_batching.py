"""No vector depends on its batch: plans cover every index, and order, batch mates and budget change nothing."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalign.encoders.base import pad, plan_batches
from evalign.errors import ModelError
from tiny_models import FAMILIES, SENTENCES, open_ort

TEXTS = [*SENTENCES, "a", "", " ".join(SENTENCES[:3]), "river " * 9, SENTENCES[0], "漢字 river"]


@given(lengths=st.lists(st.integers(0, 300), max_size=60), budget=st.integers(1, 2000))
def test_each_index_once_and_within_the_budget(lengths, budget):
    batches = plan_batches(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    rectangles = [len(batch) * max(lengths[i] for i in batch) for batch in batches if len(batch) > 1]
    assert all(cells <= budget for cells in rectangles)


@given(lengths=st.lists(st.integers(1, 99), min_size=1, max_size=40))
def test_lengths_never_rise_from_batch_to_batch(lengths):
    order = [lengths[index] for batch in plan_batches(lengths, 128) for index in batch]
    assert order == sorted(lengths, reverse=True)


def test_padding_is_marked_in_the_mask():
    ids, mask = pad([[5, 6, 7], [8]], pad_id=1)
    assert ids.tolist() == [[5, 6, 7], [8, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def assert_equal_vectors(ours, theirs, tolerance=1e-5):
    for one, other in zip(ours, theirs, strict=True):
        assert one.tokens.text == other.tokens.text
        np.testing.assert_allclose(one.vectors, other.vectors, rtol=0, atol=tolerance, err_msg=one.tokens.text)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("family", FAMILIES)
def test_order_mates_and_budget_change_no_vector(tiny, family, precision):
    plain = open_ort(tiny(family), precision=precision)
    alone = [plain.encode([text])[0] for text in TEXTS]
    order = random.Random(3).sample(range(len(TEXTS)), len(TEXTS))
    for budget in (1, 64, 1024):
        encoder = open_ort(tiny(family), precision=precision, token_budget=budget)
        assert_equal_vectors(encoder.encode(TEXTS), alone)
        shuffled = encoder.encode([TEXTS[place] for place in order])
        assert_equal_vectors(shuffled, [alone[place] for place in order])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_order_mates_and_budget_change_no_vector_of_minilm(minilm, real_pairs, precision):
    texts = [text for pair in real_pairs[:25] for text in pair]
    gold = open_ort(minilm, (4,), precision, token_budget=1).encode(texts)
    for budget in (64, 1024):
        ours = open_ort(minilm, (4,), precision, token_budget=budget).encode(texts)
        worst = max(np.abs(unit(a) - unit(b)).max() for a, b in zip(ours, gold, strict=True))
        assert worst <= 1e-5


def unit(embedded):
    return embedded.matrix / embedded.norms[0][:, None]


def test_equal_texts_are_run_once(tiny):
    encoder = open_ort(tiny("bert"))
    (tokens,) = encoder.tokenize([SENTENCES[0]])
    encoder.encode([SENTENCES[0]] * 5)
    assert encoder.real_tokens == encoder.padded_tokens == len(tokens)


def test_no_texts_give_no_vectors(tiny):
    assert open_ort(tiny("bert")).encode([]) == []
    assert open_ort(tiny("bert")).encode([], pad_to=5) == []


def test_vectors_that_are_no_numbers_are_refused(tiny, monkeypatch):
    encoder = open_ort(tiny("bert"), (2,))
    forward = encoder.forward
    monkeypatch.setattr(
        encoder, "forward", lambda ids, mask: np.where(ids[None, :, :, None] > 5, np.nan, forward(ids, mask))
    )
    with pytest.raises(ModelError, match="NaN or infinite"):
        encoder.encode(["the river runs"])
