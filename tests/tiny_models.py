"""Tiny random models of every family, written the way transformers writes the large ones.

Every parameter is moved by a seeded generator: freshly made biases are 0 and norms are 1, and a bug in
reading them would not show. Vocabularies come from the sentences below, the same ones in every run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

WIDTH, DEPTH, HEADS, POSITIONS = 32, 3, 4, 160
FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "albert", "electra")

SENTENCES = [
    "The river rose overnight and covered the lower fields.",
    "Nobody expected the old bridge to hold, but it did.",
    "She bought three apples, two pears and a loaf of bread.",
    "The committee will publish its report before the end of June.",
    "A cat slept on the warm roof while the children played below.",
    "Interest rates were raised again, the central bank said on Thursday.",
    "He never answered the letter; perhaps it was lost.",
    "In 1987 the company moved 250 workers to another town.",
    "What happens if the engine stops? Call the number on the door!",
    "Der Fluss stieg über Nacht und bedeckte die unteren Felder.",
    "Le café était fermé, mais l'équipe attendait déjà.",
    "Their translation reads well, though some words are missing.",
]


def build_model(family: str, directory: Path, seed: int = 0, head: str = "Model", **changes: Any) -> Path:
    """Config, weights and tokenizer of one random model; `head` is `Model` or, say, `ForMaskedLM`."""
    tokenizer = build_tokenizer(family)
    prefix = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}
    prefix |= {"distilbert": "DistilBert", "mpnet": "MPNet", "albert": "Albert", "electra": "Electra"}
    settings = _settings(family, len(tokenizer)) | _ids(tokenizer) | changes
    config = getattr(transformers, f"{prefix[family]}Config")(**settings)
    torch.manual_seed(seed)
    model = getattr(transformers, f"{prefix[family]}{head}")(config).eval()
    perturb(model, seed)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def perturb(model: torch.nn.Module, seed: int = 0) -> None:
    """Adds noise to every parameter, so that none has a value a graph could leave out unnoticed."""
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)


def build_tokenizer(family: str) -> Any:
    """WordPiece, byte-level BPE or Unigram, in the transformers class of the family."""
    length = POSITIONS
    if family in ("bert", "distilbert", "electra"):
        specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        return transformers.BertTokenizer(vocab=_wordpiece(specials, "[UNK]"), model_max_length=length)
    if family == "mpnet":
        specials = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
        return transformers.MPNetTokenizer(vocab=_wordpiece(specials, "[UNK]"), model_max_length=length)
    if family == "roberta":
        vocab, merges = _byte_bpe(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        return transformers.RobertaTokenizer(vocab=vocab, merges=merges, model_max_length=length)
    if family == "albert":
        specials = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
        return transformers.AlbertTokenizer(vocab=_unigram(specials), model_max_length=length)
    vocab = _unigram(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    if family == "camembert":
        return transformers.CamembertTokenizer(vocab=vocab, additional_special_tokens=[], model_max_length=length)
    return transformers.XLMRobertaTokenizer(vocab=vocab, model_max_length=length)


def edit_json(file: Path, **changes: Any) -> None:
    """Replaces top-level keys of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8")


def _settings(family: str, vocabulary: int) -> Mapping[str, Any]:
    if family == "distilbert":
        return {
            "vocab_size": vocabulary, "dim": WIDTH, "n_layers": DEPTH, "n_heads": HEADS, "hidden_dim": 2 * WIDTH,
            "max_position_embeddings": POSITIONS, "initializer_range": 0.2,
        }  # fmt: skip
    settings: dict[str, Any] = {
        "vocab_size": vocabulary, "hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH, "initializer_range": 0.2, "max_position_embeddings": POSITIONS,
    }  # fmt: skip
    if family in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        settings["max_position_embeddings"] = POSITIONS + 2  # their table starts behind the padding id
    if family in ("roberta", "xlm-roberta", "camembert"):
        settings["type_vocab_size"] = 1
    if family in ("albert", "electra"):
        settings["embedding_size"] = WIDTH // 2
    return settings


def _ids(tokenizer: Any) -> dict[str, int]:
    names = {"pad": tokenizer.pad_token_id, "bos": tokenizer.cls_token_id, "eos": tokenizer.sep_token_id}
    return {f"{name}_token_id": value for name, value in names.items()}


def _wordpiece(specials: list[str], unknown: str) -> dict[str, int]:
    """Characters, and the word starts and ends seen twice; the trainers of `tokenizers` break ties at random."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    text = tokenizer.normalizer.normalize_str(" ".join(SENTENCES))
    words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    starts = _frequent(word[:size] for word in words for size in range(2, 9) if size <= len(word))
    ends = _frequent(word[-size:] for word in words for size in range(2, 6) if size < len(word))
    letters = sorted(set("".join(words)))
    pieces = [*letters, *(f"##{letter}" for letter in letters), *starts, *(f"##{end}" for end in ends)]
    return {piece: number for number, piece in enumerate([*specials, *pieces])}


def _byte_bpe(specials: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=specials, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def _unigram(specials: list[str]) -> list[tuple[str, float]]:
    words = [f"▁{word}" for word in " ".join(SENTENCES).split()]
    letters = sorted(set("".join(words)))
    starts = _frequent(word[:size] for word in words for size in range(2, 9) if size <= len(word))
    ends = _frequent(word[-size:] for word in words for size in range(2, 6) if size < len(word))
    pieces = dict.fromkeys([*starts, *ends])
    scored = [*((letter, -6.0) for letter in letters), *((piece, -7.0 - len(piece) / 10) for piece in pieces)]
    return [*((special, 0.0) for special in specials), *scored]


def _frequent(pieces: Iterable[str]) -> list[str]:
    return sorted(piece for piece, count in Counter(pieces).items() if count > 1)


def open_ort(directory: Path, layers: tuple[int, ...] | None = None, precision: str = "fp32", **reading: Any) -> Any:
    """The ONNX encoder of a directory; `reading` are options of `EncodeOptions`."""
    from evalign.encoders.base import EncodeOptions
    from evalign.encoders.ort import OrtEncoder

    return OrtEncoder(directory, read_json(directory / "config.json"), layers, EncodeOptions(**reading), precision)


def open_torch(directory: Path, layers: tuple[int, ...] | None = None, **reading: Any) -> Any:
    """The torch encoder of a directory."""
    from evalign.encoders.base import EncodeOptions
    from evalign.encoders.torch_hf import TorchEncoder

    return TorchEncoder(directory, read_json(directory / "config.json"), layers, EncodeOptions(**reading))


def hidden_states(directory: Path, sequences: list[list[int]]) -> list[np.ndarray]:
    """Plain transformers, one sequence at a time: (layers, tokens, width) each."""
    model = transformers.AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
    with torch.inference_mode():
        states = [model(torch.tensor([ids]), output_hidden_states=True).hidden_states for ids in sequences]
    return [torch.stack(one)[:, 0].numpy() for one in states]


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """The largest distance between L2-normalised token vectors."""
    unit = [vectors / np.linalg.norm(vectors, axis=-1, keepdims=True) for vectors in (one, other)]
    return float(np.linalg.norm(unit[0] - unit[1], axis=-1).max())


def read_json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text("utf-8"))
