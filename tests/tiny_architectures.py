"""Every text encoder that the installed transformers builds, made tiny: a model type in, a directory or a verdict out.

Not the families' own tokenizers but BERT's: what is asked is whether ids become the vectors that transformers gives
them one text at a time, in every batch. `benchmarks/encoder_families.py` writes docs/encoders.md from the verdicts.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from evalign.errors import EvalignError
from tiny_models import DEPTH, HEADS, POSITIONS, SENTENCES, WIDTH, build_tokenizer, distance, open_torch, perturb

TOLERANCE = 1e-5
LARGEST = 3_000_000  # parameters: what cannot be made smaller reads speech or pictures too
CAUSAL = ("bert-generation", "bloom", "ctrl", "gpt2", "gpt_neox", "llama", "openai-gpt", "opt", "xlnet")
DECODERS = ("mistral4",)  # language models that transformers lists among its classifiers only
SHORT = " ".join(reversed(SENTENCES[0].split()))  # as many tokens as the first sentence, nearly
TEXTS = [SENTENCES[0], "a", " ".join(SENTENCES[:2]), SHORT, *SENTENCES[5:9], "b c " * 30, " ".join(SENTENCES)]

SIZES = (
    dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size"), WIDTH)
    | dict.fromkeys(("intermediate_size", "ffn_dim", "d_ff", "d_inner", "hidden_dim"), 2 * WIDTH)
    | dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "dff"), 2 * WIDTH)
    | dict.fromkeys(("num_hidden_layers", "num_layers", "encoder_layers", "num_encoder_layers", "n_layer"), DEPTH)
    | dict.fromkeys(("n_layers",), DEPTH)
    | dict.fromkeys(("decoder_layers", "num_decoder_layers"), DEPTH - 1)
    | dict.fromkeys(("num_attention_heads", "encoder_attention_heads", "decoder_attention_heads"), HEADS)
    | dict.fromkeys(("num_encoder_attention_heads", "num_decoder_attention_heads", "num_heads", "n_head"), HEADS)
    | dict.fromkeys(("n_heads",), HEADS)
    | dict.fromkeys(("head_dim", "d_kv", "d_head"), WIDTH // HEADS)
    | dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"), POSITIONS + 2)
    | dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4)
    | {"num_key_value_heads": 2, "moe_intermediate_size": WIDTH, "num_experts_per_tok": 2, "initializer_range": 0.2}
)
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
HALF = {
    "hidden_size": WIDTH, "intermediate_size": 2 * WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS,
    "num_key_value_heads": 2, "head_dim": WIDTH // HEADS, "max_position_embeddings": POSITIONS, "vocab_size": 300,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 8,
}  # fmt: skip
# Blocks, windows and tables so small that short texts reach what they are for.
SPECIAL: dict[str, dict[str, Any]] = {
    "big_bird": {"block_size": 4, "num_random_blocks": 1},
    "bigbird_pegasus": {"block_size": 4, "num_random_blocks": 1},
    "esmc": {"num_key_value_heads": HEADS},
    "layoutlmv3": {"coordinate_size": 6, "shape_size": 4, "visual_embed": False},
    "led": {"attention_window": [8] * DEPTH, "max_encoder_position_embeddings": POSITIONS},
    "lilt": {"hidden_size": 48},
    "longformer": {"attention_window": [8] * DEPTH},
    "longt5": {"local_radius": 8, "global_block_size": 4},
    "luke": {"entity_vocab_size": 10, "entity_emb_size": 16},
    "markuplm": {"max_depth": 5},
    "mobilebert": {"intra_bottleneck_size": 16, "true_hidden_size": 16},
    "modernbert": {"local_attention": 16},
    "neomme": {"head_dim": 16},
    "pegasus_x": {"block_size": 8},
    "perceiver": {"d_latents": WIDTH, "num_latents": 8, "num_blocks": 1, "image_size": 8, "train_size": [8, 8]},
    "reformer": {"axial_pos_embds_dim": (16, 16), "axial_pos_shape": (10, 20), "max_position_embeddings": 200,
                 "attention_head_size": 8, "feed_forward_size": 64, "attn_layers": ["local", "lsh", "local"],
                 "local_attn_chunk_length": 8, "lsh_attn_chunk_length": 8},
    "roc_bert": {"pronunciation_vocab_size": 30, "shape_vocab_size": 30, "pronunciation_embed_dim": 8,
                 "shape_embed_dim": 8},
    "t5": {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 20},
    "t5gemma": {"encoder": HALF, "decoder": HALF},
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What became of one architecture: `right` with its largest difference, or `refused` with the sentence."""

    kind: str
    one_length: bool = False
    difference: float = 0.0
    sentence: str = ""


