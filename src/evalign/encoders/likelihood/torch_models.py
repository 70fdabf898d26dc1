"""Encoder-decoders and causal language models that say how likely a text is (extra `torch`).

A batch encodes each distinct source once, and the output layer runs only where a token is predicted (output_layer.py):
neither padding nor a causal model's prompt passes through it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from evalign.encoders.batching import pad
from evalign.encoders.likelihood.base import Ids, LikelihoodChoice, LikelihoodModel, Passage
from evalign.encoders.likelihood.output_layer import OutputHead
from evalign.encoders.likelihood.tokenizers import context_tokens, continuation_tokens, source_tokens, target_tokens
from evalign.encoders.locating import Located
from evalign.encoders.tokenizer import NO_LIMIT
from evalign.encoders.torch_hf import load, load_tokenizer, loading, torch_threads
from evalign.errors import MissingExtraError, UnsupportedModelError
from evalign.types import Floats, Tokens

try:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM
    from transformers.modeling_outputs import BaseModelOutput
except ImportError as error:
    raise MissingExtraError("bartscore", "torch") from error

SHIFT = "prepare_decoder_input_ids_from_labels"
UNSTATED = 1024  # the limit where neither model nor tokenizer states one: the original script's


def load_likelihood(located: Located, choice: LikelihoodChoice) -> LikelihoodModel:
    """The model in a directory: an encoder-decoder or a causal language model, whichever its config says."""
    with loading(located.directory, choice.device):
        config = AutoConfig.from_pretrained(located.directory)
    kind = Seq2SeqModel if config.is_encoder_decoder else CausalModel
    return kind(located, choice)


class TorchModel(LikelihoodModel):
    """What both kinds share: loading, limits, and log-probabilities of chosen places."""

    auto: Any

    def __init__(self, located: Located, choice: LikelihoodChoice) -> None:
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
        """Log-probabilities of every target token of each pair."""
        with torch.inference_mode(), torch_threads(self.choice.threads):
            return self._predict(batch)

    @abstractmethod
    def _predict(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """The same inside torch's inference mode."""

    def _tensors(self, sequences: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Ids and mask, padded on the right whatever side the tokenizer pads: masked, so any id will do."""
        unused = self._model.config.pad_token_id
        size = self._model.get_input_embeddings().num_embeddings
        ids, mask = pad(sequences, unused if isinstance(unused, int) and 0 <= unused < size else 0)
        self.real_tokens += int(mask.sum())
        self.padded_tokens += mask.size
        return torch.from_numpy(ids).to(self.choice.device), torch.from_numpy(mask).to(self.choice.device)

    def _log_probs(self, run: Callable[[], Any], places: Any, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """The log-probabilities of each pair's target, predicted at the true cells of `places`."""
        labels = torch.tensor([token for _, target in batch for token in target], device=places.device)
        values = self._head.log_probs(run, places, labels).double().cpu().numpy()
        return list(np.split(values, np.cumsum([len(target) for _, target in batch])[:-1]))

    def _limit(self, chosen: int) -> int:
        stated = [getattr(self._model.config, name, None) for name in ("max_position_embeddings", "n_positions")]
        stated.append(self.tokenizer.model_max_length)
        limits = [int(limit) for limit in stated if limit is not None and 0 < limit < NO_LIMIT] or [UNSTATED]
        return min([*limits, chosen or limits[0]])


class Seq2SeqModel(TorchModel):
    """BART, T5, Marian, M2M and others: the source is encoded, the target predicted."""

    kind = "seq2seq"
    auto = AutoModelForSeq2SeqLM

    def __init__(self, located: Located, choice: LikelihoodChoice) -> None:
        super().__init__(located, choice)
        if getattr(self.tokenizer, "tgt_lang", "") is None:  # until a passage names it
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

    def read(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """Both sides as the model was trained; a pair of languages at a time."""
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
        labels, wanted = self._tensors([target for _, target in batch])
        run = partial(
            self._model,
            encoder_outputs=BaseModelOutput(last_hidden_state=states[rows]),
            attention_mask=mask[rows],
            decoder_input_ids=self._shifted(labels),
            use_cache=False,
        )
        return self._log_probs(run, wanted.bool(), batch)

    def _shifted(self, labels: Any) -> Any:
        """What the decoder has read before each label: the start token, then the labels up to it."""
        if hasattr(self._model, SHIFT):  # mBART's start is the language
            return getattr(self._model, SHIFT)(labels)
        return torch.cat([torch.full_like(labels[:, :1], int(self._start)), labels[:, :-1]], dim=1)


class CausalModel(TorchModel):
    """GPT-like models: the target goes on after the source and the prompt; only its own tokens count."""

    kind = "causal"
    auto = AutoModelForCausalLM
    labels = "none"

    def read(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """The context with its special tokens, the target without any."""
        contexts = [passage.source if passage.prompt_length else passage.source.rstrip() for passage in passages]
        targets = continuation_tokens(self.tokenizer, [passage.target for passage in passages], contexts)
        return list(zip(context_tokens(self.tokenizer, contexts), targets, strict=True))

    def fit(self, source: Tokens, target: Tokens, prompt_length: int) -> tuple[Tokens, Tokens]:
        """One limit for both: the target may take what the source leaves, and at least half."""
        target = self.within(target, max(self.max_length - len(source), self.max_length // 2))
        return self.within(source, self.max_length - len(target), prompt_length), target

    def _predict(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        ids, mask = self._tensors([source + target for source, target in batch])
        before = torch.zeros_like(mask, dtype=torch.bool)  # the places that predict: each one before a target token
        for row, (source, target) in enumerate(batch):
            before[row, len(source) - 1 : len(source) + len(target) - 1] = True
        return self._log_probs(partial(self._model, ids, attention_mask=mask, use_cache=False), before, batch)
