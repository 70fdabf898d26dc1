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
    from evalign.metrics.evalign_metric import Recipe
    from evalign.metrics.learned import Learned
    from evalign.metrics.lexical.bleu import BLEU
    from evalign.metrics.lexical.chrf import ChrF
    from evalign.metrics.lexical.meteor.metric import Meteor
    from evalign.metrics.lexical.readability import FKGL, SMOG
    from evalign.metrics.lexical.rouge.metrics import (
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
    from evalign.metrics.registry import metric
    from evalign.metrics.sentence_vectors import EndToken, SBert
    from evalign.metrics.signature import Signature
    from evalign.text.idf import IDFTable
    from evalign.types import Alignment, Embedded, LayerReport, Report, Row, Segment, Tokens

_HOMES = {
    "Alignment": "types",
    "BARTScore": "metrics.bartscore",
    "BERTScore": "metrics.bertscore",
    "BLEU": "metrics.lexical.bleu",
    "ChrF": "metrics.lexical.chrf",
    "Embedded": "types",
    "EndToken": "metrics.sentence_vectors",
    "EvalignError": "errors",
    "FKGL": "metrics.lexical.readability",
    "IDFTable": "text.idf",
    "LSTM": "metrics.lstm",
    "LayerReport": "types",
    "Learned": "metrics.learned",
    "LiSAScore": "metrics.lisascore",
    "Meteor": "metrics.lexical.meteor.metric",
    "Metric": "metrics.base",
    "MoverScore": "metrics.moverscore",
    "Recipe": "metrics.evalign_metric",
    "Report": "types",
    "Rouge1": "metrics.lexical.rouge.metrics",
    "Rouge2": "metrics.lexical.rouge.metrics",
    "Rouge3": "metrics.lexical.rouge.metrics",
    "Rouge4": "metrics.lexical.rouge.metrics",
    "Rouge5": "metrics.lexical.rouge.metrics",
    "Rouge6": "metrics.lexical.rouge.metrics",
    "Rouge7": "metrics.lexical.rouge.metrics",
    "Rouge8": "metrics.lexical.rouge.metrics",
    "Rouge9": "metrics.lexical.rouge.metrics",
    "RougeL": "metrics.lexical.rouge.metrics",
    "RougeLsum": "metrics.lexical.rouge.metrics",
    "RougeMEAD": "metrics.lexical.rouge.metrics",
    "RougeS": "metrics.lexical.rouge.metrics",
    "RougeSU": "metrics.lexical.rouge.metrics",
    "RougeW": "metrics.lexical.rouge.metrics",
    "Row": "types",
    "SARI": "metrics.lexical.sari",
    "SBert": "metrics.sentence_vectors",
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
