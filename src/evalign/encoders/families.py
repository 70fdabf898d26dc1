"""What the encoder families have in common: from config.json to one `Architecture`.

bert, roberta, xlm-roberta, camembert, distilbert, mpnet, albert and electra are the same post-norm
transformer under different tensor names. This file knows the names and the differences;
graph.py knows only `Architecture`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from evalign.errors import UnsupportedModelError, WeightsError

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
ACTIVATIONS = {"gelu": "erf", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "relu": "relu"}


@dataclass(frozen=True, slots=True)
class Layer:
    """Tensor names of one transformer layer, without `.weight` and `.bias`."""

    query: str
    key: str
    value: str
    attention_out: str
    attention_norm: str
    up: str
    down: str
    out_norm: str


@dataclass(frozen=True, slots=True)
class Architecture:
    """One encoder, described so that a single graph builder can build every family."""

    family: str
    embeddings: str
    layers: tuple[Layer, ...]
    heads: int
    eps: float
    activation: str
    token_types: bool = True
    projection: str | None = None  # albert and electra widen the embeddings before state 0
    position_pad: int | None = None  # roberta, mpnet: positions are cumsum(id != pad) + pad
    relative_bias: str | None = None  # mpnet: a bias per head and bucketed distance

    @property
    def position_offset(self) -> int:
        """Rows of the position table that no token ever uses."""
        return 0 if self.position_pad is None else self.position_pad + 1


def architecture(config: Mapping[str, Any], tensors: Collection[str]) -> Architecture:
    """Reads a model's config and tensor names; raises what is missing or not built here."""
    family = str(config.get("model_type"))
    if family not in FAMILIES:
        raise UnsupportedModelError(
            f"model_type {family!r} is not one of {', '.join(FAMILIES)}; other families run with backend=torch"
        )
    kind = config.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise UnsupportedModelError(f"position_embedding_type {kind!r} is not built here; use backend=torch")
    words = [name for name in tensors if name.endswith(WORD_EMBEDDINGS)]
    if len(words) != 1:
        raise WeightsError(f"expected one tensor named *{WORD_EMBEDDINGS}, found {len(words)}")
    try:
        found = FAMILIES[family](config, words[0].removesuffix(WORD_EMBEDDINGS))
    except KeyError as error:
        raise UnsupportedModelError(f"config.json of this {family} model has no {error}") from error
    except TypeError as error:
        raise WeightsError(f"config.json of this {family} model holds a value of the wrong kind ({error})") from error
    if not isinstance(found.heads, int) or found.heads < 1 or not found.layers:
        raise WeightsError(f"config.json of this {family} model names {found.heads} heads, {len(found.layers)} layers")
    return found


def pad_token(config: Mapping[str, Any], absent: int = 0) -> int:
    """The id that fills up a batch; any will do where the model has none, because padding is masked."""
    given = config.get("pad_token_id")
    if given is not None and not isinstance(given, int):
        raise WeightsError(f"config.json: pad_token_id is {given!r}, expected a whole number")
    return absent if given is None else given


def depth(config: Mapping[str, Any]) -> int | None:
    """How many layers the text encoder has, under whichever name its family writes that in config.json."""
    text = config.get("text_config")
    if isinstance(text, Mapping):  # CLIP and others that read texts and pictures
        return depth(text)
    names = ("encoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers")
    return next((config[name] for name in names if isinstance(config.get(name), int)), None)


def activation(name: str) -> str:
    """Which function `hidden_act` means: `gelu` is erf, `gelu_new` is the tanh form."""
    if str(name) not in ACTIVATIONS:
        raise UnsupportedModelError(f"hidden_act {name!r} is not built here; use backend=torch")
    return ACTIVATIONS[str(name)]


def _bert(config: Mapping[str, Any], prefix: str) -> Architecture:
    family = config["model_type"]
    cumulative = family in ("roberta", "xlm-roberta", "camembert")
    projected = family == "electra" and config.get("embedding_size", config["hidden_size"]) != config["hidden_size"]
    return Architecture(
        family=family,
        embeddings=f"{prefix}embeddings",
        layers=tuple(_bert_layer(f"{prefix}encoder.layer.{i}") for i in range(config["num_hidden_layers"])),
        heads=config["num_attention_heads"],
        eps=config.get("layer_norm_eps", 1e-12),
        activation=activation(config.get("hidden_act", "gelu")),
        projection=f"{prefix}embeddings_project" if projected else None,
        position_pad=pad_token(config, absent=1) if cumulative else None,
    )


