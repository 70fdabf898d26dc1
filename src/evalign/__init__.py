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
    from evalign.metrics.base import Metric
    from evalign.metrics.bertscore import BERTScore
    from evalign.metrics.compat import score
    from evalign.metrics.lisascore import LiSAScore
    from evalign.metrics.moverscore import MoverScore
    from evalign.metrics.registry import metric
    from evalign.metrics.signature import Signature
    from evalign.metrics.vectors import EndToken, SBert
    from evalign.text.idf import IDFTable
    from evalign.types import Alignment, Embedded, LayerReport, Report, Row, Segment, Tokens

_HOMES = {
    "Alignment": "types",
    "BERTScore": "metrics.bertscore",
    "Embedded": "types",
    "EndToken": "metrics.vectors",
    "EvalignError": "errors",
    "IDFTable": "text.idf",
    "LayerReport": "types",
    "LiSAScore": "metrics.lisascore",
    "Metric": "metrics.base",
    "MoverScore": "metrics.moverscore",
    "Report": "types",
    "Row": "types",
    "SBert": "metrics.vectors",
    "Segment": "types",
    "Signature": "metrics.signature",
    "Tokens": "types",
    "metric": "metrics.registry",
    "score": "metrics.compat",
}

__all__ = [
    "Alignment",
    "BERTScore",
    "Embedded",
    "EndToken",
    "EvalignError",
    "IDFTable",
    "LayerReport",
    "LiSAScore",
    "Metric",
    "MoverScore",
    "Report",
    "Row",
    "SBert",
    "Segment",
    "Signature",
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
