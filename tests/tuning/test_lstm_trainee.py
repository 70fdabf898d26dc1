"""The LSTM as something to train: deterministic, equal to what is scored, and it learns."""

import json
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="pip install 'evalign[torch]'")

import evalign  # noqa: E402
from evalign.errors import EvalignError, InputError, SpecError, UnsupportedModelError  # noqa: E402
from evalign.research.lstm.encoder import load_lstm  # noqa: E402
from evalign.research.lstm.trainee import (  # noqa: E402
    LSTMSettings,
    LSTMTrainee,
    model_start,
)
from evalign.training.plan import TrainingPlan  # noqa: E402
from evalign.training.rated_pairs import RatedPair  # noqa: E402
from evalign.training.trainee import load_state  # noqa: E402
from evalign.training.training_loop import fit  # noqa: E402

SMALL = LSTMSettings(width=12, size=8, buckets=64, start="random", dropout=0.1)
THEMES = {
    "music": ["violin", "guitar", "melody", "concert", "singer", "piano"],
    "weather": ["rain", "snow", "storm", "cloud", "wind", "thunder"],
    "kitchen": ["onion", "bread", "cook", "oven", "recipe", "butter"],
}
HOSTILE = ["", "  \n", "word " * 2_000, "👍🏽 🏳️‍🌈", "a \ud800 lone\udfff surrogate", "\x00\x1b[31m", "x" * 10_000, "?!"]


def toy_pairs(count, seed):
    """Pairs about one theme are similar, of two themes unlike; frames of words that say nothing around them."""
    draw = random.Random(seed)

    def text(theme):
        return f"the {draw.choice(THEMES[theme])} and a {draw.choice(THEMES[theme])} of {draw.choice(['today', 'us'])}"

    pairs = []
    for number in range(count):
        one, other = draw.sample(sorted(THEMES), 2)
        same = number % 2 == 0
        pairs.append(RatedPair(text(one), text(one if same else other), float(same), str(number)))
    return pairs


