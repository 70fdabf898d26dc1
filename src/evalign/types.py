"""The values that flow along the path: Tokens -> Embedded -> Alignment, Segment -> Report.

All are frozen. Arrays inside them are never written to after construction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evalign.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas

# Named for the reader; numpy's own result types are too loose for narrower ones to be checked.
Floats = npt.NDArray[Any]
Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tokens:
    """A text cut into model tokens, special tokens included.

    `offsets` are (start, stop) characters in the ORIGINAL text; special tokens have (0, 0).
    """

    text: str
    pieces: tuple[str, ...]
    ids: Ints
    offsets: Ints
    special: Bools
    unknown: tuple[int, ...] = ()  # places of tokens the vocabulary does not have
    dropped: int = 0  # tokens cut off by overlong=truncate
    borders: tuple[int, ...] = ()  # places where another window of an over-long text takes over

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def empty(self) -> bool:
        """No token of the text itself."""
        return bool(self.special.all())

    @property
    def windows(self) -> int:
        """How many pieces an over-long text was read in."""
        return len(self.borders) + 1

    @property
    def counts(self) -> dict[str, int]:
        """What a user should know about how this text was read: flag -> how many tokens or windows."""
        named = {
            "empty": int(self.empty),
            "truncated": self.dropped,
            "windowed": self.windows if self.borders else 0,
            "unknown-token": len(self.unknown),
        }
        return {name: count for name, count in named.items() if count}

    def keep(self, kept: Bools) -> Tokens:
        """Only the tokens where `kept` is true."""
        return replace(
            self,
            pieces=tuple(piece for piece, stays in zip(self.pieces, kept, strict=True) if stays),
            ids=self.ids[kept],
            offsets=self.offsets[kept],
            special=self.special[kept],
            unknown=tuple(_kept_before(kept, place) for place in self.unknown if kept[place]),
            borders=tuple(_kept_before(kept, place) for place in self.borders),
        )

    def surface(self, index: int) -> str:
        """The characters a token covers, or its vocabulary name if it covers none."""
        start, stop = (int(place) for place in self.offsets[index])
        return self.text[start:stop] if stop > start else self.pieces[index]


def _kept_before(kept: Bools, place: int) -> int:
    return int(np.count_nonzero(kept[:place]))


@dataclass(frozen=True, eq=False)
class Embedded:
    """Tokens with their vectors: (layers, tokens, width), no padding."""

    tokens: Tokens
    vectors: npt.NDArray[np.float32]

    def keep(self, kept: Bools) -> Embedded:
        """Only the tokens where `kept` is true."""
        return Embedded(self.tokens.keep(kept), self.vectors[:, kept])

    @property
    def matrix(self) -> npt.NDArray[np.float32]:
        """The vectors of a single-layer encoder, (tokens, width)."""
        if len(self.vectors) != 1:
            raise ValueError(f"{len(self.vectors)} layers were encoded; index .vectors by layer")
        matrix: npt.NDArray[np.float32] = self.vectors[0]
        return matrix

    @cached_property
    def norms(self) -> npt.NDArray[np.float64]:
        """Length of each vector, (layers, tokens); 1 where a vector is zero."""
        lengths = np.sqrt(np.einsum("ltd,ltd->lt", self.vectors, self.vectors, dtype=np.float64))
        return np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True, eq=False)
class Alignment:
    """Who met whom: one pair of texts, their similarity matrix and the selected cells.

    `cells` are (candidate token, reference token) index pairs. A candidate token is worth the best
    of its cells, and so is a reference token; tokens without a cell are worth 0.
    """

    candidate: Tokens
    reference: Tokens
    similarity: Floats
    candidate_weights: Floats
    reference_weights: Floats
    cells: Ints
    matching: str
    scores: Mapping[str, float]
    signature: str
    counts: Mapping[str, int] = field(default_factory=dict)
    masses: Floats | None = None  # transport: how much each cell carries, of 1

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of what happened to the texts on the way."""
        return tuple(self.counts)

    @cached_property
    def candidate_values(self) -> Floats:
        """What each candidate token is worth in precision."""
        return self._best(0)[1]

    @cached_property
    def reference_values(self) -> Floats:
        """What each reference token is worth in recall."""
        return self._best(1)[1]

    @cached_property
    def candidate_partners(self) -> Ints:
        """The reference token that gives each candidate token its value, -1 if none."""
        return self._best(0)[0]

    @cached_property
    def reference_partners(self) -> Ints:
        """The candidate token that gives each reference token its value, -1 if none."""
        return self._best(1)[0]

    @property
    def precision_shares(self) -> Floats:
        """What each candidate token adds to raw precision; they sum to it."""
        return _shares(self.candidate_weights, self.candidate_values)

    @property
    def recall_shares(self) -> Floats:
        """What each reference token adds to raw recall; they sum to it."""
        return _shares(self.reference_weights, self.reference_values)

    @property
    def unmatched_candidate(self) -> tuple[int, ...]:
        """Candidate tokens that no reference token chose; in an assignment or a plan, those without a cell."""
        return self._never_chosen(len(self.candidate), self.reference_partners, self.cells[:, 0])

    @property
    def unmatched_reference(self) -> tuple[int, ...]:
        """Reference tokens that no candidate token chose; in an assignment or a plan, those without a cell."""
        return self._never_chosen(len(self.reference), self.candidate_partners, self.cells[:, 1])

    # The imports against the direction: a value can show itself, the drawing lives in render.

    def to_dict(self, packed: bool = False) -> dict[str, Any]:
        """Plain JSON values: the versioned alignment document; `packed` has its matrix in base64, much smaller."""
        from evalign.render.documents import alignment_document, matching_name

        return alignment_document({matching_name(self): self}, packed=packed)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained interactive file that opens without any request; also written to `path` if given."""
        from evalign.render.export import write_html

        return write_html(self.to_dict(packed=True), path)

    def _repr_html_(self) -> str:
        from evalign.render.export import notebook_html
        from evalign.render.notebook import static_alignment

        return notebook_html(self.to_dict(packed=True), static_alignment(self))

    def __str__(self) -> str:
        from evalign.render.terminal import alignment_text

        return alignment_text(self)

    def _best(self, axis: int) -> tuple[Ints, Floats]:
        """Partner and value of every token of one side, from its cells; ties as in `matching.ties`."""
        rows, columns = self.cells.T
        own, other = (rows, columns) if axis == 0 else (columns, rows)
        in_cells = self.similarity[rows, columns]
        distance = np.abs(rows * len(self.reference) - columns * len(self.candidate))
        order = np.lexsort((other, distance, -np.round(in_cells.astype(np.float64) * 2**20), own))
        tokens, first = np.unique(own[order], return_index=True)
        partners = np.full(self.similarity.shape[axis], -1)
        values = np.zeros(self.similarity.shape[axis])
        partners[tokens], values[tokens] = other[order][first], in_cells[order][first]
        return partners, values

    def _never_chosen(self, count: int, partners: Ints, in_cells: Ints) -> tuple[int, ...]:
        chosen = {int(place) for place in (partners if self.matching == "greedy" else in_cells)}
        return tuple(index for index in range(count) if index not in chosen)


def _shares(weights: Floats, values: Floats) -> Floats:
    total = weights.sum()
    return np.asarray(weights * values / (total if total > 0 else 1))


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to judge. `system`, `human` and `extra` (other fields asked for) are carried along, never scored."""

    id: str
    candidate: str
    references: tuple[str, ...] = ()
    source: str | None = None
    system: str = ""
    human: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Segment:
    """The scores of one row. `counts` says what was flagged and how often; `error` why there is no score.

    `statistics` are numbers whose sums over rows give the corpus score; none where that is the mean.
    """

    id: str
    scores: Mapping[str, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    statistics: tuple[float, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Names of what happened to this row."""
        return tuple(self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        plain: dict[str, Any] = {"id": self.id, "scores": dict(self.scores), "flags": list(self.flags)}
        if self.counts:
            plain["counts"] = dict(self.counts)
        if self.statistics:
            plain["statistics"] = list(self.statistics)
        return plain | {"error": self.error} if self.error else plain


@dataclass(frozen=True)
class Report:
    """The scores of one metric over many rows, in input order."""

    metric: str
    signature: str
    fields: tuple[str, ...]
    segments: Sequence[Segment] = field(repr=False)
    pooled: Mapping[str, float] = field(default_factory=dict)  # corpus scores that are not means, as BLEU's
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rows: Sequence[Row] = field(default=(), repr=False)  # the texts, for those who want to see them

    def __len__(self) -> int:
        return len(self.segments)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self.fields:
            raise KeyError(f"{self.metric} has no field {name!r}; it has {', '.join(self.fields)}")
        return np.array([segment.scores[name] for segment in self.segments], dtype=np.float64)

    def __iter__(self) -> Iterator[npt.NDArray[np.float64]]:
        """The fields' arrays, so that `P, R, F = report` works."""
        return (self[name] for name in self.fields)

    @property
    def ids(self) -> list[str]:
        """Row ids in input order."""
        return [segment.id for segment in self.segments]

    @property
    def flags(self) -> dict[str, int]:
        """How many rows carry each flag."""
        return dict(Counter(flag for segment in self.segments for flag in segment.flags))

    def mean(self, name: str) -> float:
        """Mean of one field over all rows."""
        if not self.segments:
            raise ValueError(f"no rows were scored, so {name} has no mean")
        return float(self[name].mean())

    def corpus(self, name: str) -> float:
        """The corpus score of one field: pooled over all rows where the metric does that, as BLEU, else the mean."""
        return self.pooled[name] if name in self.pooled else self.mean(name)

    def to_dict(self) -> dict[str, Any]:
        """The shape of one entry of the command line's `results`."""
        return {
            "metric": self.metric,
            "signature": self.signature,
            "n": len(self),
            "scores": {name: self.mean(name) for name in self.fields} if self.segments else {},
            **corpus_entries(self.pooled, self.intervals),
            "flags": self.flags,
            "segments": [segment.to_dict() for segment in self.segments],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON text; also written to `path` if given."""
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained interactive file that opens without any request; also written to `path` if given."""
        from evalign.render.documents import report_document
        from evalign.render.export import write_html

        return write_html(report_document(self), path)

    def _repr_html_(self) -> str:
        from evalign.render.documents import report_document
        from evalign.render.export import notebook_html
        from evalign.render.notebook import static_report

        return notebook_html(report_document(self), static_report(self))

    def to_pandas(self) -> pandas.DataFrame:
        """One line per row: id, the fields, flags."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("Report.to_pandas", "data") from error
        columns: dict[str, Any] = {"id": self.ids} | {name: self[name] for name in self.fields}
        return pandas.DataFrame(columns | {"flags": [" ".join(segment.flags) for segment in self.segments]})

    def __str__(self) -> str:
        means = "  ".join(f"{name} {self.corpus(name):.4f}" for name in self.fields) if self.segments else "no rows"
        flags = "".join(f"  {flag}: {count}" for flag, count in self.flags.items())
        return f"{self.metric}  n={len(self)}  {means}{flags}\n{self.signature}"


def corpus_entries(pooled: Mapping[str, float], intervals: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """What a result's JSON says about corpus scores that are not means; usually nothing."""
    entries: dict[str, Any] = {"corpus": dict(pooled)} if pooled else {}
    return entries | ({"intervals": {name: list(ends) for name, ends in intervals.items()}} if intervals else {})


@dataclass(frozen=True)
class LayerReport:
    """The scores of every layer of an encoder: field -> (layers, rows)."""

    metric: str
    signature: str
    layers: tuple[int, ...]
    scores: Mapping[str, Floats] = field(repr=False)

    def __getitem__(self, name: str) -> Floats:
        return self.scores[name]
