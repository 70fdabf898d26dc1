"""Likelihood models: pairs of texts in, log-probabilities of the second text's tokens given the first out.

Torch-free: limits, batches by length, and memory errors are handled here; the models themselves, which only implement
`tokenize` and `forward`, are in torch_likelihood.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.core import Floats, Tokens
from evalign.core.installed import DECIDING_IF_INSTALLED, processor, version_of
from evalign.encoders.base import cut, in_halves
from evalign.encoders.loading import ModelPool
from evalign.encoders.weights import locate
from evalign.errors import ModelError, TextTooLongError

TOKEN_BUDGET = 512  # source and target tokens per batch; best on CPU of 192 to 4096 with opus-mt
MIN_LOG_PROB = float(np.log(np.finfo(np.float32).tiny))  # -87.34: lower values are clipped, so none is infinite
SOURCE_LENGTH_STEP = 8  # sources whose lengths differ by less share batches, so that targets can be sorted too
POLICIES = ("truncate", "error")

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LikelihoodOptions:
    """Options that decide a log-probability, and the number of threads."""

    model: str
    arithmetic: str = "fp32"
    device: str = "cpu"
    overlong: str = "truncate"
    max_length: int = 0  # 0: the model's own
    threads: int = 0
    token_budget: int = TOKEN_BUDGET


@dataclass(frozen=True, slots=True)
class Passage:
    """Two texts, of which the second is predicted from the first; their languages, for models with language tokens.

    The last `prompt_length` characters of the source are a prompt: an over-long source is cut before them.
    """

    source: str
    target: str
    source_language: str = ""
    target_language: str = ""
    prompt_length: int = 0


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Tokens of both texts, and the log-probability of each target token given the source and its prefix."""

    source: Tokens
    target: Tokens
    log_probs: Floats

    @property
    def score(self) -> float:
        """Mean over target tokens, special ones included; the minimum value if either text is empty."""
        return MIN_LOG_PROB if self.empty else float(np.mean(self.log_probs))

    @property
    def empty(self) -> bool:
        """True if one of the texts is empty."""
        return self.source.empty or self.target.empty

    @property
    def counts(self) -> dict[str, int]:
        """Flags of both texts, and the number of impossible tokens."""
        total = Counter(self.source.counts) + Counter(self.target.counts)
        impossible = int((self.log_probs <= MIN_LOG_PROB).sum())
        return total | ({"impossible-token": impossible} if impossible and not self.empty else {})