def texts_of(pairs):
    return [text for pair in pairs for text in (pair.first, pair.second)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A cell trained on toy pairs with the loop that `evalign train` uses."""
    folder, pairs = tmp_path_factory.mktemp("toy"), toy_pairs(80, seed=1)
    trainee = LSTMTrainee(texts_of(pairs), SMALL)
    result = fit(trainee, pairs, TrainingPlan("cosine-mse", 12, 16, 2e-2, dev=0.0, threads=1), folder / "run")
    trainee.save(folder)
    return trainee, result, folder


def test_it_learns(trained):
    _, result, folder = trained
    assert result.epochs[-1].loss < 0.3 * result.epochs[1].loss
    before = LSTMTrainee(texts_of(toy_pairs(80, seed=1)), SMALL)
    before.save(folder / "before.safetensors")
    assert right_order(folder) > 0.95
    assert right_order(folder / "before.safetensors") < 0.8, "so it was the training that taught it"


def right_order(file):
    """How often an unseen similar pair scores above an unseen unlike one."""
    pairs = toy_pairs(60, seed=2)
    scores = evalign.LSTM(file=str(file)).score([one.first for one in pairs], [one.second for one in pairs])["score"]
    similar = np.array([one.similarity for one in pairs]) > 0
    return (scores[similar][:, None] > scores[~similar][None]).mean()


def test_scoring_without_torch_equals_the_trained_module(trained):
    trainee, _, folder = trained
    texts = [*texts_of(toy_pairs(20, seed=3)), "unheard words 2026", "one"]
    trainee.train(False)
    with torch.no_grad():
        vectors = trainee.vectors(texts).double()
    expected = torch.cosine_similarity(vectors[:-1], vectors[1:]).numpy()
    found = evalign.LSTM(file=str(folder)).score(texts[:-1], texts[1:])["score"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_same_seed_gives_the_same_bits(trained, tmp_path):
    pairs = toy_pairs(30, seed=4)
    states = []
    for place, order in enumerate((pairs, pairs[::-1], pairs)):
        settings = SMALL if place < 2 else LSTMSettings(**{**SMALL.__dict__, "seed": 7})
        trainee = LSTMTrainee(texts_of(order), settings)
        fit(trainee, pairs, TrainingPlan("cosent", 2, 8, 1e-2, dev=0.0, threads=1), tmp_path / str(place))
        states.append((trainee.name, {name: one.detach().clone() for name, one in trainee.state().items()}))
    (name, one), (same_name, same), (other_name, other) = states
    assert name == same_name
    assert name != other_name
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not torch.equal(one["from_word"], other["from_word"])


def test_state_is_all_that_training_changes(trained):
    trainee, _, _ = trained
    fresh = LSTMTrainee(texts_of(toy_pairs(80, seed=1)), SMALL)
    assert {"table", "from_word", "from_hidden", "bias"} == set(fresh.state())
    load_state(fresh, trainee.state())
    text = ["a violin and the storm"]
    for one in (fresh, trainee):
        one.train(False)
    assert torch.equal(fresh.vectors(text), trainee.vectors(text))


def test_dropout_only_in_training():
    trainee = LSTMTrainee(["the rain", "the snow", "the wind"], SMALL)
    trainee.train(True)
    assert not torch.equal(trainee.vectors(["the rain"]), trainee.vectors(["the rain"]))
    trainee.train(False)
    assert torch.equal(trainee.vectors(["the rain"]), trainee.vectors(["the rain"]))


def test_any_text_can_be_trained_on():
    trainee = LSTMTrainee(HOSTILE, SMALL)
    found = trainee.vectors(HOSTILE)
    assert torch.isfinite(found).all()
    assert (found[0] == 0).all()
    found.sum().backward()
    assert all(torch.isfinite(one.grad).all() for one in trainee.parameters())


@pytest.mark.slow
def test_a_models_word_vectors_as_a_start(minilm, tmp_path):
    """The cell is trained and the word vectors stay; a synonym that no training text has is near from the start."""
    settings = LSTMSettings(width=64, size=8, buckets=256, start="minilm")
    trainee = LSTMTrainee(["the doctor came", "a physician"], settings)
    assert set(trainee.state()) == {"from_word", "from_hidden", "bias"}
    table = trainee.table.numpy()

    def cosine(one, other):
        a, b = (table[list(trainee.words.rows(word))].mean(axis=0) for word in (one, other))
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine("lawyer", "attorney") > 0.6 > 0.3 > cosine("lawyer", "banana")
    trainee.save(tmp_path)
    model, _ = load_lstm(tmp_path)
    assert model.training["start"] == "all-MiniLM-L6-v2@40bc2228"
    assert model.training["texts"] == 2
    assert json.dumps(model.training)


def test_word_vectors_that_are_learned_too(tiny):
    settings = LSTMSettings(width=8, size=4, buckets=16, start=str(tiny("bert")), learn_words=True)
    trainee = LSTMTrainee(["the cat sat"], settings)
    trainee.vectors(["the cat"]).sum().backward()
    assert set(trainee.state()) == {"table", "from_word", "from_hidden", "bias"}
    (row,) = trainee.words.rows("cat")
    assert trainee.table.grad[row].abs().sum() > 0


def test_bad_settings(tiny, minilm):
    with pytest.raises(SpecError, match="did you mean mean"):
        LSTMSettings(pooling="meen")
    with pytest.raises(SpecError, match="size must be at least 1"):
        LSTMSettings(size=0)
    with pytest.raises(SpecError, match="dropout"):
        LSTMSettings(dropout=1.0)
    with pytest.raises(InputError, match="no words"):
        LSTMTrainee(["", " \n"], SMALL)
    with pytest.raises(SpecError, match="at most that width"):
        model_start(["a"], 1000, 8, "minilm")
    with pytest.raises(EvalignError, match="no such directory"):
        LSTMTrainee(["a word"], LSTMSettings(start="no such model"))


def test_a_model_without_word_embeddings_is_refused(tmp_path, tiny):
    from safetensors.numpy import save_file

    folder = tmp_path / "odd"
    folder.mkdir()
    for file in tiny("bert").iterdir():
        if file.name != "model.safetensors":
            (folder / file.name).write_bytes(file.read_bytes())
    save_file({"something": np.zeros((2, 2), np.float32)}, folder / "model.safetensors")
    with pytest.raises(UnsupportedModelError, match="word_embeddings"):
        model_start(["a"], 4, 8, str(folder))
