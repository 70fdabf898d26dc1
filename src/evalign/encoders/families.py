"""Encoder families: from config.json to one `Architecture`.

bert, roberta, xlm-roberta, camembert, distilbert, mpnet, albert and electra are the same post-norm transformer under
different tensor names. Names and differences are here; graph.py depends on `Architecture` only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any

from evalign.encoders.config_checks import MAX_COUNT, check_config
from evalign.encoders.safetensors_headers import TensorLocation
from evalign.errors import UnsupportedModelError, WeightsError

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")
LINEARS = ("query", "key", "value", "attention_out", "up", "down")  # fields of `Layer` that are linear layers
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
        """Return the names with the prefix `base`."""
        return Layer(*(f"{base}.{name}" for name in astuple(self)))


@dataclass(frozen=True, slots=True)
class Family:
    """Names of the tensors and config.json entries of one family."""

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
    """Description of an encoder of any family, for the graph builder."""

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
        """Number of rows of the position table that no token uses."""
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


def architecture(config: Mapping[str, Any], tensors: Mapping[str, TensorLocation]) -> Architecture:
    """Read a model's config and tensor names; raise an error if something is missing or unsupported."""
    check_config(config, tensors)
    family = str(config.get("model_type"))[:80]
    if family not in FAMILIES:
        raise UnsupportedModelError(
            f"model_type {family!r} is not one of {', '.join(FAMILIES)}; other families run with backend=torch"
        )
    position_type = config.get("position_embedding_type", "absolute")
    if position_type != "absolute":
        raise UnsupportedModelError(
            f"position_embedding_type {position_type!r:.80} is not built here, nor by transformers 5; "
            "use a model with absolute ones"
        )
    if config.get("is_decoder"):
        raise UnsupportedModelError(
            f"config.json of this {family} model has is_decoder, so its tokens attend to earlier ones only, which is "
            "not built here; use backend=torch, or an encoder"
        )
    words = [name for name in tensors if name.endswith(WORD_EMBEDDINGS)]
    if len(words) != 1:
        raise WeightsError(f"expected one tensor named *{WORD_EMBEDDINGS}, found {len(words)}")
    try:
        result = _described(family, config, words[0].removesuffix(WORD_EMBEDDINGS))
    except KeyError as error:
        raise UnsupportedModelError(f"config.json of this {family} model has no {error}") from error
    except TypeError as error:
        raise WeightsError(f"config.json of this {family} model has a value of the wrong type ({error})") from error
    heads, depth, eps = result.heads, len(result.layers), result.eps
    if type(heads) is not int or heads < 1 or not depth:
        raise WeightsError(f"config.json of this {family} model names {heads!r:.40} heads, {depth} layers")
    if type(eps) not in (int, float) or not 0 <= eps <= 1:
        raise WeightsError(
            f"config.json of this {family} model: {FAMILIES[family].eps} is {eps!r:.40}, expected 0 to 1"
        )
    if unread := _unread(result, tensors):
        raise WeightsError(
            f"the weights hold {unread[0]!r}, which a {family} model of this config.json does not use; "
            "use a model whose weights and config.json fit"
        )
    return replace(result, eps=float(eps))


def linear_layers(arch: Architecture) -> dict[str, str]:
    """Return linear layers by their names in the encoder, with the names of their tensors before `.weight`."""
    prefix = arch.embeddings.removesuffix("embeddings")
    bases = [getattr(layer, name) for layer in arch.layers for name in LINEARS]
    bases += [arch.projection] if arch.projection else []
    return {base.removeprefix(prefix): base for base in bases}


def pad_token(config: Mapping[str, Any], absent: int = 0) -> int:
    """Return the padding id; any id will do where the model has none, because padding is masked."""
    pad_id = config.get("pad_token_id")
    if pad_id is not None and (type(pad_id) is not int or not -1 <= pad_id < MAX_COUNT):
        raise WeightsError(f"config.json: pad_token_id is {pad_id!r:.40}, expected the id of a token")
    return absent if pad_id is None else pad_id


def depth(config: Mapping[str, Any]) -> int | None:
    """Return the number of layers of the text encoder, by any family's name for it in config.json."""
    while isinstance(config.get("text_config"), Mapping):  # CLIP and other models of texts and images
        config = config["text_config"]
    names = ("encoder_layers", "num_hidden_layers", "n_layers", "n_layer", "num_layers")
    numbers = (config[name] for name in names if type(config.get(name)) is int)
    return next((number for number in numbers if number <= MAX_COUNT), None)


def _described(name: str, config: Mapping[str, Any], prefix: str) -> Architecture:
    family = FAMILIES[name]
    for own, general in ((family.depth, "num_hidden_layers"), (family.heads, "num_attention_heads")):
        if config.get(general, config.get(own)) != config.get(own):
            raise WeightsError(
                f"config.json of this {name} model: {own} is {config.get(own)!r:.40} and {general} is "
                f"{config[general]!r:.40}, two names of one setting; remove one of them"
            )
    activation = str(config.get(family.activation, family.default_activation))[:80]
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
    """Return tensors inside the encoder that no part of it reads; heads and poolers are outside."""
    prefix = arch.embeddings.removesuffix("embeddings")
    modules = [name for layer in arch.layers for name in astuple(layer)]
    modules += [f"{arch.embeddings}.{name}" for name in EMBEDDINGS] + [arch.projection or arch.embeddings]
    used = {f"{module}.{part}" for module in modules for part in ("weight", "bias", "gamma", "beta")}
    used |= {arch.relative_bias or "", f"{arch.embeddings}.position_ids", f"{arch.embeddings}.token_type_ids"}
    parts = {name.removeprefix(prefix).partition(".")[0] for name in modules}
    inside = (name for name in tensors if name.startswith(prefix) and name not in used)
    return sorted(name for name in inside if name.removeprefix(prefix).partition(".")[0] in parts)


def _layer_bases(family: Family, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the name of every layer from the first up; albert's layers share the weights of a few groups."""
    count = groups = config[family.depth]
    if type(count) is not int:
        raise TypeError(f"{family.depth} is {count!r:.40}")
    if family is ALBERT:
        groups = config.get("num_hidden_groups", 1)
        if type(groups) is not int or not 1 <= groups <= max(count, 1):
            raise TypeError(f"num_hidden_groups is {groups!r:.40}")
        if config.get("inner_group_num", 1) != 1:
            raise UnsupportedModelError(
                "albert with inner_group_num > 1 has more states than layers; use another text encoder"
            )
    for index in range(count):
        yield family.layers.format(index * groups // count)
