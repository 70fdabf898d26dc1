"""Absurd model folders: every JSON file of them ends in one sentence within seconds, and sensible ones are accepted."""

import os
import shutil

import pytest

from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.encoders.weights import locate
from evalign.errors import EvalignError, ModelError
from tiny_models import SENTENCES, edit_json, open_ort, open_torch

NESTED = {
    "lists": '{"a": ' + "[" * 100_000,
    "objects": '{"a": ' * 100_000,
    "just read": '{"a":' * 500 + "1" + "}" * 500,
}
ABSURD = [
    ("bert", {"num_hidden_layers": 10**9}),  # never ended
    ("bert", {"num_hidden_layers": 1e9}),
    ("bert", {"num_hidden_layers": 10**400}),  # OverflowError, where no layer is named
    ("bert", {"num_hidden_layers": True}),
    ("bert", {"num_hidden_layers": -1}),
    ("bert", {"num_hidden_layers": [3]}),
    ("albert", {"num_hidden_layers": 10**9}),
    ("albert", {"num_hidden_groups": 0}),
    ("albert", {"num_hidden_groups": -1}),
    ("albert", {"num_hidden_groups": 10**9}),
    ("bert", {"num_attention_heads": 10**9}),  # ZeroDivisionError
    ("bert", {"num_attention_heads": 64}),
    ("bert", {"num_attention_heads": 5}),
    ("bert", {"num_attention_heads": True}),
    ("bert", {"num_attention_heads": 4.0}),
    ("mpnet", {"num_attention_heads": 2}),  # the table of distances has 4
    ("bert", {"layer_norm_eps": "small"}),
    ("bert", {"layer_norm_eps": -1}),
    ("bert", {"layer_norm_eps": 1e300}),
    ("bert", {"layer_norm_eps": float("nan")}),
    ("roberta", {"pad_token_id": 10**9}),
    ("roberta", {"pad_token_id": 2**70}),  # OverflowError
    ("roberta", {"pad_token_id": 159 + 2}),  # no position is left
    ("bert", {"pad_token_id": [0]}),
    ("bert", {"model_type": ["bert"]}),
    ("bert", {"model_type": "x" * 100_000}),
    ("bert", {"hidden_act": {"a": "gelu"}}),
    ("bert", {"text_config": {"num_hidden_layers": 10**9}}),
    ("bert", {"num_labels": 10**10}),  # transformers makes a name for each
]


def changed(tiny, folder, family, changes):
    directory = shutil.copytree(tiny(family), folder / "model")
    edit_json(directory / "config.json", **changes)
    return directory


def sentence(raised):
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 600
    return message


@pytest.mark.parametrize("layer", ["1", None], ids=["a layer", "no layer"])
@pytest.mark.parametrize(("family", "changes"), ABSURD, ids=lambda value: str(value)[:50])
def test_an_absurd_config_is_one_sentence(tiny, tmp_path, family, changes, layer):
    directory = changed(tiny, tmp_path, family, changes)
    with pytest.raises(EvalignError) as raised:
        open_encoder(EncoderSpec(str(directory), layer, backend="ort"))
    sentence(raised)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {"is_decoder": True}),
        ("roberta", {"is_decoder": True}),
        ("distilbert", {"num_attention_heads": 1}),  # n_heads is 4
        ("distilbert", {"num_hidden_layers": 1}),  # n_layers is 3
    ],
    ids=str,
)
def test_a_config_that_transformers_reads_otherwise_is_refused(tiny, tmp_path, family, changes):
    """Tokens that attend to earlier ones only, and two names of one setting: the vectors were other ones."""
    with pytest.raises(ModelError, match=rf"config\.json of this {family} model") as raised:
        open_ort(changed(tiny, tmp_path, family, changes), (1,))
    assert next(iter(changes)) in sentence(raised)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "changes",
    [
        {"num_hidden_layers": 10**9},
        {"num_attention_heads": 0},
        {"hidden_size": 10**9},
        {"vocab_size": 10**9},
        {"num_labels": 10**10},
        {"text_config": {"num_hidden_layers": 10**9}},
    ],
    ids=str,
)
def test_torch_builds_nothing_of_an_absurd_config(tiny, tmp_path, changes):
    with pytest.raises(ModelError) as raised:
        open_torch(changed(tiny, tmp_path, "bert", changes), (1,))
    sentence(raised)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("albert", {"num_hidden_layers": 24}),  # of one group
        ("bert", {"is_decoder": False}),
        ("distilbert", {"num_attention_heads": 4, "num_hidden_layers": 3}),  # as the names of distilbert say it
        ("bert", {"pad_token_id": -1}),
        ("bert", {"pad_token_id": None}),
        ("bert", {"layer_norm_eps": 0}),
        ("bert", {"layer_norm_eps": 0.5}),
        ("bert", {"max_position_embeddings": 10**6, "vocab_size": 138, "num_labels": 1000}),  # read from the weights
        ("bert", {"anything": 10**30, "else": [10**30]}),
    ],
    ids=str,
)
def test_a_config_within_the_limits_is_accepted(tiny, tmp_path, family, changes):
    vectors = open_ort(changed(tiny, tmp_path, family, changes), (1,)).encode(SENTENCES[:1])[0].vectors
    assert vectors.shape[2] == 32


@pytest.mark.parametrize("content", NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json"])
def test_nesting_without_end_is_one_sentence(tiny, tmp_path, name, content):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    (directory / name).write_text(content)
    with pytest.raises(ModelError, match=name.replace(".", r"\.")) as raised:
        open_encoder(EncoderSpec(str(directory), "1"))
    sentence(raised)


@pytest.mark.parametrize("content", [*NESTED.values(), "[1]", '{"max_seq_length": "12"}', '{"max_seq_length": 1e9}'])
def test_a_broken_limit_of_sentence_transformers_is_one_sentence(tiny, tmp_path, content):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    (directory / "sentence_bert_config.json").write_text(content)
    with pytest.raises(ModelError, match=r"sentence_bert_config\.json") as raised:
        locate(str(directory)).sentence_limit()
    sentence(raised)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_file_of_gigabytes_is_not_read(tiny, tmp_path, name):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    os.truncate(directory / name, 10 * 2**30)  # a hole, which takes no room
    with pytest.raises(ModelError, match="larger than 256 MB"):
        open_encoder(EncoderSpec(str(directory), "1"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tiny, tmp_path):
    directory = shutil.copytree(tiny("bert"), tmp_path / "model")
    (directory / "config.json").unlink()
    os.mkfifo(directory / "config.json")
    with pytest.raises(EvalignError, match=r"no config\.json there"):
        open_encoder(EncoderSpec(str(directory), "1"))


def test_every_tensor_of_a_wrong_shape_is_named(tiny, tmp_path):
    """Also one that would be broadcast, and so change scores in silence."""
    from safetensors.torch import load_file, save_file

    directory = shutil.copytree(tiny("bert"), tmp_path / "shape")
    tensors = load_file(directory / "model.safetensors")
    read = [name for name in tensors if "pooler" not in name]
    assert len(read) > 50
    for name in read:
        for reshaped in (tensors[name].reshape(-1)[:1].clone(), tensors[name].unsqueeze(0).clone()):
            save_file(tensors | {name: reshaped}, directory / "model.safetensors")
            with pytest.raises(ModelError) as raised:
                open_ort(directory)
            base = name.rpartition(".")[0]
            assert base.rpartition(".")[0] in sentence(raised), name
