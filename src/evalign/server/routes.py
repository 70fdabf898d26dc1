"""POST requests of the API, `/api/NAME`: their summaries, bodies, answers and the functions that compute them.

A package adds one by an entry point in the group `evalign.routes` that is named NAME and loads a `Route`. Routes of
other packages than evalign are served only where the operator allows plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from evalign.core.plugins import ROUTES_GROUP, is_third_party, load_plugin, plugins
from evalign.server import catalogue, comparison_requests, corpus_requests, pair_requests, schemas
from evalign.server.settings import Settings


@dataclass(frozen=True)
class Document:
    """An answer that is a document of the page: its name in the OpenAPI document, and that of its JSON Schema."""

    component: str
    schema: str


@dataclass(frozen=True)
class Route:
    """One POST request.

    `compute` returns the answer for a parsed body; it runs in a worker, not in the event loop. `example` is a body.
    """

    summary: str
    description: str
    body: type[BaseModel]
    answer: type[BaseModel] | Document
    compute: Callable[[Any, Settings], dict[str, Any]]
    example: Mapping[str, Any]


ROUTES = {
    "align": Route(
        "Align one pair",
        "Matched tokens of two texts, under one matching or all of them, from one encoding.",
        schemas.AlignRequest,
        Document("AlignmentDocument", "alignment"),
        pair_requests.align,
        {"candidate": "the cat sat", "reference": "a cat was sitting", "metric": "bertscore", "matchings": "all"},
    ),
    "score": Route(
        "Score rows",
        "Scores of every row and system; the document holds no texts.",
        schemas.ScoreRequest,
        Document("CorpusDocument", "corpus"),
        corpus_requests.score,
        {"rows": [{"candidate": "the cat sat", "references": ["a cat was sitting"]}], "metrics": ["bertscore", "bleu"]},
    ),
    "compare": Route(
        "Compare systems",
        "Intervals, paired bootstrap, approximate randomisation, wins and losses.",
        schemas.CompareRequest,
        schemas.ComparisonAnswer,
        comparison_requests.compare,
        {"scores": [{"metric": "bertscore", "values": {"old": [0.61, 0.7, 0.58], "new": [0.66, 0.7, 0.64]}}]},
    ),
    "resample": Route(
        "Compare a part of the rows",
        "Sums over the rows of every resample. Those of all parts add up to what /api/compare takes as `sums`.",
        schemas.ResampleRequest,
        schemas.ComparisonSums,
        comparison_requests.resample,
        {
            "scores": {"metric": "bertscore", "values": {"old": [0.61, 0.7], "new": [0.66, 0.7]}},
            "start": 0,
            "rows": 3,
            "samples": 2,
        },
    ),
    "specs": Route(
        "Read specs",
        "Metrics that specs stand for, and the IDF table that they need; nothing is loaded or scored.",
        schemas.SpecsRequest,
        schemas.SpecsAnswer,
        catalogue.specs,
        {"metrics": ["bertscore(idf=references)", "rouge"]},
    ),
    "pool": Route(
        "Pool statistics",
        "The corpus score of statistics that were summed over parts of a corpus.",
        schemas.PoolRequest,
        schemas.PoolAnswer,
        corpus_requests.pool,
        {"metric": "bleu", "totals": [12, 12, 10, 7, 5, 3, 12, 10, 8, 6], "rows": 2},
    ),
    "idf": Route(
        "Count an IDF table",
        "Number of texts in which each token occurs. Tables of one tokenizer merge by adding `documents` and `df`.",
        schemas.IDFRequest,
        schemas.IDFTableObject,
        corpus_requests.idf,
        {"model": "minilm", "texts": ["the cat sat", "a dog barked"]},
    ),
    "likelihood": Route(
        "Predict one pair",
        "Probability of every token of one text after the other, by a model that generates text (bartscore).",
        schemas.LikelihoodRequest,
        Document("LikelihoodDocument", "likelihood"),
        pair_requests.likelihood,
        {"candidate": "the cat sat", "reference": "a cat was sitting", "model": "facebook/bart-large-cnn"},
    ),
}


def served_routes(third_party: bool) -> dict[str, Route]:
    """Return the routes of a server by name, with or without those of other packages."""
    added = {
        name: load_plugin(entry, "a Route", lambda loaded: isinstance(loaded, Route))
        for name, entry in plugins(ROUTES_GROUP).items()
        if name not in ROUTES and (third_party or not is_third_party(entry))
    }
    return ROUTES | added
