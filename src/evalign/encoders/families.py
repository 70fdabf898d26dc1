"""What the encoder families have in common: from config.json to one `Architecture`.

bert, roberta, xlm-roberta, camembert, distilbert, mpnet, albert and electra are the same post-norm
transformer under different tensor names. This file knows the names and the differences;
graph.py knows only `Architecture`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from evalign.errors import UnsupportedModelError, WeightsError

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")
LINEARS = ("query", "key", "value", "attention_out", "up", "down")  # of the fields of `Layer`
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

    def below(self, base: str) -> Layer:
        """The same names with `base` before them."""
        return Layer(*(f"{base}.{name}" for name in astuple(self)))


@dataclass(frozen=True, slots=True)
class Family:
    """How one family names its tensors and the entries of its config.json."""

    layer: Layer  # names below that of the layer itself
    layers: str = "encoder.layer.{}"
    depth: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    eps: str | None = "layer_norm_eps"
    activation: str = "hidden_act"
    default_activation: str = "gelu"
    token_types: bool = True
    position_pad: Callable[[Mapping[str, Any]], int] | None = None
    projection: str = ""
    relative_bias: str = ""


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


BERT = Family(
    Layer("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
          "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
)  # fmt: skip
ROBERTA = replace(BERT, position_pad=lambda config: pad_token(config, absent=1))
MPNET = Family(
    Layer("attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o",
          "attention.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
    token_types=False, relative_bias="encoder.relative_attention_bias.weight",
    position_pad=lambda _: 1,  # a constant in the published model code, whatever pad_token_id says
)  # fmt: skip
DISTILBERT = Family(
    Layer("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
          "sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
    layers="transformer.layer.{}", depth="n_layers", heads="n_heads", eps=None, activation="activation",
    token_types=False,
)  # fmt: skip
ALBERT = Family(
    Layer("attention.query", "attention.key", "attention.value", "attention.dense",
          "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"),
    layers="encoder.albert_layer_groups.{}.albert_layers.0", default_activation="gelu_new",
    projection="encoder.embedding_hidden_mapping_in",
)  # fmt: skip
FAMILIES = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "camembert": ROBERTA,
    "electra": replace(BERT, projection="embeddings_project"),
    "mpnet": MPNET,
    "distilbert": DISTILBERT,
    "albert": ALBERT,
}


def architecture(config: Mapping[str, Any], tensors: Collection[str]) -> Architecture:
    """Reads a model's config and tensor names; raises what is missing or not built here."""
    family = str(config.get("model_type"))
    if family not in FAMILIES:
        raise UnsupportedModelError(
            f"model_type {family!r} is not one of {', '.join(FAMILIES)}; other families run with backend=torch"
        )
    kind = config.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise UnsupportedModelError(
            f"position_embedding_type {kind!r} is not built here, nor by transformers 5; use a model with absolute ones"
        )
    words = [name for name in tensors if name.endswith(WORD_EMBEDDINGS)]
    if len(words) != 1:
        raise WeightsError(f"expected one tensor named *{WORD_EMBEDDINGS}, found {len(words)}")
    try:
        described = _described(family, config, words[0].removesuffix(WORD_EMBEDDINGS))
    except KeyError as error:
        raise UnsupportedModelError(f"config.json of this {family} model has no {error}") from error
    except TypeError as error:
        raise WeightsError(f"config.json of this {family} model holds a value of the wrong kind ({error})") from error
    heads, depth = described.heads, len(described.layers)
    if not isinstance(heads, int) or heads < 1 or not depth:
        raise WeightsError(f"config.json of this {family} model names {heads} heads, {depth} layers")
    if unread := _unread(described, tensors):
        raise WeightsError(
            f"the weights hold {unread[0]!r}, which a {family} model of this config.json has no place for; "
            "use a model whose weights and config.json fit"
        )
    return described


def linear_layers(arch: Architecture) -> dict[str, str]:
    """The linear layers by their names in the encoder, with the names of their tensors before `.weight`."""
    prefix = arch.embeddings.removesuffix("embeddings")
    bases = [getattr(layer, name) for layer in arch.layers for name in LINEARS]
    bases += [arch.projection] if arch.projection else []
    return {base.removeprefix(prefix): base for base in bases}


def pad_token(config: Mapping[str, Any], absent: int = 0) -> int:
    """The id that fills up a batch; any will do where the model has none, because padding is masked."""
    pad_id = config.get("pad_token_id")
    if pad_id is not None and not isinstance(pad_id, int):
        raise WeightsError(f"config.json: pad_token_id is {pad_id!r}, expected a whole number")
    return absent if pad_id is None else pad_id


def depth(config: Mapping[str, Any]) -> int | None:
    """How many layers the text encoder has, under whichever name its family writes that in config.json."""
    text = config.get("text_config")
    if isinstance(text, Mapping):  # CLIP and others that read texts and pictures
        return depth(text)
    names = ("encoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers")
    return next((config[name] for name in names if isinstance(config.get(name), int)), None)


def _described(name: str, config: Mapping[str, Any], prefix: str) -> Architecture:
    family = FAMILIES[name]
    activation = str(config.get(family.activation, family.default_activation))
    if activation not in ACTIVATIONS:
        raise UnsupportedModelError(f"{family.activation} {activation!r} is not built here; use backend=torch")
    widened = name != "electra" or config.get("embedding_size", config["hidden_size"]) != config["hidden_size"]
    return Architecture(
        family=name,
        embeddings=f"{prefix}embeddings",
        layers=tuple(family.layer.below(prefix + base) for base in _layer_bases(family, config)),
        heads=config[family.heads],
        eps=1e-12 if family.eps is None else config.get(family.eps, 1e-12),
        activation=ACTIVATIONS[activation],
        token_types=family.token_types,
        projection=prefix + family.projection if family.projection and widened else None,
        position_pad=family.position_pad(config) if family.position_pad else None,
        relative_bias=prefix + family.relative_bias if family.relative_bias else None,
    )


def _unread(arch: Architecture, tensors: Collection[str]) -> list[str]:
    """Tensors inside the encoder that no part of it reads; heads and poolers lie beside it."""
    prefix = arch.embeddings.removesuffix("embeddings")
    modules = [name for layer in arch.layers for name in astuple(layer)]
    modules += [f"{arch.embeddings}.{name}" for name in EMBEDDINGS] + [arch.projection or arch.embeddings]
    known = {f"{module}.{part}" for module in modules for part in ("weight", "bias", "gamma", "beta")}
    known |= {arch.relative_bias or "", f"{arch.embeddings}.position_ids", f"{arch.embeddings}.token_type_ids"}
    parts = {name.removeprefix(prefix).partition(".")[0] for name in modules}
    inside = (name for name in tensors if name.startswith(prefix) and name not in known)
    return sorted(name for name in inside if name.removeprefix(prefix).partition(".")[0] in parts)


def _layer_bases(family: Family, config: Mapping[str, Any]) -> Iterator[str]:
    """The name of every layer, from the first up; albert's layers share the weights of a few groups."""
    count = groups = config[family.depth]
    if family is ALBERT:
        groups = config.get("num_hidden_groups", 1)
        if config.get("inner_group_num", 1) != 1:
            raise UnsupportedModelError(
                "albert with inner_group_num > 1 has more states than layers; use another text encoder"
            )
    for index in range(count):
        yield family.layers.format(index * groups // count)
