"""Request bodies and answers as pydantic models.

Requests: JSON types exactly, no unknown names, lengths bounded. The answers document the API, and tests check every
answer against them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evalign.core import Row
from evalign.errors import TableError
from evalign.text.idf import IDFTable

MAX_LIST_ITEMS = 100_000  # of any list; a body within the default size limit cannot have more
MAX_NAME_CHARACTERS, MAX_SPEC_CHARACTERS, MAX_SIGNATURE_CHARACTERS = 300, 500, 2_000
MAX_REFERENCES = 100  # of a row
MAX_SPECS = 100  # of a request, before groups of metrics are expanded
MAX_RESAMPLES = 100_000  # of a comparison
MAX_COMPARED_ROWS = 10_000_000  # of a comparison computed in parts
MAX_STATISTICS = 10_000  # statistics of a row
Text = Annotated[str, Field(description="A text of any script. Lone surrogates count as U+FFFD; NUL is data.")]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARACTERS)]
Spec = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_SPEC_CHARACTERS,
        description="A metric, as in `bertscore(layer=5)`: see GET /api/metrics.",
    ),
]
Count = Annotated[int, Field(ge=0, le=2**53)]
Number = Annotated[float, Field(ge=-1e300, le=1e300)]
Sum = Annotated[float, Field(ge=0, le=1e300, description="Of a statistic that pools; all of them are counts.")]
TokenId = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,9})$")]
Numbers = Annotated[list[Number], Field(min_length=1, max_length=MAX_STATISTICS)]
Samples = Annotated[int, Field(ge=1, le=MAX_RESAMPLES)]
SampledNumbers = Annotated[list[Numbers], Field(min_length=1, max_length=MAX_RESAMPLES)]
Seed = Annotated[int, Field(ge=0, le=2**53)]


class Strict(BaseModel):
    """A JSON object without unknown names, whose types are not converted."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class IDFTableObject(Strict):
    """Document frequency (`df`) of each token id in `documents` texts, from POST /api/idf or `evalign fit idf`."""

    format: Literal["evalign-idf-1"]
    tokenizer: Name
    documents: Count
    df: dict[TokenId, Count] = Field(json_schema_extra={"additionalProperties": False})

    def table(self) -> IDFTable:
        """Return the table as a value of the library."""
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
    """One row to score; `references` is a text or a list of texts."""

    id: Name | Annotated[int, Field(ge=-(2**53), le=2**53)] | None = None
    candidate: Text
    references: Text | Annotated[list[Text], Field(max_length=MAX_REFERENCES)] = Field(default_factory=list)
    source: Text | None = None
    system: Name = ""
    human: Number | Annotated[int, Field(ge=-(2**53), le=2**53)] | Name | None = None

    def row(self, index: int) -> Row:
        """Return the row as a value of the library; without an id it is named by its number."""
        references = (self.references,) if isinstance(self.references, str) else tuple(self.references)
        name = str(index + 1) if self.id is None else str(self.id)
        return Row(name, self.candidate, references, self.source, self.system, self.human)


Rows = Annotated[list[RowObject], Field(min_length=1, max_length=MAX_LIST_ITEMS)]

Specs = Annotated[list[Spec], Field(min_length=1, max_length=MAX_SPECS)]


class Sums(Strict):
    """Sums over the rows of a result: of scores by field, and of statistics where the metric pools."""

    scores: dict[Name, Number]
    statistics: Annotated[list[Sum], Field(max_length=MAX_STATISTICS)] | None = None


class EarlierResult(Strict):
    """An entry of `results` as /api/score answered it; values derived from `sums` are computed again."""

    system: Name
    metric: Spec
    signature: Annotated[str, Field(max_length=MAX_SIGNATURE_CHARACTERS)]
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
    earlier: Annotated[list[EarlierResult], Field(max_length=MAX_LIST_ITEMS)] = Field(
        default_factory=list,
        description="The `results` of the answer before, for corpora sent in parts: the new results cover all parts.",
    )


class SpecsRequest(Strict):
    """Specs to parse."""

    metrics: Specs


class ScoresObject(Strict):
    """Existing scores: system -> a number per row, null where a row failed."""

    metric: Spec
    signature: Annotated[str, Field(max_length=MAX_SIGNATURE_CHARACTERS)] | None = None
    values: dict[Name, Annotated[list[Number | None], Field(max_length=MAX_LIST_ITEMS)]]
    statistics: dict[Name, Annotated[list[list[Sum] | None], Field(max_length=MAX_LIST_ITEMS)]] | None = Field(
        None, description="Where the metric pools: system -> one list of numbers per row, as /api/score gave them."
    )


class ResampleRequest(Strict):
    """A part of the rows of a comparison, starting at `start` of `rows` in total; every row has a value."""

    scores: ScoresObject
    start: Annotated[int, Field(ge=0, le=MAX_COMPARED_ROWS)]
    rows: Annotated[int, Field(ge=1, le=MAX_COMPARED_ROWS)]
    samples: Samples = 1000
    seed: Seed = 12345


class SystemSumsObject(Strict):
    """Sums of a system's values or statistics: over the rows, and over each resample."""

    total: Numbers
    drawn: SampledNumbers


class PairSumsObject(Strict):
    """Two systems: sums of their differences over the rows that each resample swaps, and counts of rows."""

    first: Name
    second: Name
    swapped: SampledNumbers
    wins: Count
    losses: Count
    ties: Count
    differing: Count


