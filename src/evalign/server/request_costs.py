"""Costs of a request, checked before it starts: tokens, pairs, cells; above the limits an ApiError 422.

Tokens are those of each metric's encoder; for metrics without an encoder, words and punctuation marks are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalign.core import Row
from evalign.core.metric import Metric
from evalign.core.scoring import check_stopped
from evalign.encoders.base import Encoder
from evalign.encoders.loading import open_encoder
from evalign.errors import TextTooLongError
from evalign.metrics.token_metric import TokenMetric
from evalign.server.errors import ApiError
from evalign.server.settings import RequestLimits

WORD = re.compile(r"\w+|[^\w\s]")
CHARACTERS_PER_TOKEN = 50  # limit for texts without spaces: a word of 100,000 characters is expensive too
CACHE_BYTES = 32 * 2**20  # of vectors per model: few texts are sent to a server twice
TYPICAL_STATISTICS = 20  # per row of a metric that pools: BLEU has 10, chrF 18, METEOR 23
# Costs of a comparison in draws of one row (20 ns), measured and rounded up.
PAIR_COST = 15_000  # of two systems, for any number of resamples
RESAMPLE_COST = 2_000  # for any number of rows: its random generators
POOLED_COST = 1_000  # of a corpus score that is not a mean, per resample, ...
STATISTIC_COST = 50  # ... and of each of its sums
SEARCH_STEPS_PER_CELL = 4  # of METEOR's beam search: 150 ns each, and identical words can all be matched
CELL_COSTS = {"ter": 100, "sinkhorn": 50}  # of a pair of tokens, where the work cannot be interrupted; else 1


def check_rows(rows: Sequence[Row], metrics: Sequence[Metric], limits: RequestLimits) -> None:
    """Raise if there are too many rows, pairs, tokens or cells for any of the metrics."""
    pairs = sum(max(1, len(row.references)) for row in rows)
    for unit, count, limit in (("rows", len(rows), limits.rows), ("pairs", pairs, limits.pairs)):
        if count > limit:
            raise ApiError(422, f"too-many-{unit}", f"{count:,} {unit}; this server takes {limit:,} in one request")
    paths = [f"rows[{number}].{side}" for number, row in enumerate(rows) for side, _ in _texts(row)]
    texts = [text for row in rows for _, text in _texts(row)]
    _check_characters(paths, texts, limits)
    checked = set()
    for metric in metrics:
        check_stopped()
        key = metric.encoder_spec() if isinstance(metric, TokenMetric) else None, _cell_cost(metric)
        if key not in checked:  # metrics of one encoder have the same tokens
            checked.add(key)
            lengths = _lengths(texts, metric)
            _check_tokens(paths, lengths, limits)
            _check_cells(rows, iter(lengths), metric, limits)
        if metric.searches:
            _check_search(rows, metric, limits)


def check_comparison(rows: int, systems: int, widths: Sequence[int], samples: int, limits: RequestLimits) -> None:
    """Raise if the tests would take too long.

    Args:
        rows: Number of rows.
        systems: Number of systems.
        widths: Statistics per row of each metric, 0 for a mean.
        samples: Number of resamples.
        limits: RequestLimits of a request.
    """
    if systems > limits.systems:
        message = f"{systems:,} systems; this server compares {limits.systems:,} in one request"
        raise ApiError(422, "too-many-systems", message)
    pairs = systems * (systems - 1) // 2
    scoring = [POOLED_COST + STATISTIC_COST * width if width else 0 for width in widths]
    if pairs * sum(PAIR_COST + samples * (rows + RESAMPLE_COST + cost) for cost in scoring) > limits.resamples:
        message = f"{samples:,} samples, {rows:,} rows, {pairs:,} pairs of systems, {len(widths)} metrics"
        raise ApiError(422, "too-many-resamples", f"{message} are too many for this server; use fewer")


def check_texts(texts: Sequence[str], limits: RequestLimits) -> None:
    """Raise if there are too many or too long texts for an IDF table."""
    if len(texts) > limits.texts:
        raise ApiError(422, "too-many-texts", f"{len(texts):,} texts; this server takes {limits.texts:,} at once")
    _check_characters((f"texts[{index}]" for index in range(len(texts))), texts, limits)


def metric_encoder(metric: TokenMetric) -> Encoder:
    """Return the metric's encoder, loaded, with a vector cache of at most `CACHE_BYTES`."""
    memory = open_encoder(metric.encoder_spec())
    memory.max_bytes = CACHE_BYTES
    return memory.encoder


