"""How likely a model finds one text after another: pairs of texts in, log-probabilities of the second's tokens out.

Torch-free: limits, batches by length, and what happens when memory is short are here; the models themselves, which
only give `read` and `forward`, are in torch_models.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalign.encoders.batching import in_halves
from evalign.encoders.locating import locate
from evalign.encoders.model_pool import ModelPool
from evalign.encoders.windows import cut
from evalign.errors import ModelError, TextTooLongError
from evalign.types import Floats, Tokens

TOKEN_BUDGET = 512  # source and target tokens per batch; best on CPU of 192 to 4096 with opus-mt
LOWEST = float(np.log(np.finfo(np.float32).tiny))  # -87.34: no log-probability below it leaves, so none is infinite
SOURCE_STEP = 8  # sources whose lengths differ by less share batches, so that targets can be sorted too
POLICIES = ("truncate", "error")

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LikelihoodChoice:
    """Everything that decides a log-probability, and how many threads compute it."""

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
    """The tokens of both texts, and the log-probability of each target token given the source and what precedes it."""

    source: Tokens
    target: Tokens
    log_probs: Floats

    @property
    def score(self) -> float:
        """The mean over target tokens, special ones included; the lowest value if either text is empty."""
        return LOWEST if self.empty else float(np.mean(self.log_probs))

    @property
    def empty(self) -> bool:
        """Nothing to predict, or nothing to predict it from."""
        return self.source.empty or self.target.empty

    @property
    def counts(self) -> dict[str, int]:
        """What a user should know about how both texts were read, and how many tokens were impossible."""
        total = Counter(self.source.counts) + Counter(self.target.counts)
        impossible = int((self.log_probs <= LOWEST).sum())
        return total | ({"impossible-token": impossible} if impossible and not self.empty else {})


class LikelihoodModel(ABC):
    """A model that predicts tokens, without the model itself: limits, batches, and the order of the results."""

    name: str  # as signatures show it: weights and the start of their digest
    kind: str  # seq2seq or causal
    labels: str  # which special tokens are predicted too: start+end, end, none
    max_length: int

    def __init__(self, choice: LikelihoodChoice) -> None:
        self.choice = choice
        self.token_budget = choice.token_budget
        self.real_tokens = 0  # what benchmarks report: tokens of texts,
        self.padded_tokens = 0  # and tokens the model was run on

    @abstractmethod
    def read(self, passages: Sequence[Passage]) -> list[tuple[Tokens, Tokens]]:
        """Source and target tokens of each pair, nothing cut; special tokens as the model was trained with them."""

    @abstractmethod
    def forward(self, batch: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """Log-probabilities of every target token of each pair of ids."""

    def fit(self, source: Tokens, target: Tokens, prompt_length: int) -> tuple[Tokens, Tokens]:
        """Both texts within what the model reads, cut or refused."""
        return self.within(source, self.max_length, prompt_length), self.within(target, self.max_length)

    def __call__(self, passages: Sequence[Passage]) -> list[Likelihood]:
        """Each distinct pair is run once, in batches of similar lengths."""
        distinct = list(dict.fromkeys(passages))
        read = zip(distinct, self.read(distinct), strict=True)
        tokens = {passage: self.fit(*pair, passage.prompt_length) for passage, pair in read}
        filled = {passage: sides for passage, sides in tokens.items() if not any(side.empty for side in sides)}
        pairs = [(tuple(source.ids.tolist()), tuple(target.ids.tolist())) for source, target in filled.values()]
        log_probs = {passage: np.full(len(target), LOWEST) for passage, (_, target) in tokens.items()}
        log_probs.update(zip(filled, self._run(pairs), strict=True))
        results = {passage: Likelihood(*sides, log_probs[passage]) for passage, sides in tokens.items()}
        return [results[passage] for passage in passages]

    def within(self, tokens: Tokens, limit: int, prompt_length: int = 0) -> Tokens:
        """A text cut before its last `prompt_length` characters and its closing special tokens."""
        excess = len(tokens) - limit
        if excess <= 0:
            return tokens
        if self.choice.overlong == "error":
            raise TextTooLongError(
                f"{tokens.text[:40]!r}...: {len(tokens)} tokens and the model reads {limit}; shorten it, "
                "or use overlong=truncate"
            )
        own = np.flatnonzero(~tokens.special & (tokens.offsets[:, 0] < len(tokens.text) - prompt_length))
        if len(own) <= excess:
            raise ModelError(f"max_length={limit} leaves no room beside prompt and special tokens")
        return cut(tokens, own[len(own) - excess :])

    def _run(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        results: dict[int, Floats] = {}
        for batch in plan_pairs(pairs, self.token_budget):
            results |= zip(batch, self._run_batch([pairs[place] for place in batch]), strict=True)
        return [results[place] for place in range(len(pairs))]

    def _run_batch(self, rows: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        def described(row: int) -> str:
            source, target = map(len, rows[row])
            return f"{self.choice.device} with one pair of {source} and {target} tokens"

        parts = in_halves(lambda part: self.forward(rows[part]), slice(0, len(rows)), self._halve_budget, described)
        log_probs = [values for part in parts for values in part]
        if any(np.isnan(values).any() for values in log_probs):
            raise ModelError(f"{self.name} gave NaN; damaged weights, or use arithmetic=fp32")
        return [np.clip(values, LOWEST, 0.0) for values in log_probs]

    def _halve_budget(self) -> None:
        self.token_budget = max(1, self.token_budget // 2)


def plan_pairs(pairs: Sequence[tuple[Ids, Ids]], budget: int) -> list[list[int]]:
    """Indices by batch: rows times (longest source + longest target) stays within `budget`.

    Pairs of one source stay together, because a batch encodes each of its sources once.
    """
    longest: dict[Ids, int] = {}
    for source, target in pairs:
        longest[source] = max(longest.get(source, 0), len(target))

    def order(place: int) -> tuple[int, int, Ids, int, int]:
        source, target = pairs[place]
        return -(-len(source) // SOURCE_STEP), longest[source], source, len(target), place

    batches: list[list[int]] = []
    widest = (0, 0)
    for place in sorted(range(len(pairs)), key=order, reverse=True):
        sizes = [max(wide, len(ids)) for wide, ids in zip(widest, pairs[place], strict=True)]
        if not batches or (len(batches[-1]) + 1) * sum(sizes) > budget:
            batches.append([])
            sizes = [len(ids) for ids in pairs[place]]
        batches[-1].append(place)
        widest = (sizes[0], sizes[1])
    return batches


_pool: ModelPool[LikelihoodModel] = ModelPool(2)


def open_likelihood(choice: LikelihoodChoice) -> LikelihoodModel:
    """The model of a choice, from the pool or loaded now; a directory that was written anew is another model."""
    located = locate(choice.model)

    def load() -> LikelihoodModel:
        from evalign.encoders.likelihood.torch_models import load_likelihood

        return load_likelihood(located, choice)

    return _pool.get((choice, located, located.written()), load)


def close_likelihoods() -> None:
    """Drops every loaded model, and frees its memory once no scorer holds it."""
    _pool.clear()
