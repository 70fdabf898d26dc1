"""What a request would cost, counted before it is begun: tokens, pairs, cells; beyond the limits an ApiError 422.

Tokens are those of each metric's own encoder; for metrics without one, words and punctuation marks are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalign.cancellation import check_stopped
from evalign.encoders.base import Encoder
from evalign.encoders.loading import open_encoder
from evalign.errors import TextTooLongError
from evalign.metrics.base import Metric
from evalign.metrics.token_metric import TokenMetric
from evalign.server.errors import ApiError
from evalign.server.settings import Limits
from evalign.types import Row

WORD = re.compile(r"\w+|[^\w\s]")
CHARACTERS_PER_TOKEN = 50  # of a text without spaces: 100,000 characters in one word are a cost too
CACHE_BYTES = 32 * 2**20  # of vectors per model: a server sees more texts than return
USUAL_WIDTH = 20  # statistics of a row where the metric pools: BLEU has 10, chrF 18, METEOR 23
# What a comparison costs, in draws of one row (20 ns): measured, rounded up.
PAIR = 15_000  # two systems, however few the resamples
SAMPLE = 2_000  # a resample of however few rows: its random generators
POOLED = 1_000  # a resample's corpus score, where it is no mean, ...
STATISTIC = 50  # ... and each of the sums that it is made of
CELL_COSTS = {"ter": 100, "sinkhorn": 50}  # of a pair of tokens, where nothing can interrupt the work; elsewhere 1


def check_rows(rows: Sequence[Row], metrics: Sequence[Metric], limits: Limits) -> None:
    """Raises if there are too many rows, pairs, tokens or cells for any of the metrics."""
    pairs = sum(max(1, len(row.references)) for row in rows)
    for unit, count, limit in (("rows", len(rows), limits.rows), ("pairs", pairs, limits.pairs)):
        if count > limit:
            raise ApiError(422, f"too-many-{unit}", f"{count:,} {unit}; this server takes {limit:,} in one request")
    places = [f"rows[{number}].{side}" for number, row in enumerate(rows) for side, _ in _texts(row)]
    texts = [text for row in rows for _, text in _texts(row)]
    _check_characters(places, texts, limits)
    checked = set()
    for metric in metrics:
        check_stopped()
        key = metric.choice() if isinstance(metric, TokenMetric) else None, _cell_cost(metric)
        if key not in checked:  # metrics of one encoder have the same tokens
            checked.add(key)
            lengths = _lengths(texts, metric)
            _check_tokens(places, lengths, limits)
            _check_cells(rows, iter(lengths), metric, limits)


def check_comparison(rows: int, systems: int, widths: Sequence[int], samples: int, limits: Limits) -> None:
    """Raises if the tests would take too long; `widths` has the statistics of a row for each metric, 0 for a mean."""
    if systems > limits.systems:
        message = f"{systems:,} systems; this server compares {limits.systems:,} in one request"
        raise ApiError(422, "too-many-systems", message)
    pairs = systems * (systems - 1) // 2
    scoring = [POOLED + STATISTIC * width if width else 0 for width in widths]
    if pairs * sum(PAIR + samples * (rows + SAMPLE + cost) for cost in scoring) > limits.resamples:
        message = f"{samples:,} samples, {rows:,} rows, {pairs:,} pairs of systems, {len(widths)} metrics"
        raise ApiError(422, "too-many-resamples", f"{message} are too much for this server; ask for fewer")


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """Raises if an IDF table would be counted over too much."""
    if len(texts) > limits.texts:
        raise ApiError(422, "too-many-texts", f"{len(texts):,} texts; this server takes {limits.texts:,} at once")
    _check_characters((f"texts[{place}]" for place in range(len(texts))), texts, limits)


def metric_encoder(metric: TokenMetric) -> Encoder:
    """The metric's encoder, loaded, with a cache of vectors of a server's size."""
    memory = open_encoder(metric.choice())
    memory.max_bytes = CACHE_BYTES
    return memory.encoder


def _check_tokens(places: Sequence[str], lengths: Sequence[int], limits: Limits) -> None:
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[longest] > limits.tokens:
        message = f"{places[longest]} has {lengths[longest]:,} tokens; this server takes {limits.tokens:,}"
        raise ApiError(422, "too-many-tokens", f"{message}. Shorten it, or score it in parts")
    if sum(lengths) > limits.total_tokens:
        message = f"{sum(lengths):,} tokens in all; this server takes {limits.total_tokens:,} at once: send fewer rows"
        raise ApiError(422, "too-many-tokens", message)


def _check_cells(rows: Iterable[Row], lengths: Iterator[int], metric: Metric, limits: Limits) -> None:
    limit, total_limit = (cells // _cell_cost(metric) for cells in (limits.cells, limits.total_cells))
    total = 0
    for row in rows:
        candidate, *others = (next(lengths) for _ in _texts(row))
        for reference in others:
            if candidate * reference > limit:
                message = f"{candidate:,} x {reference:,} tokens are too many for {metric}; at most {limit:,} cells"
                raise ApiError(422, "too-many-cells", message)
            total += candidate * reference
    if total > total_limit:
        message = f"{total:,} pairs of tokens in all; for {metric} this server takes {total_limit:,}: send fewer rows"
        raise ApiError(422, "too-many-cells", message)


def _cell_cost(metric: Metric) -> int:
    return CELL_COSTS.get(metric.name, CELL_COSTS.get(str(getattr(metric, "transport", "")), 1))


def _texts(row: Row) -> Iterator[tuple[str, str]]:
    """The texts of a row by their places in it, the candidate first."""
    yield "candidate", row.candidate
    yield from ((f"references[{place}]", text) for place, text in enumerate(row.references))
    if row.source is not None:
        yield "source", row.source


def _check_characters(places: Iterable[str], texts: Sequence[str], limits: Limits) -> None:
    """Raises for a text that is too long for the tokenizer itself."""
    limit = limits.tokens * CHARACTERS_PER_TOKEN
    for place, text in zip(places, texts, strict=True):
        if len(text) > limit:
            message = f"{place} has {len(text):,} characters; this server takes {limit:,}"
            raise ApiError(422, "too-many-tokens", message)


def _lengths(texts: list[str], metric: Metric) -> list[int]:
    if not isinstance(metric, TokenMetric):
        return [sum(1 for _ in WORD.finditer(text)) for text in texts]
    encoder = metric_encoder(metric)
    try:
        return [len(tokens) for tokens in encoder.tokenize(texts)]
    except TextTooLongError:  # overlong=error: such rows fail alone, later, and cost nothing
        return [_length(encoder, text) for text in texts]


def _length(encoder: Encoder, text: str) -> int:
    try:
        return len(encoder.tokenize([text])[0])
    except TextTooLongError:
        return 0