def _check_tokens(paths: Sequence[str], lengths: Sequence[int], limits: RequestLimits) -> None:
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[longest] > limits.tokens:
        message = f"{paths[longest]} has {lengths[longest]:,} tokens; this server takes {limits.tokens:,}"
        raise ApiError(422, "too-many-tokens", f"{message}. Shorten it, or score it in parts")
    if sum(lengths) > limits.total_tokens:
        message = f"{sum(lengths):,} tokens in all; this server takes {limits.total_tokens:,} at once: send fewer rows"
        raise ApiError(422, "too-many-tokens", message)


def _check_cells(rows: Iterable[Row], lengths: Iterator[int], metric: Metric, limits: RequestLimits) -> None:
    limit, total_limit = (cells // _cell_cost(metric) for cells in (limits.cells, limits.total_cells))
    total = 0
    for row in rows:
        candidate, *references = (next(lengths) for _ in _texts(row))
        for reference in references:
            if candidate * reference > limit:
                message = f"{candidate:,} x {reference:,} tokens are too many for {metric}; at most {limit:,} cells"
                raise ApiError(422, "too-many-cells", message)
            total += candidate * reference
    if total > total_limit:
        message = f"{total:,} pairs of tokens in all; for {metric} this server takes {total_limit:,}: send fewer rows"
        raise ApiError(422, "too-many-cells", message)


def _check_search(rows: Iterable[Row], metric: Metric, limits: RequestLimits) -> None:
    """Raise if a search takes too many steps for a pair of texts or for all of them."""
    scorer = metric.scorer()
    total = 0
    for row in rows:
        for reference in row.references:
            check_stopped()
            steps = scorer.search_steps(row.candidate, reference)
            limit = SEARCH_STEPS_PER_CELL * limits.cells
            if steps > limit:
                message = f"one pair takes {steps:,} steps of search under {metric}; at most {limit:,}"
                raise ApiError(422, "too-many-cells", message)
            total += steps
    if total > SEARCH_STEPS_PER_CELL * limits.total_cells:
        message = f"all rows take {total:,} steps of search under {metric}, which is too many: send fewer rows"
        raise ApiError(422, "too-many-cells", message)


def _cell_cost(metric: Metric) -> int:
    return CELL_COSTS.get(metric.name, CELL_COSTS.get(str(getattr(metric, "transport", "")), 1))


def _texts(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the texts of a row with their paths, the candidate first."""
    yield "candidate", row.candidate
    yield from ((f"references[{index}]", text) for index, text in enumerate(row.references))
    if row.source is not None:
        yield "source", row.source


def _check_characters(paths: Iterable[str], texts: Sequence[str], limits: RequestLimits) -> None:
    """Raise for a text that is too long for the tokenizer."""
    limit = limits.tokens * CHARACTERS_PER_TOKEN
    for path, text in zip(paths, texts, strict=True):
        if len(text) > limit:
            message = f"{path} has {len(text):,} characters; this server takes {limit:,}"
            raise ApiError(422, "too-many-tokens", message)


def _lengths(texts: list[str], metric: Metric) -> list[int]:
    if not isinstance(metric, TokenMetric):
        return [sum(1 for _ in WORD.finditer(text)) for text in texts]
    encoder = metric_encoder(metric)
    try:
        return [len(tokens) for tokens in encoder.tokenize(texts)]
    except TextTooLongError:  # overlong=error: these rows fail later, and cost nothing
        return [_length(encoder, text) for text in texts]


def _length(encoder: Encoder, text: str) -> int:
    try:
        return len(encoder.tokenize([text])[0])
    except TextTooLongError:
        return 0