def _bert_layer(base: str) -> Layer:
    return Layer(
        query=f"{base}.attention.self.query",
        key=f"{base}.attention.self.key",
        value=f"{base}.attention.self.value",
        attention_out=f"{base}.attention.output.dense",
        attention_norm=f"{base}.attention.output.LayerNorm",
        up=f"{base}.intermediate.dense",
        down=f"{base}.output.dense",
        out_norm=f"{base}.output.LayerNorm",
    )


def _mpnet(config: Mapping[str, Any], prefix: str) -> Architecture:
    def layer(base: str) -> Layer:
        return Layer(
            query=f"{base}.attention.attn.q",
            key=f"{base}.attention.attn.k",
            value=f"{base}.attention.attn.v",
            attention_out=f"{base}.attention.attn.o",
            attention_norm=f"{base}.attention.LayerNorm",
            up=f"{base}.intermediate.dense",
            down=f"{base}.output.dense",
            out_norm=f"{base}.output.LayerNorm",
        )

    return Architecture(
        family="mpnet",
        embeddings=f"{prefix}embeddings",
        layers=tuple(layer(f"{prefix}encoder.layer.{i}") for i in range(config["num_hidden_layers"])),
        heads=config["num_attention_heads"],
        eps=config.get("layer_norm_eps", 1e-12),
        activation=activation(config.get("hidden_act", "gelu")),
        token_types=False,
        position_pad=1,  # a constant in the published model code, whatever pad_token_id says
        relative_bias=f"{prefix}encoder.relative_attention_bias.weight",
    )


def _distilbert(config: Mapping[str, Any], prefix: str) -> Architecture:
    def layer(base: str) -> Layer:
        return Layer(
            query=f"{base}.attention.q_lin",
            key=f"{base}.attention.k_lin",
            value=f"{base}.attention.v_lin",
            attention_out=f"{base}.attention.out_lin",
            attention_norm=f"{base}.sa_layer_norm",
            up=f"{base}.ffn.lin1",
            down=f"{base}.ffn.lin2",
            out_norm=f"{base}.output_layer_norm",
        )

    return Architecture(
        family="distilbert",
        embeddings=f"{prefix}embeddings",
        layers=tuple(layer(f"{prefix}transformer.layer.{i}") for i in range(config["n_layers"])),
        heads=config["n_heads"],
        eps=1e-12,
        activation=activation(config.get("activation", "gelu")),
        token_types=False,
    )


def _albert(config: Mapping[str, Any], prefix: str) -> Architecture:
    if config.get("inner_group_num", 1) != 1:
        raise UnsupportedModelError("albert with inner_group_num > 1 is not built here; use backend=torch")
    count = config["num_hidden_layers"]
    groups = config.get("num_hidden_groups", 1)

    def layer(index: int) -> Layer:
        base = f"{prefix}encoder.albert_layer_groups.{index * groups // count}.albert_layers.0"
        return Layer(
            query=f"{base}.attention.query",
            key=f"{base}.attention.key",
            value=f"{base}.attention.value",
            attention_out=f"{base}.attention.dense",
            attention_norm=f"{base}.attention.LayerNorm",
            up=f"{base}.ffn",
            down=f"{base}.ffn_output",
            out_norm=f"{base}.full_layer_layer_norm",
        )

    return Architecture(
        family="albert",
        embeddings=f"{prefix}embeddings",
        layers=tuple(layer(i) for i in range(count)),
        heads=config["num_attention_heads"],
        eps=config.get("layer_norm_eps", 1e-12),
        activation=activation(config.get("hidden_act", "gelu_new")),
        projection=f"{prefix}encoder.embedding_hidden_mapping_in",
    )


FAMILIES: dict[str, Callable[[Mapping[str, Any], str], Architecture]] = {
    "bert": _bert,
    "roberta": _bert,
    "xlm-roberta": _bert,
    "camembert": _bert,
    "electra": _bert,
    "mpnet": _mpnet,
    "distilbert": _distilbert,
    "albert": _albert,
}