class LikelihoodModel(ABC):
    """Base of models that predict tokens: limits, batches, and the order of the results."""

    name: str  # in signatures: weights and the start of their digest
    architecture: str  # seq2seq or causal
    labels: str  # special tokens that are predicted too: start+end, end, none
    max_length: int

    def __init__(self, choice: LikelihoodOptions) -> None:
        self.choice = choice
        self.token_budget = choice.token_budget
        self.real_tokens = 0  # for benchmarks: tokens of texts
        self.padded_tokens = 0  # for benchmarks: tokens the model was run on

    @abstractmethod
    def tokenize(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """Return source and target tokens of each pair, uncut, with the special tokens of the model's training."""

    @abstractmethod
    def forward(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """Return the log-probabilities of every target token of each pair of ids."""

    def fit(self, source: Tokens, target: Tokens, prompt_length: int) -> tuple[Tokens, Tokens]:
        """Cut both texts to the limits of the model, or raise."""
        return self.within(source, self.max_length, prompt_length), self.within(target, self.max_length)

    def __call__(self, passages: Sequence[Passage]) -> list[Likelihood]:
        """Return the likelihoods of passages; each distinct pair is run once, in batches of similar lengths."""
        distinct = list(dict.fromkeys(passages))
        tokenized = zip(distinct, self.tokenize(distinct), strict=True)
        tokens = {passage: self.fit(*pair, passage.prompt_length) for passage, pair in tokenized}
        filled = {passage: sides for passage, sides in tokens.items() if not any(side.empty for side in sides)}
        pairs = [(tuple(source.ids.tolist()), tuple(target.ids.tolist())) for source, target in filled.values()]
        log_probs = {passage: np.full(len(target), MIN_LOG_PROB) for passage, (_, target) in tokens.items()}
        log_probs.update(zip(filled, self._run(pairs), strict=True))
        results = {passage: Likelihood(*sides, log_probs[passage]) for passage, sides in tokens.items()}
        return [results[passage] for passage in passages]

    def within(self, tokens: Tokens, limit: int, prompt_length: int = 0) -> Tokens:
        """Cut a text before its last `prompt_length` characters and its closing special tokens."""
        excess = len(tokens) - limit
        if excess <= 0:
            return tokens
        if self.choice.overlong == "error":
            raise TextTooLongError(
                f"{tokens.text[:40]!r}...: {len(tokens)} tokens and the model reads {limit}; shorten it, "
                "or use overlong=truncate"
            )
        content = np.flatnonzero(~tokens.special & (tokens.offsets[:, 0] < len(tokens.text) - prompt_length))
        if len(content) <= excess:
            raise ModelError(f"max_length={limit} leaves no room beside prompt and special tokens")
        return cut(tokens, content[len(content) - excess :])

    def _run(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        results: dict[int, Floats] = {}
        for batch in plan_pairs(pairs, self.token_budget):
            results |= zip(batch, self._run_batch([pairs[index] for index in batch]), strict=True)
        return [results[index] for index in range(len(pairs))]

    def _run_batch(self, rows: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        def described(row: int) -> str:
            source, target = map(len, rows[row])
            return f"{self.choice.device} with one pair of {source} and {target} tokens"

        parts = in_halves(lambda part: self.forward(rows[part]), slice(0, len(rows)), self._halve_budget, described)
        log_probs = [values for part in parts for values in part]
        if any(np.isnan(values).any() for values in log_probs):
            raise ModelError(f"{self.name} gave NaN; damaged weights, or use arithmetic=fp32")
        return [np.clip(values, MIN_LOG_PROB, 0.0) for values in log_probs]

    def _halve_budget(self) -> None:
        self.token_budget = max(1, self.token_budget // 2)


def plan_pairs(pairs: Sequence[tuple[Ids, Ids]], budget: int) -> list[list[int]]:
    """Return indices by batch: rows times (longest source + longest target) is at most `budget`.

    Pairs with the same source stay together, because a batch encodes each of its sources once.
    """
    longest: dict[Ids, int] = {}
    for source, target in pairs:
        longest[source] = max(longest.get(source, 0), len(target))

    def order(index: int) -> tuple[int, int, Ids, int, int]:
        source, target = pairs[index]
        return -(-len(source) // SOURCE_LENGTH_STEP), longest[source], source, len(target), index

    batches: list[list[int]] = []
    widest = (0, 0)
    for index in sorted(range(len(pairs)), key=order, reverse=True):
        sizes = [max(size, len(ids)) for size, ids in zip(widest, pairs[index], strict=True)]
        if not batches or (len(batches[-1]) + 1) * sum(sizes) > budget:
            batches.append([])
            sizes = [len(ids) for ids in pairs[index]]
        batches[-1].append(index)
        widest = (sizes[0], sizes[1])
    return batches


_pool: ModelPool[LikelihoodModel] = ModelPool(2)


def open_likelihood(choice: LikelihoodOptions) -> LikelihoodModel:
    """Return the model of a choice, from the pool or loaded now; a directory that was rewritten is a new model."""
    located = locate(choice.model)

    def load() -> LikelihoodModel:
        from evalign.encoders.torch_likelihood import load_likelihood

        return load_likelihood(located, choice)

    return _pool.get((choice, located), load)


def likelihood_content(choice: LikelihoodOptions) -> dict[str, str]:
    """Return the model's digest and what else decides likelihoods here; nothing is loaded."""
    libraries = {library: str(version_of(library)) for library in DECIDING_IF_INSTALLED}
    return {"processor": processor(), **libraries, "model": locate(choice.model).pinned}


def close_likelihoods() -> None:
    """Drop every loaded model, and free its memory once no scorer holds it."""
    _pool.clear()
