"""Any metric of evalign as a `torchmetrics.Metric`: texts to `update`, scores from `compute`.

    metric = EvalignMetric("bertscore")
    metric.update(candidates, references)
    metric.compute()                       # {"precision": ..., "recall": ..., "f1": ...}

Texts are kept as tensors of their UTF-8 bytes, so that torchmetrics can gather them from all processes as it gathers
everything else: the rows of rank 0 in their order, then those of rank 1. What is computed is what one process would
compute over all rows, IDF and pooled corpus scores included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric as TorchMetric

from evalign.integrations.judging import errors_as, judge_of
from evalign.metrics.base import Metric
from evalign.metrics.rows import make_rows
from evalign.types import Row

NO_BYTES = torch.zeros(0, dtype=torch.uint8)


class EvalignMetric(TorchMetric):  # type: ignore[misc]  # not seen by the type checker, as transformers is not
    """Scores of all texts since the last `reset`: of each field the corpus score, with `segments` a number per row."""

    is_differentiable = False
    full_state_update = False
    texts: list[Tensor]
    lengths: list[Tensor]
    reference_counts: list[Tensor]
    source_counts: list[Tensor]

    def __init__(self, metric: str | Metric = "bertscore", segments: bool = False, **options: Any) -> None:
        super().__init__(**options)
        with errors_as(ValueError):
            self.judge = judge_of(metric)
        self.segments = segments
        for state in ("texts", "lengths", "reference_counts", "source_counts"):
            self.add_state(state, default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:  # there a constant of the class
        """What `MetricTracker` asks for."""
        return self.judge.higher_is_better

    def update(
        self,
        preds: str | Sequence[str],
        target: Iterable[str] | Iterable[Iterable[str]] | None = None,
        sources: Iterable[str] | None = None,
    ) -> None:
        """Candidates, one reference or several for each, and the sources of metrics that read them."""
        with errors_as(ValueError):
            rows = make_rows([preds] if isinstance(preds, str) else preds, target, sources)
            self.judge.check_needs(rows)
        self._keep(rows)

    def _keep(self, rows: Sequence[Row]) -> None:
        written = [text.encode("utf-8", "surrogatepass") for row in rows for text in _texts(row)]
        joined = b"".join(written)
        self.texts.append(torch.frombuffer(bytearray(joined), dtype=torch.uint8) if joined else NO_BYTES)
        self.lengths.append(torch.tensor([len(text) for text in written], dtype=torch.int64))
        self.reference_counts.append(torch.tensor([len(row.references) for row in rows], dtype=torch.int64))
        self.source_counts.append(torch.tensor([row.source is not None for row in rows], dtype=torch.int64))

    def compute(self) -> dict[str, Tensor]:
        """Field -> its score."""
        with errors_as(ValueError):
            rows = self._gathered()
            report = self.judge.report(self.judge.scorer(rows), rows)
        if self.segments:
            return {field: torch.tensor(report[field], dtype=torch.float64) for field in report.fields}
        return {field: torch.tensor(report.corpus(field), dtype=torch.float64) for field in report.fields}

    def _sync_dist(self, *given: Any, **options: Any) -> None:
        """A process without rows sends none of the right kind; torchmetrics would send floats, and gloo abort."""
        if not self.lengths:
            self._keep([])
        super()._sync_dist(*given, **options)

    def _gathered(self) -> list[Row]:
        texts, rows = self._decoded(), []
        counts = zip(_joined(self.reference_counts).tolist(), _joined(self.source_counts).tolist(), strict=True)
        for place, (references, sources) in enumerate(counts, 1):
            candidate = next(texts)
            others = [next(texts) for _ in range(references + sources)]
            source = others[references] if sources else None
            rows.append(Row(str(place), candidate, tuple(others[:references]), source))
        return rows

    def _decoded(self) -> Iterator[str]:
        written, start = bytes(_joined(self.texts).cpu().numpy()), 0
        for length in _joined(self.lengths).tolist():
            yield written[start : start + length].decode("utf-8", "surrogatepass")
            start += length


def _texts(row: Row) -> Iterator[str]:
    """The candidate, the references, the source."""
    yield row.candidate
    yield from row.references
    if row.source is not None:
        yield row.source


def _joined(state: list[Tensor] | Tensor) -> Tensor:
    """A state is a list, or one tensor after it was gathered."""
    if isinstance(state, Tensor):
        return state
    return torch.cat(state) if state else torch.zeros(0, dtype=torch.int64)
