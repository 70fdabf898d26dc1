"""Answers as pydantic models: they are the API's documentation, and tests check every answer against them.

Alignment and corpus documents have JSON Schemas of their own in evalign/render/schema, which openapi.py takes over.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Problem(BaseModel):
    """What went wrong."""

    code: str = Field(description="A short name for programs.")
    message: str = Field(description="A sentence for people.")


class ErrorAnswer(BaseModel):
    """The body of every answer that is not 200."""

    error: Problem


class Option(BaseModel):
    """An option of a metric; without choices, any value of the default's kind."""

    name: str
    default: bool | int | float | str | None
    about: str
    choices: list[str]


class MetricAnswer(BaseModel):
    """A metric that can be asked for; infinite bounds are null."""

    name: str
    about: str
    fields: list[str]
    needs: list[str]
    higher_is_better: bool
    bounds: list[float | None]
    options: list[Option]
    aligns: bool = Field(description="Whether POST /api/align takes it.")
    available: bool
    reason: str | None = Field(description="Why it is not available.")


class MetricsAnswer(BaseModel):
    """All metrics."""

    metrics: list[MetricAnswer]


class ReadMetric(BaseModel):
    """A metric that a spec stands for."""

    metric: str = Field(description="Its spec as evalign writes it.")
    name: str
    options: dict[str, str] = Field(description="Those that are not the defaults.")
    aligns: bool = Field(description="Whether POST /api/align takes it.")
    fields: list[str]
    main: str
    higher_is_better: bool
    bounds: list[float | None]
    idf: str | None = Field(description="Of which texts of the corpus it needs an IDF table: references or sources.")
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
    reason: str | None = Field(description="Why there is none.")


class AboutAnswer(BaseModel):
    """Version and limits."""

    evalign: str
    limits: dict[str, float] = Field(description="By name: how much, how long, how many; docs/server.md explains each.")
    likelihood: LikelihoodAnswer
    cell_costs: dict[str, float] = Field(description="By metric or method: how many cells each of its cells counts as.")
    option_bounds: dict[str, list[float]] = Field(
        description="By option of a metric: least and most; `*` for all others that are numbers."
    )


class ComparisonAnswer(BaseModel):
    """As `evalign compare --format json` prints it."""

    comparison: dict[str, Any]


class PoolAnswer(BaseModel):
    """Corpus score by field."""

    corpus: dict[str, float]


class StateAnswer(BaseModel):
    """Whether the server is alive, or ready."""

    status: str