class ComparisonSums(Strict):
    """Sums of one metric as answered by /api/resample; sums of parts are added number by number."""

    metric: Spec
    signature: Annotated[str, Field(max_length=MAX_SIGNATURE_CHARACTERS)] | None = None
    rows: Annotated[int, Field(ge=1, le=MAX_COMPARED_ROWS)]
    failed: Annotated[int, Field(ge=0, le=MAX_COMPARED_ROWS)] = 0
    systems: dict[Name, SystemSumsObject]
    pairs: Annotated[list[PairSumsObject], Field(max_length=MAX_LIST_ITEMS)]


REQUEST_FORMS = (("rows", "metrics"), ("scores",), ("sums",))


def _require_one_form(schema: dict[str, Any]) -> None:
    """Add to a JSON Schema that the fields of exactly one of `REQUEST_FORMS` are present."""
    required = [
        {"required": list(fields), "properties": {name: {"not": {"type": "null"}} for name in fields}}
        for fields in REQUEST_FORMS
    ]
    schema["oneOf"] = [
        rule | {"not": {"anyOf": [{"required": [name], "properties": {name: {"not": {"type": "null"}}}}
                                  for fields in REQUEST_FORMS[:index] + REQUEST_FORMS[index + 1 :]
                                  for name in fields]}}
        for index, rule in enumerate(required)
    ]  # fmt: skip


class CompareRequest(Strict):
    """Two or more systems on the same rows: rows and metrics, or scores, or the sums of all parts of the rows."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, json_schema_extra=_require_one_form)

    rows: Rows | None = None
    metrics: Specs | None = None
    scores: Annotated[list[ScoresObject], Field(min_length=1, max_length=MAX_SPECS)] | None = None
    sums: Annotated[list[ComparisonSums], Field(min_length=1, max_length=MAX_SPECS)] | None = None
    samples: Samples = 1000
    seed: Seed = 12345
    baseline: Name | None = None

    @model_validator(mode="after")
    def one_form(self) -> Self:
        """Check that the fields of one of `REQUEST_FORMS` are present, and no others."""
        present = {name for fields in REQUEST_FORMS for name in fields if getattr(self, name) is not None}
        if present not in map(set, REQUEST_FORMS):
            raise ValueError("expected either rows and metrics, or scores, or sums")
        return self


class PoolRequest(Strict):
    """Sums of the rows' statistics, for corpora scored in parts."""

    metric: Spec
    totals: Annotated[list[Sum], Field(max_length=MAX_STATISTICS)]
    rows: Annotated[int, Field(ge=1, le=2**53)]


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
    texts: Annotated[list[Text], Field(max_length=MAX_LIST_ITEMS)]


class Problem(BaseModel):
    """An error: code and message."""

    code: str = Field(description="A short name for programs.")
    message: str = Field(description="A sentence for people.")


class ErrorAnswer(BaseModel):
    """The body of every answer that is not 200."""

    error: Problem


class Option(BaseModel):
    """An option of a metric; without choices, any value of the type of the default."""

    name: str
    default: bool | int | float | str | None
    about: str
    choices: list[str]


class MetricAnswer(BaseModel):
    """A metric and its options; infinite bounds are null."""

    name: str
    about: str
    fields: list[str]
    needs: list[str]
    higher_is_better: bool
    bounds: list[float | None]
    options: list[Option]
    aligns: bool = Field(description="Whether POST /api/align accepts it.")
    available: bool
    reason: str | None = Field(description="Why it is not available.")


class MetricsAnswer(BaseModel):
    """All metrics."""

    metrics: list[MetricAnswer]


class ReadMetric(BaseModel):
    """The metric of a spec."""

    metric: str = Field(description="Its spec as evalign writes it.")
    name: str
    options: dict[str, str] = Field(description="Options that differ from the defaults.")
    aligns: bool = Field(description="Whether POST /api/align accepts it.")
    fields: list[str]
    main: str
    higher_is_better: bool
    bounds: list[float | None]
    idf: str | None = Field(description="Texts of the corpus that it needs an IDF table of: references or sources.")
    model: str | None


class SpecsAnswer(BaseModel):
    """The metrics of all specs, each once."""

    metrics: list[ReadMetric]


class ModelAnswer(BaseModel):
    """A model that specs may name."""

    name: str
    label: str
    layers: int | None = Field(description="Its depth; layer 0 is the embeddings.")
    default_layer: str


class ModelsAnswer(BaseModel):
    """The models of this server."""

    models: list[ModelAnswer]


class LikelihoodAnswer(BaseModel):
    """The models that POST /api/likelihood may name."""

    models: list[str]
    reason: str | None = Field(description="Why there are none.")


class AboutAnswer(BaseModel):
    """Version and limits."""

    evalign: str
    limits: dict[str, float] = Field(description="Sizes, durations and counts by name; docs/server.md explains each.")
    likelihood: LikelihoodAnswer
    cell_costs: dict[str, float] = Field(description="By metric or method: cost of a cell, in cells.")
    option_bounds: dict[str, list[float]] = Field(
        description="By option of a metric: minimum and maximum; `*` is for all other numeric options."
    )


class ComparisonAnswer(BaseModel):
    """The JSON output of `evalign compare`."""

    comparison: dict[str, Any]


class PoolAnswer(BaseModel):
    """Corpus score by field."""

    corpus: dict[str, float]


class StateAnswer(BaseModel):
    """State of the server: alive or ready."""

    status: str
