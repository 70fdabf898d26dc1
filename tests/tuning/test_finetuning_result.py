"""A finished training directory: sbert and bertscore read it without torch, and so does sentence-transformers."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

import evalign
import tiny_architectures
from evalign.errors import FileFormatError, ModelError, SpecError, UnsupportedModelError, WeightsError
from evalign.training.encoder_trainee import EncoderTrainee
from evalign.training.rated_pairs import RatedPairs
from evalign.training.trainee import cosines
from evalign.training.training_loop import train_to
from tiny_models import SENTENCES, edit_json, open_ort
from tiny_torch_models import build
from tiny_training import PLAN, rated_pairs, trainee

PAIRS = rated_pairs(24)
DATA = RatedPairs(PAIRS, "linear(0,1)", {"empty text": 2})
SHORT = replace(PLAN, epochs=1, dev=0.0)  # the last epoch is kept: the weights are not those of the start
FIRSTS, SECONDS = [pair.first for pair in PAIRS], [pair.second for pair in PAIRS]


@pytest.mark.parametrize(("family", "pooling"), [("bert", "mean"), ("mpnet", "cls"), ("roberta", "max"),
                                                 ("albert", "mean"), ("distilbert", "mean")])  # fmt: skip
def test_the_result_scores_without_torch_as_it_was_trained(tiny, tmp_path, family, pooling):
    model = trainee(tiny(family), pooling=pooling)
    before = cosines(model, PAIRS, 8)
    train_to(tmp_path / "tuned", model, DATA, SHORT)
    after = cosines(model, PAIRS, 8)
    assert np.abs(after - before).max() > 1e-3
    spec = f'sbert(model="{tmp_path / "tuned"}", pooling={pooling}, backend=ort)'
    np.testing.assert_allclose(evalign.metric(spec).score(FIRSTS, SECONDS)["score"], after, atol=1e-5)
    scored = evalign.metric(f'bertscore(model="{tmp_path / "tuned"}", backend=ort)').score(FIRSTS, SECONDS)
    assert np.isfinite(scored["f1"]).all()


def test_vectors_are_those_of_the_onnx_encoder(tiny, tmp_path):
    model = trainee(tiny("bert"))
    train_to(tmp_path / "tuned", model, DATA, SHORT)
    with torch.no_grad():
        expected = model.vectors(FIRSTS).numpy()
    embedded = open_ort(tmp_path / "tuned", (3,)).encode(FIRSTS)
    np.testing.assert_allclose([one.vectors[0].mean(axis=0) for one in embedded], expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_sentence_transformers_reads_it_too(tiny, tmp_path, pooling):
    from sentence_transformers import SentenceTransformer

    model = trainee(tiny("bert"), pooling=pooling)
    train_to(tmp_path / "tuned", model, DATA, SHORT)
    with torch.no_grad():
        expected = model.vectors(FIRSTS).numpy()
    found = SentenceTransformer(str(tmp_path / "tuned"), device="cpu").encode(FIRSTS)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_record(tiny, tmp_path):
    done = train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, replace(PLAN, epochs=1))
    said = json.loads((tmp_path / "tuned" / "training.json").read_text("utf-8"))
    assert said["run"]["model"].startswith("tiny-bert@")
    assert said["run"]["loss"] == "cosent"
    assert (said["mapping"], said["left_out"], said["train_pairs"], said["dev_pairs"]) == (
        "linear(0,1)", {"empty text": 2}, 18, 6
    )  # fmt: skip
    assert len(said["epochs"]) == 2
    assert (done.best.dev_spearman, done.found_finished) == (said["best"]["dev_spearman"], False)
    assert not (tmp_path / "tuned.training").exists()


def test_a_finished_run_is_found_and_another_is_not_overwritten(tiny, tmp_path):
    train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT)
    weights = (tmp_path / "tuned" / "model.safetensors").stat().st_mtime_ns
    (tmp_path / "tuned.training").mkdir()  # killed before this was removed
    assert train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, SHORT).found_finished
    assert not (tmp_path / "tuned.training").exists()
    with pytest.raises(FileFormatError, match=r"tuned: exists, and not from this command"):
        train_to(tmp_path / "tuned", trainee(tiny("bert")), DATA, replace(SHORT, seed=6))
    assert (tmp_path / "tuned" / "model.safetensors").stat().st_mtime_ns == weights
    (tmp_path / "mine").mkdir()
    with pytest.raises(FileFormatError, match="exists"):
        train_to(tmp_path / "mine", trainee(tiny("bert")), DATA, SHORT)
    with pytest.raises(FileFormatError, match="there is no folder"):
        train_to(tmp_path / "no" / "tuned", trainee(tiny("bert")), DATA, SHORT)


def test_a_model_with_a_head_is_saved_without_it(tiny, tmp_path):
    """Pretrained checkpoints carry one, and no pooler: transformers would make that up at random."""
    model = trainee(tiny("bert", head="ForMaskedLM"))
    train_to(tmp_path / "tuned", model, DATA, SHORT)
    from safetensors import safe_open

    with safe_open(tmp_path / "tuned" / "model.safetensors", "np") as file:
        assert not [name for name in file.keys() if "pooler" in name or "cls" in name]  # noqa: SIM118
    spec = f'sbert(model="{tmp_path / "tuned"}", backend=ort)'
    found = evalign.metric(spec).score(FIRSTS, SECONDS)["score"]
    np.testing.assert_allclose(found, cosines(model, PAIRS, 8), atol=1e-5)


def test_other_architectures_run_with_torch_afterwards(tmp_path):
    model = trainee(build("gpt2", tmp_path / "gpt2"))
    train_to(tmp_path / "tuned", model, DATA, SHORT)
    found = evalign.metric(f'sbert(model="{tmp_path / "tuned"}", specials=keep)').score(FIRSTS, SECONDS)["score"]
    np.testing.assert_allclose(found, cosines(model, PAIRS, 8), atol=1e-5)
    with pytest.raises(SpecError, match="puts no special token before a text"):
        trainee(tmp_path / "gpt2", pooling="cls")


def test_long_texts_are_cut(tiny):
    long, cut = "the river rose " * 30, "the river rose " * 2
    model = trainee(tiny("bert"), max_length=8)
    model.train(False)
    with torch.no_grad():
        (one, other) = model.vectors([long, cut])
    torch.testing.assert_close(one, other)
    assert model.max_length == 8


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny("bert"), tmp_path / "copy")


def test_an_unknown_architecture(copy):
    edit_json(copy / "config.json", model_type="mystery", architectures=["MysteryModel"])
    with pytest.raises(UnsupportedModelError, match="mystery"):
        EncoderTrainee(str(copy))


@pytest.mark.parametrize("family", ["t5", "bart", "clip"])
def test_models_with_more_parts(tmp_path, family):
    with pytest.raises(UnsupportedModelError, match="only plain encoders can be trained"):
        trainee(build(family, tmp_path / family))


def test_no_tokenizer(copy):
    (copy / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"no tokenizer.json there; write one with"):
        EncoderTrainee(str(copy))


def test_pickled_weights_only(copy):
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(WeightsError, match=r"pytorch_model.bin, and pickled weights are never loaded: convert"):
        EncoderTrainee(str(copy))


def test_unknown_pooling(copy):
    with pytest.raises(SpecError, match="unknown pooling 'middle'"):
        EncoderTrainee(str(copy), pooling="middle")


@pytest.mark.parametrize("family", ["convbert", "big_bird"])
def test_what_padding_changes_is_trained_without_padding(tmp_path, family):
    """The vectors of texts together are those of each alone, as when the tuned model scores."""
    model = EncoderTrainee(str(tiny_architectures.build(family, tmp_path / family)))
    texts = [SENTENCES[0], "a", " ".join(SENTENCES[:2]), *SENTENCES[3:6]]
    together = model.vectors(texts)
    alone = torch.cat([model.vectors([text]) for text in texts])
    assert float((together - alone).detach().abs().max()) < 1e-5
    scored = evalign.SBert(model=str(tmp_path / family), pooling="mean")
    expected = torch.nn.functional.cosine_similarity(together[:3], together[3:])
    assert scored.score(texts[:3], texts[3:])["score"] == pytest.approx(expected.detach().numpy(), abs=1e-5)
    together.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_model_that_needs_more_than_tokens_is_not_trained(tmp_path):
    directory = tiny_architectures.build("bros", tmp_path / "bros")
    with pytest.raises(UnsupportedModelError, match="token ids and their mask alone"):
        EncoderTrainee(str(directory))
