"""Likelihoods by encoder-decoders and causal language models (extra `torch`).

A batch encodes each distinct source once, and the output layer runs only where a token is predicted (`OutputHead`):
neither padding nor a causal model's prompt passes through it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evalign.core import Bools, Floats, Ints, Tokens
from evalign.encoders.base import pad
from evalign.encoders.likelihood import Ids, LikelihoodModel, LikelihoodOptions, Passage
from evalign.encoders.tokenizer import NO_LIMIT, as_tokens, utf8
from evalign.encoders.torch_hf import load, load_tokenizer, loading, torch_threads
from evalign.encoders.weights import Located
from evalign.errors import MissingExtraError, SpecError, UnsupportedModelError

try:
    import torch
    from torch.nn.functional import linear
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
    from transformers.modeling_outputs import BaseModelOutput
except ImportError as error:
    raise MissingExtraError("bartscore", "torch") from error

SHIFT = "prepare_decoder_input_ids_from_labels"
DEFAULT_LIMIT = 1024  # tokens, where neither model nor tokenizer states a limit: the original script's


def load_likelihood(located: Located, choice: LikelihoodOptions) -> LikelihoodModel:
    """Load the model of a directory: an encoder-decoder or a causal language model, by its config."""
    with loading(located.directory, choice.device):
        config = AutoConfig.from_pretrained(located.directory)
    model_class = Seq2SeqModel if config.is_encoder_decoder else CausalModel
    return model_class(located, choice)


class TorchModel(LikelihoodModel):
    """Base of both types of models: loading, limits, and log-probabilities at selected positions."""

    auto: Any

    def __init__(self, located: Located, choice: LikelihoodOptions) -> None:
        super().__init__(choice)
        self.name = located.pinned
        with loading(located.directory, choice.device):
            self._model = load(self.auto, located.directory, choice.arithmetic).to(choice.device).eval()
        self.tokenizer = load_tokenizer(located.directory)
        if hasattr(self.tokenizer, "punc_normalizer"):  # Marian's: scores must not depend on an optional package
            self.tokenizer.punc_normalizer = str
        self._head = OutputHead(self._model)
        self.max_length = self._limit(choice.max_length)

    def forward(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """Return the log-probabilities of every target token of each pair."""
        with torch.inference_mode(), torch_threads(self.choice.threads):
            return self._predict(batch)

    @abstractmethod
    def _predict(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """Run `forward` inside torch's inference mode."""

    def _tensors(self, sequences: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return ids and mask, padded on the right whatever the tokenizer's side; padding is masked, any id will do."""
        unused = self._model.config.pad_token_id
        size = self._model.get_input_embeddings().num_embeddings
        ids, mask = pad(sequences, unused if isinstance(unused, int) and 0 <= unused < size else 0)
        self.real_tokens += int(mask.sum())
        self.padded_tokens += mask.size
        return torch.from_numpy(ids).to(self.choice.device), torch.from_numpy(mask).to(self.choice.device)

    def _log_probs(self, run: Callable[[], Any], positions: Any, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """Return the log-probabilities of each pair's target, predicted at the true cells of `positions`."""
        labels = torch.tensor([token for _, target in batch for token in target], device=positions.device)
        values = self._head.log_probs(run, positions, labels).double().cpu().numpy()
        return list(np.split(values, np.cumsum([len(target) for _, target in batch])[:-1]))

    def _limit(self, chosen: int) -> int:
        stated = [getattr(self._model.config, name, None) for name in ("max_position_embeddings", "n_positions")]
        stated.append(self.tokenizer.model_max_length)
        limits = [int(limit) for limit in stated if limit is not None and 0 < limit < NO_LIMIT] or [DEFAULT_LIMIT]
        return min([*limits, chosen or limits[0]])


class Seq2SeqModel(TorchModel):
    """BART, T5, Marian, M2M and others: the source is encoded, the target predicted."""

    architecture = "seq2seq"
    auto = AutoModelForSeq2SeqLM

    def __init__(self, located: Located, choice: LikelihoodOptions) -> None:
        super().__init__(located, choice)
        if getattr(self.tokenizer, "tgt_lang", "") is None:  # until a passage sets it
            self.tokenizer.tgt_lang = self.tokenizer.src_lang
        (framed,) = target_tokens(self.tokenizer, ["a"], getattr(self.tokenizer, "tgt_lang", ""))
        ends = [name for name, special in (("start", framed.special[0]), ("end", framed.special[-1])) if special]
        self.labels = "+".join(ends) or "none"
        start = getattr(self._model.config, "decoder_start_token_id", None)
        self._start = self._model.generation_config.decoder_start_token_id if start is None else start
        if self._start is None and not hasattr(self._model, SHIFT):
            raise UnsupportedModelError(
                f"{located.directory}: config.json does not say which token decoding starts with "
                "(decoder_start_token_id)"
            )

    def tokenize(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """Tokenise both sides as in the model's training; one pair of languages at a time."""
        by_languages: dict[tuple[str, str], list[Passage]] = {}
        for passage in passages:
            by_languages.setdefault((passage.source_language, passage.target_language), []).append(passage)
        tokens: dict[Passage, tuple[Tokens, Tokens]] = {}
        for (source, target), group in by_languages.items():
            sources = source_tokens(self.tokenizer, [passage.source for passage in group], source)
            targets = target_tokens(self.tokenizer, [passage.target for passage in group], target)
            tokens |= zip(group, zip(sources, targets, strict=True), strict=True)
        return [tokens[passage] for passage in passages]

    def _predict(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        sources = list(dict.fromkeys(source for source, _ in batch))
        ids, mask = self._tensors(sources)
        states = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        rows = torch.tensor([sources.index(source) for source, _ in batch], device=ids.device)
        labels, target_mask = self._tensors([target for _, target in batch])
        run = partial(
            self._model,
            encoder_outputs=BaseModelOutput(last_hidden_state=states[rows]),
            attention_mask=mask[rows],
            decoder_input_ids=self._shifted(labels),
            use_cache=False,
        )
        return self._log_probs(run, target_mask.bool(), batch)

    def _shifted(self, labels: Any) -> Any:
        """Return the decoder's input for each label: the start token, then the labels before it."""
        if hasattr(self._model, SHIFT):  # mBART's start is the language
            return getattr(self._model, SHIFT)(labels)
        return torch.cat([torch.full_like(labels[:, :1], int(self._start)), labels[:, :-1]], dim=1)


class CausalModel(TorchModel):
    """GPT-like models: the target follows the source and the prompt; only target tokens count."""

    architecture = "causal"
    auto = AutoModelForCausalLM
    labels = "none"

    def tokenize(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """Return the context with its special tokens, the target without."""
        contexts = [passage.source if passage.prompt_length else passage.source.rstrip() for passage in passages]
        targets = continuation_tokens(self.tokenizer, [passage.target for passage in passages], contexts)
        return list(zip(context_tokens(self.tokenizer, contexts), targets, strict=True))

    def fit(self, source: Tokens, target: Tokens, prompt_length: int) -> tuple[Tokens, Tokens]:
        """Apply one limit to both: the target may use the tokens that the source leaves, and at least half."""
        target = self.within(target, max(self.max_length - len(source), self.max_length // 2))
        return self.within(source, self.max_length - len(target), prompt_length), target

    def _predict(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        ids, mask = self._tensors([source + target for source, target in batch])
        before = torch.zeros_like(mask, dtype=torch.bool)  # the predicting positions: each before a target token
        for row, (source, target) in enumerate(batch):
            before[row, len(source) - 1 : len(source) + len(target) - 1] = True
        return self._log_probs(partial(self._model, ids, attention_mask=mask, use_cache=False), before, batch)


TILE_ROWS = 4096  # of the vocabulary: 256 positions take 159 ms on one core, untiled 198
ROUNDING = 3e-5


class OutputHead:
    """Output layer: last hidden states in, log-probabilities out."""

    def __init__(self, model: Any) -> None:
        self._layer = model.get_output_embeddings()
        if self._layer is None:
            raise UnsupportedModelError(f"{model.name_or_path}: this model has no output layer that predicts tokens")
        biases = getattr(self._layer, "bias", None), getattr(model, "final_logits_bias", None)
        flat = [bias.reshape(-1) for bias in biases if bias is not None]
        self._bias = sum(flat[1:], flat[0]) if flat else None
        # True if logits are the product of this layer alone: some models scale or cap them. Tested once, below.
        linear_layer = isinstance(self._layer, torch.nn.Linear) and self._layer.weight.dtype == torch.float32
        self._plain: bool | None = None if linear_layer else False

    def log_probs(self, run: Callable[[], Any], positions: Any, labels: Any) -> Any:
        """Return one value per position; `labels` in the order of the mask's true cells."""
        if self._plain is None:
            full, tiled = self._by_model(run, positions, labels), self._by_tiles(run, positions, labels)
            self._plain = bool((full - tiled).abs().max() < ROUNDING)
            return tiled if self._plain else full
        return (self._by_tiles if self._plain else self._by_model)(run, positions, labels)

    def _by_model(self, run: Callable[[], Any], positions: Any, labels: Any) -> Any:
        with self._reading(lambda states: states[positions].unsqueeze(0)):
            logits = run().logits[0].float()
        return logits.gather(1, labels[:, None])[:, 0] - torch.logsumexp(logits, dim=1)

    def _by_tiles(self, run: Callable[[], Any], positions: Any, labels: Any) -> Any:
        """Compute log-probabilities by a running sum of exponentials, relative to the largest logit so far."""
        captured: list[Any] = []

        def capture(states: Any) -> Any:
            captured.append(states[positions])
            return states[:1, :1]  # the model continues with a single position

        with self._reading(capture):
            run()
        (states,), weight = captured, self._layer.weight
        largest = states.new_full((len(states),), -torch.inf)
        total = torch.zeros_like(largest)
        for start in range(0, len(weight), TILE_ROWS):
            tile = slice(start, start + TILE_ROWS)
            logits = linear(states, weight[tile], None if self._bias is None else self._bias[tile])
            higher = torch.maximum(largest, logits.amax(dim=1))
            total = total * (largest - higher).exp() + logits.sub_(higher[:, None]).exp_().sum(dim=1)
            largest = higher
        label_logits = torch.linalg.vecdot(states, weight[labels])
        return (label_logits if self._bias is None else label_logits + self._bias[labels]) - largest - total.log()

    @contextmanager
    def _reading(self, change: Callable[[Any], Any]) -> Iterator[None]:
        """Pass `change(hidden states)` to the output layer inside this block."""
        hook = self._layer.register_forward_pre_hook(lambda _, inputs: (change(inputs[0]), *inputs[1:]))
        try:
            yield
        finally:
            hook.remove()


SPACE = "▁"  # SentencePiece's symbol for a space
SEARCH_CHARS = 30  # maximum distance of the next piece: normalised characters may be missing


def source_tokens(tokenizer: Any, texts: Sequence[str], language: str = "") -> list[Tokens]:
    """Tokenise the side that a model reads."""
    _set_language(tokenizer, "src_lang", language)
    return _tokens(tokenizer, texts, "text")


def target_tokens(tokenizer: Any, texts: Sequence[str], language: str = "") -> list[Tokens]:
    """Tokenise the side that a model predicts; Marian has another vocabulary for it, M2M another language token."""
    _set_language(tokenizer, "tgt_lang", language)
    return _tokens(tokenizer, texts, "text_target")


def context_tokens(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokenise the context of a causal model; white space at its end may belong to the prompt."""
    return _tokens(tokenizer, texts, "text", ends=True)


def continuation_tokens(tokenizer: Any, texts: Sequence[str], contexts: Sequence[str]) -> list[Tokens]:
    """Tokenise continuations: without special tokens, after a space if the context ends without one."""
    adds_space = tokenizer.tokenize("a")[0].startswith(SPACE)
    gaps = [
        "" if adds_space or context[-1:].isspace() or not text.strip() else " "
        for text, context in zip(texts, contexts, strict=True)
    ]
    return _tokens(tokenizer, texts, "text", gaps)


def _set_language(tokenizer: Any, side: str, language: str) -> None:
    has_languages = hasattr(tokenizer, "src_lang")
    if not has_languages and not language:
        return
    if not has_languages:
        raise SpecError(f"lang={language}: this model has no language tokens; leave it out")
    if not language:
        raise SpecError("this model needs languages: give lang=, and source_lang= if it scores sources")
    try:
        setattr(tokenizer, side, language)
        (framed,) = _encoded(tokenizer, ["a"], "text" if side == "src_lang" else "text_target")["input_ids"]
        supported = tokenizer.unk_token_id not in framed[:1] + framed[-1:]
    except (KeyError, ValueError):
        supported = False
    if not supported:
        raise SpecError(f"lang={language}: not a language of this model")


def _tokens(
    tokenizer: Any, texts: Sequence[str], side: str, gaps: Sequence[str] | None = None, ends: bool = False
) -> list[Tokens]:
    """Tokenise texts without surrounding white space.

    Args:
        tokenizer: Tokenizer of transformers.
        texts: Texts.
        side: Argument of the tokenizer: `text` or `text_target`.
        gaps: Strings before the texts; with gaps, texts get no special tokens.
        ends: Keep white space at the ends.
    """
    if not texts:
        return []
    cleaned = [utf8(text.lstrip() if ends and text.strip() else text.strip()) for text in texts]
    before = gaps or [""] * len(texts)
    encoded = _encoded(tokenizer, [gap + text for gap, text in zip(before, cleaned, strict=True)], side, gaps is None)
    tokens = []
    for index, (text, ids) in enumerate(zip(texts, encoded["input_ids"], strict=True)):
        pieces = tokenizer.convert_ids_to_tokens(ids)
        if tokenizer.is_fast:
            special, offsets = encoded["special_tokens_mask"][index], encoded["offset_mapping"][index]
        else:
            special = _special(tokenizer, ids)
            offsets = _offsets(pieces, special, cleaned[index])
        tokenized = as_tokens(text, (pieces, ids, special, offsets), tokenizer.unk_token_id, len(before[index]))
        within = np.where(tokenized.special[:, None], 0, np.clip(tokenized.offsets, 0, len(text)))
        tokens.append(replace(tokenized, offsets=within.astype(np.int32)))
    return tokens


def _encoded(tokenizer: Any, texts: Sequence[str], side: str, framed: bool = True) -> Any:
    """Call the tokenizer on texts of one side, without truncation or padding."""
    extra_outputs = {"return_offsets_mapping": True, "return_special_tokens_mask": True} if tokenizer.is_fast else {}
    return tokenizer(
        **{side: list(texts)}, add_special_tokens=framed, return_attention_mask=False, padding=False,
        truncation=False, verbose=False, **extra_outputs,
    )  # fmt: skip


def _special(tokenizer: Any, ids: list[int]) -> Bools:
    """Return a mask of the tokens before the first and after the last token of the text."""
    languages = getattr(tokenizer, "lang_token_to_id", {}).values()
    framing = {*tokenizer.all_special_ids, *languages} - {tokenizer.unk_token_id}
    content = [index for index, token in enumerate(ids) if token not in framing]
    special = np.ones(len(ids), dtype=bool)
    if content:
        special[content[0] : content[-1] + 1] = False
    return special


def _offsets(pieces: Sequence[str], special: Bools, text: str) -> Ints:
    """Find each piece in the text; a piece that is not found, because it was normalised, covers no character."""
    offsets = np.zeros((len(pieces), 2), dtype=np.int64)
    cursor = 0
    for index, piece in enumerate(pieces):
        if special[index]:
            continue
        surface = piece.replace(SPACE, " ").strip()
        start = text.find(surface, cursor, cursor + SEARCH_CHARS + len(surface)) if surface else -1
        stop = start + len(surface) if start >= 0 else cursor
        offsets[index] = (start if start >= 0 else cursor, stop)
        cursor = stop
    return offsets
