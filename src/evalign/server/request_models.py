"""Request bodies as pydantic models: JSON types exactly, no unknown names, lengths bounded.

How much may be asked depends on the operator's `Limits` and is checked in request_costs.py; the bounds here are wide.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evalign.errors import TableError
from evalign.text.idf import IDFTable
from evalign.types import Row

MOST = 100_000  # entries of any list; a body of ordinary size cannot hold more
Text = Annotated[str, Field(description="A text of any script. Lone surrogates count as U+FFFD; NUL is data.")]
Name = Annotated[str, Field(max_length=300)]
Spec = Annotated[
    str,
    Field(min_length=1, max_length=500, description="A metric, as in `bertscore(layer=5)`: see GET /api/metrics."),
]
Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
TokenId = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,9})$")]


class Strict(BaseModel):
    """A JSON object with known names only, and no type taken for another."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class IDFTableObject(Strict):
    """In how many of `documents` texts each token id occurs; from POST /api/idf, or `evalign idf fit`."""

    format: Literal["evalign-idf-1"]
    tokenizer: Annotated[str, Field(max_length=200)]
    documents: Count
    df: dict[TokenId, Count]

    def table(self) -> IDFTable:
        """As the library has it."""
        if any(count > self.documents for count in self.df.values()):
            raise TableError("idf: a token occurs in more texts than were counted; the table is damaged")
        return IDFTable(self.tokenizer, self.documents, {int(token): count for token, count in self.df.items()})


class AlignRequest(Strict):
    """One pair of texts."""

    candidate: Text
    reference: Text
    metric: Spec = "bertscore"
    idf: IDFTableObject | None = None
    matchings: Literal["all", "own"] = Field(
        "all", description="The metric's own matching only, or every matching of the same matrix."
    )


class RowObject(Strict):
    """One thing to judge; `references` is one text or several."""

    id: Name | Annotated[int, Field(ge=-(2**53), le=2**53)] | None = None
    candidate: Text
    references: Text | Annotated[list[Text], Field(max_length=100)] = Field(default_factory=list)
    source: Text | None = None
    system: Name = ""
    human: Number | Annotated[int, Field(ge=-(2**53), le=2**53)] | Name | None = None

    def row(self, place: int) -> Row:
        """As the library has it; a row without an id is called by its number."""
        references = (self.references,) if isinstance(self.references, str) else tuple(self.references)
        name = str(place + 1) if self.id is None else str(self.id)
        return Row(name, self.candidate, references, self.source, self.system, self.human)


Rows = Annotated[list[RowObject], Field(min_length=1, max_length=MOST)]
Specs = Annotated[list[Spec], Field(min_length=1, max_length=100)]


class Sums(Strict):
    """Sums over the rows of a result: of scores by field, and of statistics where the metric pools."""

    scores: dict[Name, Number]
    statistics: Annotated[list[Number], Field(max_length=10_000)] | None = None


class EarlierResult(Strict):
    """An entry of `results` as /api/score answered it; what follows from `sums` is computed anew."""

    system: Name
    metric: Spec
    signature: Annotated[str, Field(max_length=2000)]
    n: Count
    failed: Count | None = None
    sums: Sums
    flags: dict[Name, Count]
    scores: dict[Name, Number] | None = None
    corpus: dict[Name, Number] | None = None
    intervals: dict[Name, list[Number]] | None = None


class ScoreRequest(Strict):
    """Rows and the metrics to score them with."""

    rows: Rows
    metrics: Specs
    idf: IDFTableObject | None = Field(
        None, description="Used by the metrics whose spec asks for IDF, as in `bertscore(idf=references)`."
    )
    earlier: Annotated[list[EarlierResult], Field(max_length=MOST)] = Field(
        default_factory=list,
        description="The `results` of the answer before, for corpora that are sent in parts: the new ones add up all.",
    )


class SpecsRequest(Strict):
    """Specs to be read."""

    metrics: Specs


class ScoresObject(Strict):
    """Scores that are there already: system -> one number per row, null where a row failed."""

    metric: Spec
    signature: Annotated[str, Field(max_length=2000)] | None = None
    values: dict[Name, Annotated[list[Number | None], Field(max_length=MOST)]]
    statistics: dict[Name, Annotated[list[list[Number] | None], Field(max_length=MOST)]] | None = Field(
        None, description="Where the metric pools: system -> one list of numbers per row, as /api/score gave them."
    )


class CompareRequest(Strict):
    """Two or more systems on the same rows: either rows and metrics, or scores."""

    rows: Rows | None = None
    metrics: Specs | None = None
    scores: Annotated[list[ScoresObject], Field(min_length=1, max_length=100)] | None = None
    samples: Annotated[int, Field(ge=1, le=100_000)] = 1000
    seed: Annotated[int, Field(ge=0, le=2**53)] = 12345
    baseline: Name | None = None

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        """Either form, not both."""
        if (self.scores is None) == (self.rows is None) or (self.rows is None) != (self.metrics is None):
            raise ValueError("expected either rows and metrics, or scores")
        return self


class PoolRequest(Strict):
    """Sums of the rows' statistics, for corpora that were scored in parts."""

    metric: Spec
    totals: Annotated[list[Number], Field(max_length=10_000)]
    rows: Annotated[int, Field(ge=1, le=2**53)]


class IDFRequest(Strict):
    """Texts to count tokens in."""

    model: Annotated[str, Field(max_length=300)]
    texts: Annotated[list[Text], Field(max_length=MOST)]
