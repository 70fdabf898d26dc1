"""A corpus that is scored in several requests: each carries the results of those before it, and they are added here.

    results of this request's rows + `earlier` of the request -> results of all rows so far, as /api/score answers them

Every result says `sums`: of its rows' scores, from which means follow, and of their statistics, from which the corpus
scores of metrics that pool follow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from evalign.analysis.scoring import Result
from evalign.errors import SpecError
from evalign.metrics.base import Metric
from evalign.metrics.signature import common_signature
from evalign.server.errors import ApiError
from evalign.server.pair_requests import pooled_scores
from evalign.server.request_models import EarlierResult
from evalign.types import Row, Segment


def results_so_far(
    metrics: Sequence[Metric],
    results: Sequence[Result],
    rows: Sequence[Row],
    segments: Mapping[str, Sequence[Segment]],
    earlier: Sequence[EarlierResult],
) -> list[dict[str, Any]]:
    """The entries of `results` in a corpus document, metric by metric; `segments` are those of `rows` by metric."""
    parts: dict[str, dict[str, list[dict[str, Any]]]] = {str(metric): defaultdict(list) for metric in metrics}
    for part in earlier:
        if part.metric not in parts:
            raise _unfit(f"{part.metric} is not among the metrics of this request")
        parts[part.metric][part.system].append(part.model_dump(exclude_none=True))
    for result in results:
        scored = zip(rows, segments[result.metric], strict=True)
        own = [segment.statistics for row, segment in scored if row.system == result.system and segment.statistics]
        sums: dict[str, Any] = {"scores": {field: total.value for field, total in result.sums.items()}}
        sums |= {"statistics": _column_sums(own)} if own else {}
        parts[result.metric][result.system].append(result.to_dict() | {"sums": sums})
    totals = []
    for metric in metrics:
        systems = parts[str(metric)]
        signature = _common_signature([part["signature"] for own in systems.values() for part in own])
        totals += [_total(metric, own) | {"signature": signature} for own in systems.values()]
    return totals


def _total(metric: Metric, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One result of several parts of a system's rows; a single one stays as it is."""
    if len(parts) == 1:
        return parts[0]
    scored = [part for part in parts if part["n"]]
    if any(set(part["sums"]["scores"]) != set(metric.fields) for part in scored):
        raise _unfit(f"results of {metric.name} have sums of {', '.join(metric.fields)}")
    rows = sum(part["n"] for part in scored)
    flags: Counter[str] = Counter()
    for part in parts:
        flags.update(part["flags"])
    sums: dict[str, Any] = {
        "scores": {field: math.fsum(part["sums"]["scores"][field] for part in scored) for field in metric.fields}
    }
    total = {"system": parts[0]["system"], "metric": str(metric), "n": rows, "flags": dict(flags), "sums": sums}
    total |= {"scores": {field: value / rows for field, value in sums["scores"].items()} if rows else {}}
    if metric.pools and rows:
        sums["statistics"] = _column_sums([part["sums"].get("statistics", []) for part in scored])
        total |= {"corpus": pooled_scores(metric, sums["statistics"], rows)}
    failed = sum(part.get("failed", 0) for part in parts)
    return total | ({"failed": failed} if failed else {})


def _column_sums(rows: Sequence[Sequence[float]]) -> list[float]:
    try:
        return [math.fsum(column) for column in zip(*rows, strict=True)]
    except ValueError:
        raise _unfit("statistics of one metric are equally many in all results") from None


def _common_signature(signatures: Sequence[str]) -> str:
    try:
        return common_signature(signatures)
    except SpecError:
        raise _unfit("all results of a metric have its signature") from None


def _unfit(expected: str) -> ApiError:
    return ApiError(422, "bad-input", f"earlier: expected what /api/score answered: {expected}")
