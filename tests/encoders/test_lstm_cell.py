"""The LSTM cell written gate by gate is torch's own: states, gradients, packed batches; and numpy gives the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'evalign[torch]'")

from evalign.research.lstm.encoder import GATES, CellWeights, pooled, states, step, steps  # noqa: E402

WIDTH, SIZE = 7, 5
TORCH_ORDER = ("input", "forget", "candidate", "output")
LENGTHS = ((4,), (3, 9, 1, 6, 9, 2), (12, 1, 1), (1, 1), (40, 3, 17))


def torch_lstm(seed=0):
    """torch's bidirectional LSTM with random weights, biases included."""
    torch.manual_seed(seed)
    return torch.nn.LSTM(WIDTH, SIZE, batch_first=True, bidirectional=True)


def own_weights(lstm):
    """Its weights in our order: columns by gate, one bias."""

    def gates(name):
        blocks = [getattr(lstm, name + way).chunk(4, dim=0) for way in ("", "_reverse")]
        picked = [[some[TORCH_ORDER.index(gate)] for gate in GATES] for some in blocks]
        return torch.stack([torch.cat(some, dim=0) for some in picked])

    from_word, from_hidden = (gates(name).transpose(1, 2) for name in ("weight_ih_l0", "weight_hh_l0"))
    return CellWeights(from_word, from_hidden, gates("bias_ih_l0") + gates("bias_hh_l0"))


def batch(lengths, seed=1):
    """Padded word vectors; the padding is not 0, so that reading it would show."""
    torch.manual_seed(seed)
    return torch.randn(len(lengths), max(lengths), WIDTH), torch.tensor(lengths)


def packed(lstm, words, lengths):
    rows = torch.nn.utils.rnn.pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
    return torch.nn.utils.rnn.pad_packed_sequence(lstm(rows)[0], batch_first=True)[0]


def real(lengths):
    return (torch.arange(int(lengths.max())) < lengths[:, None])[..., None]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_states_equal_torch(lengths):
    lstm, (words, lengths) = torch_lstm(), batch(lengths)
    ours, theirs = states(words, lengths, own_weights(lstm)), packed(lstm, words, lengths)
    assert (ours - theirs).where(real(lengths), 0).abs().max() < 1e-6


def test_a_batch_of_one_length_equals_torch_without_packing():
    lstm, (words, lengths) = torch_lstm(), batch((6, 6, 6))
    assert (states(words, lengths, own_weights(lstm)) - lstm(words)[0]).abs().max() < 1e-6


@pytest.mark.parametrize("lengths", LENGTHS)
def test_gradients_equal_torch(lengths):
    """Of a random sum of all states, by every weight and by the words."""
    lstm, (words, lengths) = torch_lstm(), batch(lengths)
    words.requires_grad_()
    found = []
    for run in (lambda: states(words, lengths, own_weights(lstm)), lambda: packed(lstm, words, lengths)):
        torch.manual_seed(2)
        shares = torch.randn(len(lengths), int(lengths.max()), 2 * SIZE)
        total = (run() * shares).where(real(lengths), 0).sum()
        found.append(torch.autograd.grad(total, [words, *lstm.parameters()]))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_numpy_equals_torch(lengths):
    weights, (words, lengths) = own_weights(torch_lstm()), batch(lengths)
    plain = CellWeights(*(one.detach().numpy() for one in (weights.from_word, weights.from_hidden, weights.bias)))
    ours = states(words.numpy(), lengths.numpy(), plain)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, states(words, lengths, weights).detach().numpy(), atol=1e-6)
    for pooling in ("mean", "max"):
        own, theirs = pooled(ours, lengths.numpy(), pooling), pooled(torch.from_numpy(ours), lengths, pooling)
        np.testing.assert_allclose(own, theirs.numpy(), atol=1e-6)
        by_hand = [getattr(one[:length], pooling)(axis=0) for one, length in zip(ours, lengths.tolist(), strict=True)]
        np.testing.assert_allclose(own, np.stack(by_hand), atol=1e-6)


def test_one_step_by_hand():
    """A cell of size 1 reading the number 2, with h = 0.5 and c = -1."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    weights = CellWeights(
        np.array([[[0.1, -0.2, 0.3, 0.4]]] * 2),
        np.array([[[0.5, 0.6, -0.7, 0.8]]] * 2),
        np.array([[1.0, 0, 0, -1]] * 2),
    )
    read = step(np.full((2, 1, 1), 2.0), np.full((2, 1, 1), 0.5), np.full((2, 1, 1), -1.0), weights)
    forget, write, output = sigmoid(0.2 + 0.25 + 1), sigmoid(-0.4 + 0.3), sigmoid(0.6 - 0.35)
    candidate = np.tanh(0.8 + 0.4 - 1)
    cell = forget * -1 + write * candidate
    expected = (forget, write, output, candidate, cell, output * np.tanh(cell))
    got = (read.forget, read.input, read.output, read.candidate, read.cell, read.hidden)
    np.testing.assert_allclose([one[0, 0, 0] for one in got], expected, atol=1e-12)


def test_a_text_without_words_is_zero_and_does_no_harm():
    weights, (words, _) = own_weights(torch_lstm()), batch((3, 3))
    for pooling in ("mean", "max"):
        for lengths in (torch.tensor([0, 3]), torch.tensor([3, 0])):
            found = pooled(states(words, lengths, weights), lengths, pooling)
            assert (found[lengths == 0] == 0).all()
            alone = pooled(states(words[lengths > 0], lengths[lengths > 0], weights), lengths[lengths > 0], pooling)
            assert (found[lengths > 0] - alone).abs().max() < 1e-6


def test_large_numbers_stay_finite():
    weights = CellWeights(np.full((2, 1, 4), 1e4), np.full((2, 1, 4), -1e4), np.zeros((2, 4)))
    with np.errstate(all="raise"):
        for read in steps(np.full((1, 5, 1), -1e4), np.array([5]), weights):
            assert np.isfinite(read.hidden).all()
            assert (read.forget >= 0).all()
            assert (read.forget <= 1).all()
