"""evalign judges generated text by aligning it with reference text.

    >>> import evalign
    >>> bert = evalign.metric("bertscore")
    >>> report = bert.score(["a cat sat"], ["the cat sat down"])
    >>> report["f1"], report.signature

Names are loaded when first used: `import evalign` itself loads no heavy library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalign.version import __version__

if TYPE_CHECKING:
    from evalign.errors import EvalignError
    from evalign.metrics.bartscore import BARTScore
    from evalign.metrics.base import Metric
    from evalign.metrics.bertscore import BERTScore
    from evalign.metrics.compat import score
    from evalign.metrics.learned import Learned
    from evalign.metrics.lexical.bleu import BLEU
    from evalign.metrics.lexical.chrf import ChrF
    from evalign.metrics.lexical.meteor import Meteor
    from evalign.metrics.lexical.readability import FKGL, SMOG
    from evalign.metrics.lexical.rouge import (
        Rouge1,
        Rouge2,
        Rouge3,
        Rouge4,
        Rouge5,
        Rouge6,
        Rouge7,
        Rouge8,
        Rouge9,
        RougeL,
        RougeLsum,
        RougeMEAD,
        RougeS,
        RougeSU,
        RougeW,
    )
    from evalign.metrics.lexical.sari import SARI
    from evalign.metrics.lexical.ter import TER
    from evalign.metrics.lisascore import LiSAScore
    from evalign.metrics.lstm import LSTM
    from evalign.metrics.moverscore import MoverScore
    from evalign.metrics.recipe import Recipe
    from evalign.metrics.registry import metric
    from evalign.metrics.signature import Signature
    from evalign.metrics.vectors import EndToken, SBert
    from evalign.text.idf import IDFTable
    from evalign.types import Alignment, Embedded, LayerReport, Report, Row, Segment, Tokens

_HOMES = {
    "Alignment": "types",
    "BARTScore": "metrics.bartscore",
    "BERTScore": "metrics.bertscore",
    "BLEU": "metrics.lexical.bleu",
    "ChrF": "metrics.lexical.chrf",
    "Embedded": "types",
    "EndToken": "metrics.vectors",
    "EvalignError": "errors",
    "FKGL": "metrics.lexical.readability",
    "IDFTable": "text.idf",
    "LSTM": "metrics.lstm",
    "LayerReport": "types",
    "Learned": "metrics.learned",
    "LiSAScore": "metrics.lisascore",
    "Meteor": "metrics.lexical.meteor",
    "Metric": "metrics.base",
    "MoverScore": "metrics.moverscore",
    "Recipe": "metrics.recipe",
    "Report": "types",
    "Rouge1": "metrics.lexical.rouge",
    "Rouge2": "metrics.lexical.rouge",
    "Rouge3": "metrics.lexical.rouge",
    "Rouge4": "metrics.lexical.rouge",
    "Rouge5": "metrics.lexical.rouge",
    "Rouge6": "metrics.lexical.rouge",
    "Rouge7": "metrics.lexical.rouge",
    "Rouge8": "metrics.lexical.rouge",
    "Rouge9": "metrics.lexical.rouge",
    "RougeL": "metrics.lexical.rouge",
    "RougeLsum": "metrics.lexical.rouge",
    "RougeMEAD": "metrics.lexical.rouge",
    "RougeS": "metrics.lexical.rouge",
    "RougeSU": "metrics.lexical.rouge",
    "RougeW": "metrics.lexical.rouge",
    "Row": "types",
    "SARI": "metrics.lexical.sari",
    "SBert": "metrics.vectors",
    "SMOG": "metrics.lexical.readability",
    "Segment": "types",
    "Signature": "metrics.signature",
    "TER": "metrics.lexical.ter",
    "Tokens": "types",
    "metric": "metrics.registry",
    "score": "metrics.compat",
}

__all__ = [
    "Alignment",
    "BARTScore",
    "BERTScore",
    "BLEU",
    "ChrF",
    "Embedded",
    "EndToken",
    "EvalignError",
    "FKGL",
    "IDFTable",
    "LSTM",
    "LayerReport",
    "Learned",
    "LiSAScore",
    "Meteor",
    "Metric",
    "MoverScore",
    "Recipe",
    "Report",
    "Rouge1",
    "Rouge2",
    "Rouge3",
    "Rouge4",
    "Rouge5",
    "Rouge6",
    "Rouge7",
    "Rouge8",
    "Rouge9",
    "RougeL",
    "RougeLsum",
    "RougeMEAD",
    "RougeS",
    "RougeSU",
    "RougeW",
    "Row",
    "SARI",
    "SBert",
    "SMOG",
    "Segment",
    "Signature",
    "TER",
    "Tokens",
    "__version__",
    "metric",
    "score",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evalign' has no attribute {name!r}")
    return getattr(import_module(f"evalign.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
