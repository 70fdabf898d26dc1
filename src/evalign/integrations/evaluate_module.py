"""Every metric of evalign as a Hugging Face `evaluate` module, loaded from this file.

>>> import evaluate
>>> from evalign.integrations import evaluate_module
>>> rouge = evaluate.load(evaluate_module.PATH, "rouge1")
>>> rouge.compute(predictions=["a cat", "two dogs"], references=["the cat", "two cats"], stem=True)["f1"]
[0.5, 0.5]

The second argument names the metric; options of the metric are given to `compute`. Every field comes as a list with a
number per row, `corpus` has the pooled score of metrics that have one, and `hashcode` is the signature.
"""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from evalign.errors import InputError
from evalign.integrations.judging import errors_as
from evalign.metrics.registry import metric_class
from evalign.metrics.rows import make_rows

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

    def compute(self, *, predictions: Any = None, references: Any = None, **given: Any) -> dict[str, Any] | None:
        """The scores of these rows, or of those added before; what is no input is an option of the metric."""
        inputs = {name: given.pop(name) for name in [*self._feature_names(), "sources"] if name in given}
        found: dict[str, Any] | None = super().compute(
            predictions=predictions, references=references, **inputs, options=given
        )
        return found

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Checks every row: evaluate looks at the first only, and makes a text of a number or a list in the second."""
        with errors_as(ValueError):
            rows = make_rows(predictions, references, inputs.get("sources"))
            if not rows:
                raise InputError("no rows to judge: predictions are empty")
        several = None if references is None else [list(row.references) for row in rows]
        super().add_batch(predictions=[row.candidate for row in rows], references=several, **inputs)

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """One row."""
        single = {name: [text] for name, text in inputs.items()}
        self.add_batch(predictions=[prediction], references=None if reference is None else [reference], **single)

    def _info(self) -> evaluate.MetricInfo:
        with errors_as(ValueError):
            kind = metric_class(self._name())
        text = datasets.Value("string")
        inputs = {"predictions": text, "sources": text, "references": datasets.Sequence(text)}
        return evaluate.MetricInfo(
            description=f"{self._name()}: {kind.about}",
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features({name: inputs[name] for name in inputs if name in ("predictions", *kind.needs)}),
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[Any] | None = None,
        sources: list[str] | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        name = self._name()
        with errors_as(ValueError):  # what modules of evaluate raise
            report = metric_class(name).from_options(options or {}, name).score(predictions, references, sources)
        pooled = {"corpus": dict(report.pooled)} if report.pooled else {}
        return {field: report[field].tolist() for field in report.fields} | pooled | {"hashcode": report.signature}

    def _name(self) -> str:
        return DEFAULT if self.config_name in (None, "default") else str(self.config_name)
