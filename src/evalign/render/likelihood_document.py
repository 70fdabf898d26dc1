"""The versioned JSON document of one pair's log-probabilities, which the page draws; schema in `schema/`.

    Likelihoods (BARTScore.likelihoods)  --likelihood_document-->  evalign.likelihood, version 1

As in documents.py: finite numbers, texts without lone surrogates, offsets in code points of the original text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evalign.encoders.likelihood.base import LOWEST, Likelihood
from evalign.encoders.tokenizer import utf8
from evalign.metrics.pair_likelihood import Likelihoods
from evalign.render.alignment_reading import PROBABILITY_BOUNDS
from evalign.render.documents import VERSION, tokens_document
from evalign.types import Tokens
from evalign.version import __version__

LIKELIHOOD = "evalign.likelihood"
DIGITS = 8  # of log-probabilities and of the lowest one, which must stay comparable


def likelihood_document(likelihoods: Likelihoods) -> dict[str, Any]:
    """Every direction with the text that was read, the tokens that were predicted, and their log-probabilities."""
    return {
        "format": LIKELIHOOD,
        "version": VERSION,
        "evalign": __version__,
        "metric": utf8(likelihoods.metric),
        "signature": utf8(likelihoods.signature),
        "scores": {name: float(value) for name, value in likelihoods.scores.items()},
        "lowest": round(LOWEST, DIGITS),
        "probability_bounds": list(PROBABILITY_BOUNDS),
        "directions": [_direction(name, likelihood) for name, likelihood in likelihoods.directions.items()],
        "flags": dict(likelihoods.counts),
    }


def _direction(name: str, likelihood: Likelihood) -> dict[str, Any]:
    source, target = name.split("-to-")
    return {
        "name": name,
        "mean": likelihood.score,
        "read": {"of": source, **_side(likelihood.source)},
        "predicted": {"of": target, **_side(likelihood.target)},
        "log_probs": np.round(likelihood.log_probs.astype(np.float64), DIGITS).tolist(),
        "flags": likelihood.counts,
    }


def _side(tokens: Tokens) -> dict[str, Any]:
    return tokens_document(tokens) | {"cut": _cut(tokens) if tokens.dropped else None}


def _cut(tokens: Tokens) -> list[int]:
    """The stretch that was not read: the widest that no token covers, for a prompt behind it is kept."""
    end = len(tokens.text.rstrip())
    own = [(start, stop) for start, stop in tokens.offsets[~tokens.special].tolist() if start < stop]
    covered, widest = 0, [0, 0]
    for start, stop in [*own, (end, end)]:
        if start - covered > widest[1] - widest[0]:
            widest = [covered, start]
        covered = max(covered, stop)
    return widest
