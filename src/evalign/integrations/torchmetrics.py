"""Metrics as `torchmetrics.Metric`: texts to `update`, scores from `compute`.

    metric = EvalignTorchMetric("bertscore")
    metric.update(candidates, references)
    metric.compute()                       # {"precision": ..., "recall": ..., "f1": ...}

Texts are stored as tensors of their UTF-8 bytes, which torchmetrics gathers from all processes: the rows of rank 0 in
order, then those of rank 1. The scores are those of one process over all rows, IDF and pooled corpus scores included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric as TorchMetric

from evalign.core import Row
from evalign.core.metric import Metric
from evalign.core.rows import make_rows
from evalign.integrations.shared import errors_as, resolved

NO_BYTES = torch.zeros(0, dtype=torch.uint8)


class EvalignTorchMetric(TorchMetric):  # type: ignore[misc]  # not seen by the type checker, as transformers is not
    """Scores of all texts since the last `reset`: corpus scores of the fields, with `segments` a number per row."""

    is_differentiable = False
    full_state_update = False
    texts: list[Tensor]
    lengths: list[Tensor]
    reference_counts: list[Tensor]
    source_counts: list[Tensor]

    def __init__(self, metric: str | Metric = "bertscore", segments: bool = False, **options: Any) -> None:
        super().__init__(**options)
        with errors_as(ValueError):
            self.evalign_metric = resolved(metric)
        self.segments = segments
        for state in ("texts", "lengths", "reference_counts", "source_counts"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:  # a constant of the class in torchmetrics
        """Direction of the metric, for `MetricTracker`."""
        return self.evalign_metric.higher_is_better

    def update(
        self,
        preds: str | Sequence[str],
        target: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        """Add candidates, one or several references for each, and the sources of metrics that read them."""
        with errors_as(ValueError):
            rows = make_rows([preds] if isinstance(preds, str) else preds, target, sources)
            self.evalign_metric.check_needs(rows)
        self._keep(rows)

    def _keep(self, rows: Sequence[Row]) -> None:
        written = [text.encode("utf-8", "surrogatepass") for row in rows for text in _texts(row)]
        joined = b"".join(written)
        self.texts.append(torch.frombuffer(bytearray(joined), dtype=torch.uint8) if joined else NO_BYTES)
        self.lengths.append(torch.tensor([len(text) for text in written], dtype=torch.int64))
        self.reference_counts.append(torch.tensor([len(row.references) for row in rows], dtype=torch.int64))
        self.source_counts.append(torch.tensor([row.source is not None for row in rows], dtype=torch.int64))

    def compute(self) -> dict[str, Tensor]:
        """Return the score of each field."""
        with errors_as(ValueError):
            rows = self._gathered()
            report = self.evalign_metric.report(self.evalign_metric.scorer(rows), rows)
            score = report.__getitem__ if self.segments else report.corpus
            return {field: torch.tensor(score(field), dtype=torch.float64) for field in report.fields}

    def _sync_dist(self, *arguments: Any, **options: Any) -> None:
        """Gather the states, with empty tensors of the right type if this process has no rows.

        torchmetrics would send floats, and gloo would abort.
        """
        if not self.lengths:
            self._keep([])
        super()._sync_dist(*arguments, **options)

    def _gathered(self) -> list[Row]:
        texts, rows = self._decoded(), []
        counts = zip(_joined(self.reference_counts).tolist(), _joined(self.source_counts).tolist(), strict=True)
        for number, (references, sources) in enumerate(counts, 1):
            candidate = next(texts)
            remaining = [next(texts) for _ in range(references + sources)]
            source = remaining[references] if sources else None
            rows.append(Row(str(number), candidate, tuple(remaining[:references]), source))
        return rows

    def _decoded(self) -> Iterator[str]:
        written, start = bytes(_joined(self.texts).cpu().numpy()), 0
        for length in _joined(self.lengths).tolist():
            yield written[start : start + length].decode("utf-8", "surrogatepass")
            start += length


def _texts(row: Row) -> Iterator[str]:
    """Yield the candidate, the references and the source."""
    yield row.candidate
    yield from row.references
    if row.source is not None:
        yield row.source


def _joined(state: list[Tensor] | Tensor) -> Tensor:
    """Return a state as one tensor; it is a list before it is gathered."""
    if isinstance(state, Tensor):
        return state
    return torch.cat(state) if state else torch.zeros(0, dtype=torch.int64)
