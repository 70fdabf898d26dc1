"""Every metric of evalign as a Hugging Face `evaluate` module, loaded from this file.

    import evaluate
    from evalign.integrations import evaluate_module

    bertscore = evaluate.load(evaluate_module.PATH, "bertscore")
    bertscore.compute(predictions=candidates, references=references, model="minilm")

The second argument names the metric; options of the metric are given to `compute`. Every field comes as a list with a
number per row, `corpus` has the pooled score of metrics that have one, and `hashcode` is the signature.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from evalign.errors import EvalignError
from evalign.metrics.registry import METRICS, metric_class

PATH = __file__
DEFAULT = "bertscore"
INPUTS = """
Args:
    predictions: list of texts to judge
    references: list with a reference, or a list of references, for every prediction
    sources: list of source texts, for metrics that read them
    **options: options of the metric; `evalign metrics NAME` lists them
Returns:
    for every field of the metric a list with a number per prediction; `corpus`, of metrics that pool their counts over
    all rows; `hashcode`, the signature that repeats the score
"""


class Evalign(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """The metric that `config_name` names."""

    def _info(self) -> evaluate.MetricInfo:
        kind = metric_class(self._name())
        text, several = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
        sources = {"sources": text} if "source" in kind.needs else {}
        return evaluate.MetricInfo(
            description=f"{self._name()}: {kind.about}",
            citation="",
            inputs_description=INPUTS,
            features=[
                datasets.Features({"predictions": text, **sources, "references": references})
                for references in ((several, text) if "references" in kind.needs else ())
            ]
            or datasets.Features({"predictions": text, **sources}),
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[Any] | None = None,
        sources: list[str] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        name = self._name()
        try:
            report = metric_class(name).from_options(options, name).score(predictions, references, sources)
        except EvalignError as error:  # what modules of evaluate raise
            raise ValueError(str(error)) from error
        pooled = {"corpus": dict(report.pooled)} if report.pooled else {}
        return {field: report[field].tolist() for field in report.fields} | pooled | {"hashcode": report.signature}

    def _name(self) -> str:
        return self.config_name if self.config_name in METRICS else DEFAULT
