"""Over-long text: the plan of windows, and what `encode` makes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalign.encoders.base import plan_windows
from evalign.errors import ModelError, TextTooLongError
from tiny_models import FAMILIES, SENTENCES, open_ort

LONG = " ".join(SENTENCES)


def context(window, token, count):
    """Tokens between this one and the nearest edge of its window that is not an end of the text."""
    before = count if window.start == 0 else token - window.start
    after = count if window.stop == count else window.stop - 1 - token
    return min(before, after)


@given(count=st.integers(0, 600), room=st.integers(1, 130))
def test_every_token_is_kept_once_within_room_and_where_it_has_most_context(count, room):
    windows = plan_windows(count, room, "window")
    kept = [token for window in windows for token in range(window.keep_start, window.keep_stop)]
    assert kept == list(range(count))
    for window in windows:
        assert window.stop - window.start <= room
        assert window.start <= window.keep_start <= window.keep_stop <= window.stop
        for token in range(window.keep_start, window.keep_stop):
            reach = [context(other, token, count) for other in windows if other.start <= token < other.stop]
            assert context(window, token, count) == max(reach), (token, window)


@given(count=st.integers(0, 40), room=st.integers(40, 60), policy=st.sampled_from(["window", "truncate", "error"]))
def test_a_text_that_fits_is_one_window_in_every_policy(count, room, policy):
    (window,) = plan_windows(count, room, policy)
    assert (window.start, window.stop, window.keep_start, window.keep_stop) == (0, count, 0, count)


@pytest.mark.parametrize("family", FAMILIES)
def test_windowed_vectors_are_those_of_the_windows_encoded_by_hand(tiny, family):
    whole = open_ort(tiny(family), max_length=32)
    (encoded,) = whole.encode([LONG])
    ids = whole.tokenizer([LONG])[0].ids.tolist()
    own, parts = ids[1:-1], []
    windows = plan_windows(len(own), 30, "window")
    for window in windows:
        batch = np.array([[ids[0], *own[window.start : window.stop], ids[-1]]])
        vectors = whole.forward(batch, np.ones_like(batch))[:, 0]
        first = 0 if window is windows[0] else 1 + window.keep_start - window.start
        last = vectors.shape[1] if window is windows[-1] else 1 + window.keep_stop - window.start
        parts.append(vectors[:, first:last])
    assert len(windows) > 5
    assert encoded.tokens.ids.tolist() == ids
    assert encoded.tokens.counts == {"windowed": len(windows)}
    np.testing.assert_allclose(encoded.vectors, np.concatenate(parts, axis=1), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "albert"])
def test_truncate_drops_the_end_and_counts_it(tiny, family):
    encoder = open_ort(tiny(family), max_length=32, overlong="truncate")
    (encoded,) = encoder.encode([LONG])
    ids = encoder.tokenizer([LONG])[0].ids.tolist()
    assert encoded.tokens.ids.tolist() == [*ids[:31], ids[-1]]
    assert encoded.tokens.counts["truncated"] == len(ids) - 32
    assert encoded.tokens.special.tolist() == [True, *[False] * 30, True]
    batch = encoded.tokens.ids[None]
    np.testing.assert_allclose(encoded.vectors, encoder.forward(batch, np.ones_like(batch))[:, 0], atol=1e-5)


def test_error_raises_and_says_what_to_do(tiny):
    encoder = open_ort(tiny("bert"), max_length=32, overlong="error")
    assert encoder.encode(["short"])
    with pytest.raises(TextTooLongError, match=r"\d+ tokens and the model reads 30; .*overlong=window"):
        encoder.encode(["short", LONG])


def test_a_text_of_exactly_the_limit_is_read_whole(tiny):
    for overlong in ("window", "truncate", "error"):
        encoder = open_ort(tiny("bert"), max_length=32, overlong=overlong)
        assert encoder.tokenize(["a " * 30])[0].counts == {}
        assert len(encoder.encode(["a " * 30])[0].tokens) == 32


def test_a_limit_without_room_is_refused(tiny):
    assert len(open_ort(tiny("bert"), max_length=3).encode(["a b c"])[0].tokens) == 5
    with pytest.raises(ModelError, match="max_length=2 leaves no room"):
        open_ort(tiny("bert"), max_length=2)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_pad_to_returns_padding_vectors_and_leaves_the_others_as_they_are(tiny, family):
    encoder = open_ort(tiny(family))
    texts = [SENTENCES[1], "a", SENTENCES[1]]
    for plain, padded in zip(encoder.encode(texts), encoder.encode(texts, pad_to=60), strict=True):
        real = len(plain.tokens)
        assert len(padded.tokens) == 60
        assert padded.vectors.shape[1] == 60
        assert padded.tokens.special[real:].all()
        assert set(padded.tokens.ids[real:].tolist()) == {encoder.pad_id}
        assert padded.tokens.pieces[-1] in ("[PAD]", "<pad>")
        np.testing.assert_allclose(padded.vectors[:, :real], plain.vectors, atol=1e-5)
        assert np.abs(padded.vectors[:, real:]).max() > 0


@pytest.mark.parametrize("width", [2, 161])
def test_pad_to_outside_text_and_model_is_refused(tiny, width):
    with pytest.raises(ValueError, match=f"pad_to={width} must lie between"):
        open_ort(tiny("bert")).encode([SENTENCES[0]], pad_to=width)
