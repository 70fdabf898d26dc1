"""Every text encoder that transformers builds: right in every batch, or refused by name, as docs/encoders.md says."""

import re
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import evalign
import tiny_architectures
from evalign.cli.main import main
from evalign.errors import ModelError, WeightsError
from tiny_models import edit_json, open_ort, open_torch

DOCS = Path(__file__).parents[2] / "docs" / "encoders.md"
QUICK = ("xlnet", "convbert", "fsmt", "canine")  # the rest are slow tests
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")


def documented() -> dict[str, tuple[str, str]]:
    """Verdict and kind of batches by model type."""
    rows = (line.split("|") for line in DOCS.read_text("utf-8").splitlines() if re.match(r"\| [a-z]", line))
    return {row[1].strip(): (row[3].strip(), row[4].strip()) for row in rows if row[1].strip() != "model_type"}


def with_marks(names):
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("model_type", with_marks(tiny_architectures.model_types()))
def test_a_family_is_right_in_every_batch_or_refused(model_type, tmp_path):
    directory = tiny_architectures.build(model_type, tmp_path / model_type)
    if directory is None:
        pytest.skip("not built tiny: reads more than text, or needs other packages")
    verdict = tiny_architectures.verdict(directory)
    assert verdict.kind != "wrong", verdict.difference
    if verdict.kind == "refused":
        assert model_type in verdict.sentence or "config.json" in verdict.sentence
        assert "\n" not in verdict.sentence
    listed = documented().get(model_type)
    if listed is not None:  # another version of transformers may build more
        batches = "" if verdict.kind == "refused" else ("one length" if verdict.one_length else "any")
        assert (verdict.kind, batches) == listed


def test_the_documented_list_names_what_was_asked_for():
    rows = documented()
    assert len(rows) > 60
    assert {kind for kind, _ in rows.values()} == {"right", "refused"}
    assert rows["convbert"] == ("right", "one length")
    assert rows["xlnet"] == ("right", "any")


def with_tensor(source: Path, target: Path, name: str, like: str) -> Path:
    """A copy of a model whose file holds one more tensor."""
    shutil.copytree(source, target)
    tensors = load_file(source / "model.safetensors")
    save_file(tensors | {name: tensors[like].clone()}, target / "model.safetensors", {"format": "pt"})
    return target


WORDS = "embeddings.word_embeddings.weight"
DISTANCES = "encoder.layer.0.attention.self.distance_embedding.weight"


@pytest.mark.parametrize("open_model", [open_ort, open_torch])
@pytest.mark.parametrize("name", [DISTANCES, "encoder.layer.1.adapter.down.weight", "embeddings.extra.weight"])
def test_weights_that_the_encoder_has_no_place_for_are_an_error(tiny, tmp_path, open_model, name):
    with pytest.raises(WeightsError, match=re.escape(name)):
        open_model(with_tensor(tiny("bert"), tmp_path / "model", name, WORDS))


@pytest.mark.parametrize("open_model", [open_ort, open_torch])
@pytest.mark.parametrize("name", ["cls.predictions.bias", "lm_head.weight", "pooler.extra.weight", "classifier.bias"])
def test_heads_are_no_part_of_the_encoder(tiny, tmp_path, open_model, name):
    open_model(with_tensor(tiny("bert"), tmp_path / "model", name, WORDS))


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_bert_with_relative_positions_is_refused(tiny, tmp_path, backend, kind):
    model = with_tensor(tiny("bert"), tmp_path / "model", DISTANCES, WORDS)
    edit_json(model / "config.json", position_embedding_type=kind)
    with pytest.raises(ModelError, match=r"relative_key|distance_embedding"):
        evalign.metric(f'bertscore(model="{model}", layer=1, backend={backend})').score(["a"], ["b"])


def test_relative_positions_without_their_weights_are_refused(tiny, tmp_path):
    """transformers 5 would read the model with absolute ones."""
    model = shutil.copytree(tiny("bert"), tmp_path / "model")
    edit_json(model / "config.json", position_embedding_type="relative_key")
    with pytest.raises(ModelError, match="relative_key"):
        open_torch(model)


def test_a_weight_of_another_shape_is_named(tiny, tmp_path):
    model = with_tensor(tiny("bert"), tmp_path / "model", "encoder.layer.0.output.dense.weight", WORDS)
    with pytest.raises(WeightsError, match=r"encoder\.layer\.0\.output\.dense\.weight has another shape"):
        open_torch(model)


def test_a_directory_that_cannot_be_scored_with_is_one_sentence(tiny, tmp_path, capsys):
    """Unexpected weights, missing weights, an unknown architecture: exit code 2."""
    unexpected = with_tensor(tiny("bert"), tmp_path / "unexpected", DISTANCES, WORDS)
    missing = shutil.copytree(tiny("bert"), tmp_path / "missing")
    tensors = load_file(missing / "model.safetensors")
    del tensors["encoder.layer.0.output.dense.weight"]
    save_file(tensors, missing / "model.safetensors", {"format": "pt"})
    unknown = shutil.copytree(tiny("bert"), tmp_path / "unknown")
    edit_json(unknown / "config.json", model_type="mystery", architectures=["MysteryModel"])
    for directory, word in ((unexpected, "distance_embedding"), (missing, "output.dense"), (unknown, "mystery")):
        spec = f'bertscore(model="{directory}", layer=1)'
        with pytest.raises(SystemExit) as left:
            main(["align", "a", "b", "-m", spec])
        said = capsys.readouterr().err.strip()
        assert left.value.code == 2
        assert word in said
        assert "\n" not in said
