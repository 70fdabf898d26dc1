"""Tiny random models of the families that only torch runs: other encoders, encoder-decoders, causal language models.

Written the way transformers writes the large ones, every parameter moved by a seeded generator (see tiny_models.py).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import tiny_models
from tiny_models import DEPTH, HEADS, POSITIONS, SENTENCES, WIDTH

ENCODERS = ("deberta-v2", "modernbert", "t5", "bart", "gpt2", "gpt_neox", "llama", "clip")
SEQ2SEQ = ("bart", "t5", "marian", "m2m_100")
CAUSAL = ("gpt2", "llama")

COMMON = {
    "hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS, "intermediate_size": 2 * WIDTH,
    "max_position_embeddings": POSITIONS,
}  # fmt: skip
DECODED = {
    "d_model": WIDTH, "encoder_layers": DEPTH, "decoder_layers": DEPTH - 1, "encoder_ffn_dim": 2 * WIDTH,
    "decoder_ffn_dim": 2 * WIDTH, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
    "max_position_embeddings": POSITIONS,
}  # fmt: skip
CLASSES = {
    "deberta-v2": "DebertaV2", "modernbert": "ModernBert", "t5": "T5", "bart": "Bart", "gpt2": "GPT2",
    "gpt_neox": "GPTNeoX", "llama": "Llama", "clip": "CLIP", "marian": "Marian", "m2m_100": "M2M100",
}  # fmt: skip
HEADS_OF = {"gpt2": "LMHeadModel", "llama": "ForCausalLM", "gpt_neox": "ForCausalLM", "t5": "ForConditionalGeneration",
            "bart": "ForConditionalGeneration", "m2m_100": "ForConditionalGeneration",
            "marian": "MTModel"}  # fmt: skip


def build(family: str, directory: Path, seed: int = 0, generates: bool = False, **changes: Any) -> Path:
    """A directory of config, weights and tokenizer; `generates` keeps the head that predicts tokens."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = save_tokenizer(family, directory)
    languages = getattr(tokenizer, "lang_token_to_id", {})  # M2M's own count leaves these out
    settings = _settings(family, max([len(tokenizer) - 1, *languages.values()]) + 1) | _ids(tokenizer) | changes
    config = getattr(transformers, f"{CLASSES[family]}Config")(**settings)
    torch.manual_seed(seed)
    head = HEADS_OF[family] if generates else "Model"
    model = getattr(transformers, f"{CLASSES[family]}{head}")(config).eval()
    tiny_models.perturb(model, seed)
    model.save_pretrained(directory)
    return directory


def save_tokenizer(family: str, directory: Path) -> Any:
    """The family's own tokenizer class, with its own special tokens."""
    if family in ("marian", "m2m_100"):
        return _sentencepiece(family, directory)
    tokenizer = _tokenizer(family)
    tokenizer.save_pretrained(directory)
    return tokenizer


def _tokenizer(family: str) -> Any:
    length = POSITIONS
    if family == "deberta-v2":
        vocab = tiny_models._unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
        return transformers.DebertaV2Tokenizer(vocab=vocab, unk_id=3, model_max_length=length)
    if family == "t5":
        vocab = tiny_models._unigram(["<pad>", "</s>", "<unk>"])
        return transformers.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=length)
    if family == "llama":
        vocab, merges = _character_bpe(["<unk>", "<s>", "</s>"])
        return transformers.LlamaTokenizer(vocab=vocab, merges=merges, add_bos_token=True, model_max_length=length)
    if family == "clip":
        return _clip()
    if family == "bart":
        vocab, merges = tiny_models._byte_bpe(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        return transformers.BartTokenizer(vocab=vocab, merges=merges, model_max_length=length)
    if family == "modernbert":
        vocab, merges = tiny_models._byte_bpe(["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"])
        return _framed(vocab, merges)
    vocab, merges = tiny_models._byte_bpe(["<|endoftext|>"])
    kind = transformers.GPT2Tokenizer if family == "gpt2" else transformers.GPTNeoXTokenizer
    return kind(vocab=vocab, merges=merges, model_max_length=length)


def _framed(vocab: Mapping[str, int], merges: list[tuple[str, str]]) -> Any:
    from tokenizers.processors import TemplateProcessing

    backend = Tokenizer(models.BPE(vocab=dict(vocab), merges=merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    frame = [(name, vocab[name]) for name in ("[CLS]", "[SEP]")]
    backend.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=frame)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=8192, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", unk_token="[UNK]",
    )  # fmt: skip


def _clip() -> Any:
    letters = sorted({*pre_tokenizers.ByteLevel.alphabet()})
    pieces = [*letters, *(f"{letter}</w>" for letter in letters), "th", "the</w>"]
    vocab = {piece: number for number, piece in enumerate([*pieces, "<|startoftext|>", "<|endoftext|>"])}
    merges = [("t", "h"), ("th", "e</w>")]
    return transformers.CLIPTokenizer(vocab=vocab, merges=merges, model_max_length=POSITIONS)


def _character_bpe(specials: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """As Llama 2's: metaspace, bytes for what is unknown, merges of a few pairs."""
    letters = sorted(set("▁" + "".join(SENTENCES).replace(" ", "")))
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("e", "r"), ("i", "n"), ("▁", "a")]
    pieces = [*specials, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *("".join(pair) for pair in merges)]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}, merges


