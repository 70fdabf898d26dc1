"""How likely a model finds one text after another: pairs of texts in, log-probabilities of the second's tokens out.

Torch-free: tokens, batches by length, and what happens when memory is short are here; the models themselves, which
only give `read` and `forward`, are in seq2seq_torch.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from evalign.encoders.locating import Located, locate
from evalign.encoders.out_of_memory import out_of_memory
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
    precision: str = "fp32"
    device: str = "cpu"
    overlong: str = "truncate"
    max_length: int = 0  # 0: the model's own
    threads: int = 0
    token_budget: int = TOKEN_BUDGET


@dataclass(frozen=True, slots=True)
class Passage:
    """What is asked: the second text given the first, and the language of each where the model wants to know it.

    The last `kept` characters of the source are a prompt: what is cut from an over-long source stands before them.
    """

    source: str
    target: str
    source_language: str = ""
    target_language: str = ""
    kept: int = 0


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
        total = dict(self.source.counts)
        for name, count in self.target.counts.items():
            total[name] = total.get(name, 0) + count
        impossible = int((self.log_probs <= LOWEST).sum())
        return total | ({"impossible-token": impossible} if impossible and not self.empty else {})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for the page."""
        return {
            "source": self.source.text,
            "target": self.target.text,
            "pieces": list(self.target.pieces),
            "offsets": self.target.offsets.tolist(),
            "special": self.target.special.tolist(),
            "log_probs": np.round(self.log_probs.astype(float), 6).tolist(),
            "score": self.score,
            "flags": self.counts,
        }


class LikelihoodModel(ABC):
    """Everything but the model itself."""

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

    def fit(self, source: Tokens, target: Tokens, kept: int) -> tuple[Tokens, Tokens]:
        """Both texts within what the model reads, cut or refused."""
        return self.within(source, self.max_length, kept), self.within(target, self.max_length)

    def __call__(self, passages: Sequence[Passage]) -> list[Likelihood]:
        """Each distinct pair is run once, in batches of similar lengths."""
        distinct = list(dict.fromkeys(passages))
        read = zip(distinct, self.read(distinct), strict=True)
        tokens = [self.fit(*pair, passage.kept) for passage, pair in read]
        asked = [place for place, (source, target) in enumerate(tokens) if not (source.empty or target.empty)]
        pairs = [(tuple(tokens[place][0].ids.tolist()), tuple(tokens[place][1].ids.tolist())) for place in asked]
        found = dict(zip(asked, self._run(pairs), strict=True))
        results = {
            passage: Likelihood(*tokens[place], found.get(place, np.full(len(tokens[place][1]), LOWEST)))
            for place, passage in enumerate(distinct)
        }
        return [results[passage] for passage in passages]

    def within(self, tokens: Tokens, limit: int, kept: int = 0) -> Tokens:
        """A text cut before its last `kept` characters and its closing special tokens."""
        excess = len(tokens) - limit
        if excess <= 0:
            return tokens
        if self.choice.overlong == "error":
            raise TextTooLongError(
                f"{tokens.text[:40]!r}...: {len(tokens)} tokens and the model reads {limit}; shorten it, "
                "or use overlong=truncate"
            )
        own = np.flatnonzero(~tokens.special & (tokens.offsets[:, 0] < len(tokens.text) - kept))
        if len(own) <= excess:
            raise ModelError(f"max_length={limit} leaves no room beside prompt and special tokens")
        keep = np.ones(len(tokens), dtype=bool)
        keep[own[len(own) - excess :]] = False
        return replace(tokens.keep(keep), dropped=excess)

    def _run(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[Floats]:
        """By batches; where one does not fit into memory it is halved, and so is the budget of later calls."""
        results: dict[int, Floats] = {}
        waiting = plan_pairs(pairs, self.token_budget)[::-1]
        while waiting:
            batch = waiting.pop()
            rows = [pairs[place] for place in batch]
            try:
                found = self.forward(rows)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if len(batch) == 1:
                    source, target = (len(ids) for ids in rows[0])
                    raise ModelError(
                        f"out of memory on {self.choice.device} with one pair of {source} and {target} tokens; "
                        "lower max_length, use a smaller model, or another device"
                    ) from error
                self.token_budget = max(1, self.token_budget // 2)
                waiting += [batch[len(batch) // 2 :], batch[: len(batch) // 2]]
                continue
            results |= {place: self._checked(values) for place, values in zip(batch, found, strict=True)}
        return [results[place] for place in range(len(pairs))]

    def _checked(self, values: Floats) -> Floats:
        if np.isnan(values).any():
            raise ModelError(f"{self.name} gave NaN; damaged weights, or use precision=fp32")
        return np.asarray(np.clip(values, LOWEST, 0.0))


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


def open_likelihood(choice: LikelihoodChoice) -> LikelihoodModel:
    """A loaded model is kept; a directory that was written anew is another model."""
    located = locate(choice.model)
    small = (file for file in located.directory.iterdir() if file.is_file() and file.suffix != ".safetensors")
    state = tuple(sorted((file.name, file.stat().st_mtime_ns) for file in small))
    return _open(choice, replace(located, directory=located.directory.resolve()), state)


def close_likelihoods() -> None:
    """Forgets every loaded model, and frees its memory once no scorer holds it."""
    _open.cache_clear()


@lru_cache(maxsize=2)
def _open(choice: LikelihoodChoice, located: Located, _state: tuple[tuple[str, int], ...]) -> LikelihoodModel:
    from evalign.encoders.likelihood.torch_models import load_likelihood

    return load_likelihood(located, choice)
