"""What a request would cost, counted before it is begun: tokens, pairs, cells; beyond the limits an ApiError 422.

In: rows and metrics, or one pair. Tokens are those of each metric's own encoder; metrics without one count words and
punctuation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalign.cancellation import check_stopped
from evalign.encoders.base import Encoder
from evalign.encoders.loading import open_encoder
from evalign.encoders.vector_cache import EmbeddingMemory
from evalign.errors import TextTooLongError
from evalign.metrics.base import Metric
from evalign.metrics.token_metric import TokenMetric
from evalign.server.errors import ApiError
from evalign.server.settings import Limits
from evalign.types import Row

WORD = re.compile(r"\w+|[^\w\s]")
CHARACTERS_PER_TOKEN = 50  # of a text without spaces: 100,000 characters in one word are a cost too
REMEMBERED = 32 * 2**20  # bytes of vectors per model: a server sees more texts than return
USUAL_WIDTH = 20  # statistics of a row where the metric pools: BLEU has 10, chrF 18, METEOR 23
# What a comparison costs, in draws of one row (20 ns): measured, rounded up.
PAIR = 15_000  # two systems, however few the resamples
SAMPLE = 2_000  # a resample of however few rows: its random generators
POOLED = 1_000  # a resample's corpus score, where it is no mean, ...
STATISTIC = 50  # ... and each of the sums that it is made of
DEAR = {"ter": 100, "sinkhorn": 50}  # what a pair of tokens costs there, which nothing can interrupt; elsewhere 1


def check_rows(rows: Sequence[Row], metrics: Sequence[Metric], limits: Limits) -> None:
    """Raises if there are too many rows, pairs, tokens or cells for any of the metrics."""
    pairs = sum(max(1, len(row.references)) for row in rows)
    for what, count, most in (("rows", len(rows), limits.rows), ("pairs", pairs, limits.pairs)):
        if count > most:
            raise ApiError(422, f"too-many-{what}", f"{count:,} {what}; this server takes {most:,} in one request")
    counted = set()
    for metric in metrics:
        check_stopped()
        key = metric.choice() if isinstance(metric, TokenMetric) else None, _dearness(metric)
        if key not in counted:  # metrics of one encoder count alike
            counted.add(key)
            _check_tokens(rows, metric, limits)


def check_comparison(rows: int, systems: int, widths: Sequence[int], samples: int, limits: Limits) -> None:
    """Raises if the tests would take too long; `widths` has the statistics of a row for each metric, 0 for a mean."""
    if systems > limits.systems:
        message = f"{systems:,} systems; this server compares {limits.systems:,} in one request"
        raise ApiError(422, "too-many-systems", message)
    pairs = systems * (systems - 1) // 2
    scoring = [POOLED + STATISTIC * width if width else 0 for width in widths]
    if pairs * sum(PAIR + samples * (rows + SAMPLE + one) for one in scoring) > limits.resamples:
        message = f"{samples:,} samples, {rows:,} rows, {pairs:,} pairs of systems, {len(widths)} metrics"
        raise ApiError(422, "too-many-resamples", f"{message} are too much for this server; ask for fewer")


def check_texts(texts: Sequence[str], limits: Limits) -> None:
    """Raises if an IDF table would be counted over too much."""
    if len(texts) > limits.texts:
        raise ApiError(422, "too-many-texts", f"{len(texts):,} texts; this server takes {limits.texts:,} at once")
    _check_lengths((f"texts[{place}]" for place in range(len(texts))), texts, limits)


def opened(metric: TokenMetric) -> EmbeddingMemory:
    """The metric's encoder, loaded, with a memory of a server's size."""
    memory = open_encoder(metric.choice())
    memory.max_bytes = REMEMBERED
    return memory


def _check_tokens(rows: Sequence[Row], metric: Metric, limits: Limits) -> None:
    named = [(f"rows[{number}].{side}", text) for number, row in enumerate(rows) for side, text in _texts(row)]
    places, texts = [place for place, _ in named], [text for _, text in named]
    _check_lengths(places, texts, limits)
    lengths = _lengths(texts, metric)
    longest = max(range(len(lengths)), key=lengths.__getitem__)
    if lengths[longest] > limits.tokens:
        message = f"{places[longest]} has {lengths[longest]:,} tokens; this server takes {limits.tokens:,}"
        raise ApiError(422, "too-many-tokens", f"{message}. Shorten it, or score it in parts")
    if sum(lengths) > limits.total_tokens:
        message = f"{sum(lengths):,} tokens in all; this server takes {limits.total_tokens:,} at once: send fewer rows"
        raise ApiError(422, "too-many-tokens", message)
    _check_cells(rows, iter(lengths), metric, limits)


def _check_cells(rows: Iterable[Row], lengths: Iterator[int], metric: Metric, limits: Limits) -> None:
    total, most, most_in_all = 0, *(one // _dearness(metric) for one in (limits.cells, limits.total_cells))
    for row in rows:
        candidate, *others = (next(lengths) for _ in _texts(row))
        for reference in others:
            if candidate * reference > most:
                message = f"{candidate:,} x {reference:,} tokens are too many for {metric}; at most {most:,} cells"
                raise ApiError(422, "too-many-cells", message)
            total += candidate * reference
    if total > most_in_all:
        message = f"{total:,} pairs of tokens in all; for {metric} this server takes {most_in_all:,}: send fewer rows"
        raise ApiError(422, "too-many-cells", message)


def _dearness(metric: Metric) -> int:
    return DEAR.get(metric.name, DEAR.get(str(getattr(metric, "transport", "")), 1))


def _texts(row: Row) -> Iterator[tuple[str, str]]:
    """What a row is read from, by place, the candidate first."""
    yield "candidate", row.candidate
    yield from ((f"references[{place}]", text) for place, text in enumerate(row.references))
    if row.source is not None:
        yield "source", row.source


def _check_lengths(places: Iterable[str], texts: Sequence[str], limits: Limits) -> None:
    """Before any tokenizer sees them."""
    most = limits.tokens * CHARACTERS_PER_TOKEN
    for place, text in zip(places, texts, strict=True):
        if len(text) > most:
            message = f"{place} has {len(text):,} characters; this server takes {most:,}"
            raise ApiError(422, "too-many-tokens", message)


def _lengths(texts: list[str], metric: Metric) -> list[int]:
    if not isinstance(metric, TokenMetric):
        return [sum(1 for _ in WORD.finditer(text)) for text in texts]
    encoder = opened(metric).encoder
    try:
        return [len(tokens) for tokens in encoder.tokenize(texts)]
    except TextTooLongError:  # overlong=error: such rows fail alone, later, and cost nothing
        return [_length(encoder, text) for text in texts]


def _length(encoder: Encoder, text: str) -> int:
    try:
        return len(encoder.tokenize([text])[0])
    except TextTooLongError:
        return 0