def _sentencepiece(family: str, directory: Path) -> Any:
    """Two vocabularies in one table for Marian, one with language tokens for M2M; both are read by slow tokenizers."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="pip install sentencepiece")
    names = ("source.spm", "target.spm") if family == "marian" else ("sentencepiece.bpe.model",)
    texts = {"source.spm": SENTENCES[:9], "target.spm": SENTENCES[4:], "sentencepiece.bpe.model": SENTENCES}
    pieces: list[str] = ["</s>", "<unk>"] if family == "marian" else ["<s>", "<pad>", "</s>", "<unk>"]
    for name in names:
        with (directory / name).open("wb") as out:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts[name] * 3), model_writer=out, vocab_size=120, num_threads=1,
                character_coverage=1.0, hard_vocab_limit=False, minloglevel=2,
            )  # fmt: skip
        model = sentencepiece.SentencePieceProcessor(model_file=str(directory / name))
        pieces += [model.id_to_piece(place) for place in range(model.get_piece_size())]
    pieces = [*dict.fromkeys(pieces), *(["<pad>"] if family == "marian" else [])]
    vocab = {piece: number for number, piece in enumerate(pieces)}
    (directory / "vocab.json").write_text(json.dumps(vocab), "utf-8")
    kind = transformers.MarianTokenizer if family == "marian" else transformers.M2M100Tokenizer
    files = {"source_spm": "source.spm", "target_spm": "target.spm", "vocab": "vocab.json"} if family == "marian" else {
        "vocab_file": "vocab.json", "spm_file": "sentencepiece.bpe.model"}  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Marian's recommends a package
        tokenizer = kind(**{name: str(directory / file) for name, file in files.items()}, model_max_length=POSITIONS)
    tokenizer.save_pretrained(directory)
    return tokenizer


def _settings(family: str, vocabulary: int) -> dict[str, Any]:
    size: dict[str, Any] = {"vocab_size": vocabulary}
    if family == "t5":
        return size | {"d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": 2 * WIDTH, "num_layers": DEPTH,
                       "num_decoder_layers": DEPTH - 1, "num_heads": HEADS, "relative_attention_num_buckets": 8,
                       "relative_attention_max_distance": 20, "decoder_start_token_id": 0}  # fmt: skip
    if family in ("bart", "m2m_100"):
        return size | DECODED | {"decoder_start_token_id": 2}
    if family == "marian":
        return size | DECODED | {"decoder_start_token_id": vocabulary - 1, "scale_embedding": True}
    if family == "gpt2":
        return size | {"n_embd": WIDTH, "n_layer": DEPTH, "n_head": HEADS, "n_positions": POSITIONS}
    if family == "clip":
        small = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS, "intermediate_size": WIDTH}
        return {"text_config": size | COMMON | {"eos_token_id": vocabulary - 1, "bos_token_id": vocabulary - 2},
                "vision_config": small | {"image_size": 8, "patch_size": 4}, "projection_dim": WIDTH}  # fmt: skip
    if family == "modernbert":
        return size | COMMON | {"max_position_embeddings": 8192, "local_attention": 16,
                                "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2}  # fmt: skip
    if family == "deberta-v2":
        return size | COMMON | {"relative_attention": True, "position_buckets": 16, "pos_att_type": ["p2c", "c2p"],
                                "norm_rel_ebd": "layer_norm", "share_att_key": True, "max_relative_positions": -1,
                                "position_biased_input": False, "type_vocab_size": 0}  # fmt: skip
    return size | COMMON | ({"num_key_value_heads": 2} if family == "llama" else {"rotary_pct": 0.25})


def _ids(tokenizer: Any) -> dict[str, int | None]:
    if isinstance(tokenizer, transformers.CLIPTokenizer):
        return {}
    names = {"pad": tokenizer.pad_token_id, "bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id}
    return {f"{name}_token_id": value for name, value in names.items()}
