"""Metrics as Hugging Face `evaluate` modules, loaded from this file.

>>> import evaluate
>>> from evalign.integrations import evaluate_module
>>> rouge = evaluate.load(evaluate_module.PATH, "rouge1")
>>> rouge.compute(predictions=["a cat", "two dogs"], references=["the cat", "two cats"], stem=True)["f1"]
[0.5, 0.5]

The second argument names the metric; options of the metric are arguments of `compute`. Every field is a list with a
number per row, `corpus` has the pooled score of metrics that have one, and `hashcode` is the signature.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from evalign.core.registry import metric_class
from evalign.core.rows import make_rows
from evalign.errors import InputError
from evalign.integrations.shared import errors_as

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


class EvaluateModule(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """The metric named by `config_name`."""

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score these rows, or those added before; other arguments are options of the metric."""
        inputs = {name: options.pop(name) for name in [*self._feature_names(), "sources"] if name in options}
        result: dict[str, Any] | None = super().compute(
            predictions=predictions, references=references, **inputs, options=options
        )
        return result

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Check and add every row: evaluate checks only the first, and converts numbers and lists in others to text."""
        with errors_as(ValueError):
            rows = make_rows(predictions, references, inputs.get("sources"))
            if not rows:
                raise InputError("no rows to score: predictions are empty")
        reference_lists = None if references is None else [list(row.references) for row in rows]
        super().add_batch(predictions=[row.candidate for row in rows], references=reference_lists, **inputs)

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Add one row."""
        single = {name: [text] for name, text in inputs.items()}
        self.add_batch(predictions=[prediction], references=None if reference is None else [reference], **single)

    def _info(self) -> evaluate.MetricInfo:
        with errors_as(ValueError):
            metric_type = metric_class(self._name())
        text = datasets.Value("string")
        inputs = {"predictions": text, "sources": text, "references": datasets.Sequence(text)}
        return evaluate.MetricInfo(
            description=f"{self._name()}: {metric_type.about}",
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features(
                {name: inputs[name] for name in inputs if name in ("predictions", *metric_type.needs)}
            ),
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[Any] | None = None,
        sources: list[str] | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        name = self._name()
        with errors_as(ValueError):  # as modules of evaluate do
            report = metric_class(name).from_options(options or {}, name).score(predictions, references, sources)
        pooled = {"corpus": dict(report.pooled)} if report.pooled else {}
        return {field: report[field].tolist() for field in report.fields} | pooled | {"hashcode": report.signature}

    def _name(self) -> str:
        return DEFAULT if self.config_name in (None, "default") else str(self.config_name)
