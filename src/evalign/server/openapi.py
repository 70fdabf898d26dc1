"""The OpenAPI 3.1 document: FastAPI's own, with request bodies and the schemas of the documents added.

Bodies are parsed in the workers, by strict_json.py and request_models.py, so FastAPI does not know them.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evalign.render.documents import schema
from evalign.server import request_models
from evalign.version import __version__

REF = "#/components/schemas/{model}"
DOCUMENTS = {
    "AlignmentDocument": "alignment",
    "CorpusDocument": "corpus",
    "LikelihoodDocument": "likelihood",
    "LSTMDocument": "lstm",
}
BODIES: dict[str, tuple[type[BaseModel], dict[str, Any]]] = {
    "/api/align": (
        request_models.AlignRequest,
        {"candidate": "the cat sat", "reference": "a cat was sitting", "metric": "bertscore", "matchings": "all"},
    ),
    "/api/score": (
        request_models.ScoreRequest,
        {"rows": [{"candidate": "the cat sat", "references": ["a cat was sitting"]}], "metrics": ["bertscore", "bleu"]},
    ),
    "/api/specs": (request_models.SpecsRequest, {"metrics": ["bertscore(idf=references)", "rouge"]}),
    "/api/compare": (
        request_models.CompareRequest,
        {"scores": [{"metric": "bertscore", "values": {"old": [0.61, 0.7, 0.58], "new": [0.66, 0.7, 0.64]}}]},
    ),
    "/api/resample": (
        request_models.ResampleRequest,
        {
            "scores": {"metric": "bertscore", "values": {"old": [0.61, 0.7], "new": [0.66, 0.7]}},
            "start": 0,
            "rows": 3,
            "samples": 2,
        },
    ),
    "/api/pool": (
        request_models.PoolRequest,
        {"metric": "bleu", "totals": [12, 12, 10, 7, 5, 3, 12, 10, 8, 6], "rows": 2},
    ),
    "/api/lstm": (request_models.LSTMRequest, {"text": "the film was not good"}),
    "/api/likelihood": (
        request_models.LikelihoodRequest,
        {"candidate": "the cat sat", "reference": "a cat was sitting", "model": "facebook/bart-large-cnn"},
    ),
    "/api/idf": (request_models.IDFRequest, {"model": "minilm", "texts": ["the cat sat", "a dog barked"]}),
}


def openapi(app: FastAPI) -> dict[str, Any]:
    """The whole document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes)
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        _, defined = models_json_schema([(kind, "validation") for kind, _ in BODIES.values()], ref_template=REF)
        schemas.update(defined["$defs"])
        for name, file in DOCUMENTS.items():
            schemas.update(_moved(name, schema(file)))
        for path, (kind, example) in BODIES.items():
            content = {"schema": {"$ref": REF.format(model=kind.__name__)}, "example": example}
            document["paths"][path]["post"]["requestBody"] = {
                "required": True,
                "content": {"application/json": content},
            }
        app.openapi_schema = document
    return app.openapi_schema


def answers(name: str) -> dict[str, Any]:
    """The entry in a route's `responses` for an answer that is one of the documents."""
    return {"description": "OK", "content": {"application/json": {"schema": {"$ref": REF.format(model=name)}}}}


def _moved(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """A JSON Schema as components of the OpenAPI document: its definitions become components, and references follow."""
    parts = document.pop("$defs", {})
    document.pop("$schema", None)
    whole = json.dumps({name: document, **{f"{name}_{part}": value for part, value in parts.items()}})
    moved: dict[str, Any] = json.loads(whole.replace('"#/$defs/', f'"{REF.format(model=name)}_'))
    return moved