def model_types() -> list[str]:
    """The text encoders and encoder-decoders among AutoModel's types, and the causal models known to bert_score."""
    encoders = _listed("MASKED_LM") | _listed("TEXT_ENCODING") | _listed("SEQ_TO_SEQ_CAUSAL_LM")
    classifiers = _listed("SEQUENCE_CLASSIFICATION") | _listed("TOKEN_CLASSIFICATION")
    names = encoders | (classifiers - _listed("CAUSAL_LM")) | set(CAUSAL)
    return sorted(name for name in names - set(DECODERS) if name in modeling_auto.MODEL_MAPPING_NAMES)


def build(model_type: str, directory: Path) -> Path | None:
    """A directory with a tiny random model; None where the type cannot be made tiny, or needs other packages."""
    tokenizer = build_tokenizer("bert")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            config = _config(model_type, len(tokenizer))
            with torch.device("meta"):
                size = sum(tensor.numel() for tensor in transformers.AutoModel.from_config(config).parameters())
            if size > LARGEST:
                return None
            torch.manual_seed(0)
            model = transformers.AutoModel.from_config(config).eval()
        except (ImportError, TypeError, ValueError, AttributeError, RuntimeError):
            return None
        perturb(model)
        model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def verdict(directory: Path) -> Verdict:
    """Opens the model as evalign does, and compares every layer of every text with transformers, one text at a time."""
    try:
        encoder = open_torch(directory, token_budget=10**6, overlong="truncate")
        together = encoder.encode(TEXTS)
        alone = open_torch(directory, token_budget=1, overlong="truncate").encode(TEXTS)
    except EvalignError as error:
        sentence = str(error).removeprefix(f"{directory}: ").removeprefix(f"{directory.name}: ")
        return Verdict("refused", sentence=sentence)
    plain = plain_states(directory, [read.tokens.ids.tolist() for read in together])
    differences = [distance(read.vectors, states) for read, states in zip(together, plain, strict=True)]
    differences += [distance(read.vectors, single.vectors) for read, single in zip(together, alone, strict=True)]
    largest = max(differences)
    return Verdict("right" if largest <= TOLERANCE else "wrong", encoder.one_length, largest)


def plain_states(directory: Path, sequences: list[list[int]]) -> list[np.ndarray]:
    """Transformers itself, a fresh model for every text (BigBird's changes with what it has read)."""
    whole = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    reader = whole.get_encoder() if whole.config.is_encoder_decoder else whole
    states = []
    with torch.inference_mode():
        for ids in sequences:
            given = torch.tensor([ids])
            output = copy.deepcopy(reader)(given, attention_mask=torch.ones_like(given), output_hidden_states=True)
            layers = [*output.hidden_states[:-1], output.last_hidden_state]
            states.append(torch.stack([layer[:, : len(ids)] for layer in layers])[:, 0].numpy())
    return states


def _listed(task: str) -> set[str]:
    return set(getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES"))


def _config(model_type: str, vocabulary: int) -> Any:
    """The type's own config with small sizes, under whichever names it has for them."""
    kind = CONFIG_MAPPING[model_type]
    default = kind().to_dict()
    sizes = {name: size for name, size in SIZES.items() if isinstance(default.get(name), (int, float))}
    return kind(**sizes | {"vocab_size": vocabulary} | IDS | SPECIAL.get(model_type, {}))
