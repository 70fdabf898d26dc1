"""Request bodies as pydantic models: JSON types exactly, no unknown names, lengths bounded.

How much may be asked depends on the operator's `Limits` and is checked in request_costs.py; the bounds here are wide.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evalign.errors import TableError
from evalign.text.idf import IDFTable
from evalign.types import Row

MOST = 100_000  # entries of any list; a body of ordinary size cannot hold more
LONGEST_NAME, LONGEST_SPEC, LONGEST_SIGNATURE = 300, 500, 2_000  # characters
MOST_REFERENCES = 100  # of a row
MOST_SPECS = 100  # of a request, before groups of metrics are taken apart
MOST_SAMPLES = 100_000  # of a comparison
MOST_ROWS = 10_000_000  # of a comparison that is made in parts
WIDEST = 10_000  # statistics of a row
Text = Annotated[str, Field(description="A text of any script. Lone surrogates count as U+FFFD; NUL is data.")]
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Spec = Annotated[
    str,
    Field(
        min_length=1, max_length=LONGEST_SPEC, description="A metric, as in `bertscore(layer=5)`: see GET /api/metrics."
    ),
]
Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Sum = Annotated[float, Field(ge=0, le=1e300, description="Of a statistic that pools; all of them are counts.")]
TokenId = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,9})$")]


Numbers = Annotated[list[Number], Field(min_length=1, max_length=WIDEST)]
Samples = Annotated[int, Field(ge=1, le=MOST_SAMPLES)]
SampledNumbers = Annotated[list[Numbers], Field(min_length=1, max_length=MOST_SAMPLES)]
Seed = Annotated[int, Field(ge=0, le=2**53)]


class Strict(BaseModel):
    """A JSON object with known names only, and no type taken for another."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class IDFTableObject(Strict):
    """In how many of `documents` texts each token id occurs; from POST /api/idf, or `evalign idf fit`."""

    format: Literal["evalign-idf-1"]
    tokenizer: Name
    documents: Count
    df: dict[TokenId, Count] = Field(json_schema_extra={"additionalProperties": False})

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
    references: Text | Annotated[list[Text], Field(max_length=MOST_REFERENCES)] = Field(default_factory=list)
    source: Text | None = None
    system: Name = ""
    human: Number | Annotated[int, Field(ge=-(2**53), le=2**53)] | Name | None = None

    def row(self, place: int) -> Row:
        """As the library has it; a row without an id is called by its number."""
        references = (self.references,) if isinstance(self.references, str) else tuple(self.references)
        name = str(place + 1) if self.id is None else str(self.id)
        return Row(name, self.candidate, references, self.source, self.system, self.human)


Rows = Annotated[list[RowObject], Field(min_length=1, max_length=MOST)]
Specs = Annotated[list[Spec], Field(min_length=1, max_length=MOST_SPECS)]


class Sums(Strict):
    """Sums over the rows of a result: of scores by field, and of statistics where the metric pools."""

    scores: dict[Name, Number]
    statistics: Annotated[list[Sum], Field(max_length=WIDEST)] | None = None


class EarlierResult(Strict):
    """An entry of `results` as /api/score answered it; what follows from `sums` is computed anew."""

    system: Name
    metric: Spec
    signature: Annotated[str, Field(max_length=LONGEST_SIGNATURE)]
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
    signature: Annotated[str, Field(max_length=LONGEST_SIGNATURE)] | None = None
    values: dict[Name, Annotated[list[Number | None], Field(max_length=MOST)]]
    statistics: dict[Name, Annotated[list[list[Sum] | None], Field(max_length=MOST)]] | None = Field(
        None, description="Where the metric pools: system -> one list of numbers per row, as /api/score gave them."
    )


class ResampleRequest(Strict):
    """A part of the rows of a comparison, those from `start` on of `rows` in all; every row has a value."""

    scores: ScoresObject
    start: Annotated[int, Field(ge=0, le=MOST_ROWS)]
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    samples: Samples = 1000
    seed: Seed = 12345


class SystemSumsObject(Strict):
    """Sums of a system's values or statistics, one list of numbers each: over the rows, and over every resample's."""

    total: Numbers
    drawn: SampledNumbers


class PairSumsObject(Strict):
    """Two systems: sums of their differences over the rows that every trial swaps, and counts of rows."""

    first: Name
    second: Name
    swapped: SampledNumbers
    wins: Count
    losses: Count
    ties: Count
    differing: Count


class ComparisonSums(Strict):
    """Sums of one metric as /api/resample answers them. Those of parts add up, number by number."""

    metric: Spec
    signature: Annotated[str, Field(max_length=LONGEST_SIGNATURE)] | None = None
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)]
    failed: Annotated[int, Field(ge=0, le=MOST_ROWS)] = 0
    systems: dict[Name, SystemSumsObject]
    pairs: Annotated[list[PairSumsObject], Field(max_length=MOST)]


FORMS = (("rows", "metrics"), ("scores",), ("sums",))


def _one_form(schema: dict[str, Any]) -> None:
    """Adds to a JSON Schema that exactly one of `FORMS` is there."""
    said = [
        {"required": list(form), "properties": {name: {"not": {"type": "null"}} for name in form}} for form in FORMS
    ]
    schema["oneOf"] = [
        own | {"not": {"anyOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}}
                                 for form in FORMS if form is not FORMS[place] for name in form]}}
        for place, own in enumerate(said)
    ]  # fmt: skip


class CompareRequest(Strict):
    """Two or more systems on the same rows: rows and metrics, or scores, or the sums of all parts of the rows."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, json_schema_extra=_one_form)

    rows: Rows | None = None
    metrics: Specs | None = None
    scores: Annotated[list[ScoresObject], Field(min_length=1, max_length=MOST_SPECS)] | None = None
    sums: Annotated[list[ComparisonSums], Field(min_length=1, max_length=MOST_SPECS)] | None = None
    samples: Samples = 1000
    seed: Seed = 12345
    baseline: Name | None = None

    @model_validator(mode="after")
    def one_form(self) -> Self:
        """One of `FORMS`, whole."""
        given = {name for form in FORMS for name in form if getattr(self, name) is not None}
        if given not in map(set, FORMS):
            raise ValueError("expected either rows and metrics, or scores, or sums")
        return self


class PoolRequest(Strict):
    """Sums of the rows' statistics, for corpora that were scored in parts."""

    metric: Spec
    totals: Annotated[list[Sum], Field(max_length=WIDEST)]
    rows: Annotated[int, Field(ge=1, le=2**53)]


class LSTMRequest(Strict):
    """A text to be traced."""

    text: Text


class LikelihoodRequest(Strict):
    """One pair for a model that generates text: see GET /api/about, `likelihood`, for those that may be named."""

    candidate: Text
    reference: Text | None = None
    source: Text | None = None
    model: Name
    direction: Literal["f", "reference-to-candidate", "candidate-to-reference", "source-to-candidate"] = "f"


class IDFRequest(Strict):
    """Texts to count tokens in."""

    model: Name
    texts: Annotated[list[Text], Field(max_length=MOST)]
