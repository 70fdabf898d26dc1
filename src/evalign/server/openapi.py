"""The OpenAPI 3.1 document: FastAPI's own, with request bodies and the schemas of the documents added.

Bodies are parsed in the workers, by strict_json.py and schemas.py, so FastAPI does not know them.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from evalign.render.documents import schema
from evalign.render.html import html_document
from evalign.server.routes import Document, Route
from evalign.version import __version__

REF = "#/components/schemas/{model}"


def openapi(app: FastAPI, routes: Mapping[str, Route], needs_token: bool) -> dict[str, Any]:
    """Return the whole document, which is made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=__version__, description=app.description, routes=app.routes)
        components = document.setdefault("components", {}).setdefault("schemas", {})
        bodies: list[tuple[type[BaseModel], Literal["validation"]]]
        bodies = [(route.body, "validation") for route in routes.values()]
        _, definitions = models_json_schema(bodies, ref_template=REF)
        components.update(definitions["$defs"])
        for name, route in routes.items():
            if isinstance(route.answer, Document):
                components.update(_moved(route.answer.component, schema(route.answer.schema)))
            content = {"schema": {"$ref": REF.format(model=route.body.__name__)}, "example": dict(route.example)}
            document["paths"][f"/api/{name}"]["post"]["requestBody"] = {
                "required": True,
                "content": {"application/json": content},
            }
        if needs_token:
            document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema


def document_answer(answer: Document) -> dict[str, Any]:
    """Return the entry in a route's `responses` for an answer that is one of the documents."""
    reference = {"$ref": REF.format(model=answer.component)}
    return {"description": "OK", "content": {"application/json": {"schema": reference}}}


def _moved(name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema as components of the OpenAPI document, with definitions and references moved there."""
    parts = document.pop("$defs", {})
    document.pop("$schema", None)
    whole = json.dumps({name: document, **{f"{name}_{part}": value for part, value in parts.items()}})
    moved: dict[str, Any] = json.loads(whole.replace('"#/$defs/', f'"{REF.format(model=name)}_'))
    return moved


HEAD = '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/docs.css">'
SCHEMA_LEVELS = 3  # of nested objects that are listed


def docs_page(document: dict[str, Any]) -> str:
    """Return the HTML page of an OpenAPI document."""
    parts = [f"<h1>{_text(document['info']['title'])} API, version {_text(document['info']['version'])}</h1>"]
    parts.append(f"<p>{_text(document['info']['description'])}</p>")
    parts.append('<p><a href="/">The page</a> · <a href="/openapi.json">OpenAPI 3.1 document</a></p>')
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.extend(_operation(document, path, method, operation))
    return html_document("evalign API", HEAD, "\n".join(["<main>\n", *parts, "</main>"]))


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<section>\n<h2><code>{method.upper()} {_text(path)}</code></h2>"
    yield f"<p><strong>{_text(operation['summary'])}.</strong> {_text(operation.get('description', ''))}</p>"
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        yield "<h3>Body</h3>"
        yield from _fields(document, content["schema"], SCHEMA_LEVELS)
        example = json.dumps(content["example"])
        call = f"curl -H 'Content-Type: application/json' http://localhost:8765{path} -d '{example}'"
        yield f"<pre>{_text(call)}</pre>"
    yield "<h3>Answers</h3>\n<ul>"
    for status, answer in operation["responses"].items():
        yield f"<li><code>{_text(status)}</code> {type_text(_answer_schema(answer))}</li>"
    yield "</ul>"
    yield from _fields(document, _answer_schema(operation["responses"].get("200", {})), SCHEMA_LEVELS)
    yield "</section>"


def _answer_schema(answer: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _fields(document: dict[str, Any], schema: dict[str, Any], levels: int) -> Iterator[str]:
    """Yield a list of the fields of an object, with nested objects."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    properties = schema.get("properties", {})
    if not properties or levels == 0:
        return
    yield "<dl>"
    for name, inner in properties.items():
        need = "" if name in schema.get("required", ()) else ", optional"
        about = inner.get("description", "")
        yield f"<dt><code>{_text(name)}</code> <span>{type_text(inner)}{need}</span></dt><dd>{_text(about)}"
        for part in (inner, *inner.get("anyOf", ())):
            yield from _fields(document, part.get("items", part), levels - 1)
        yield "</dd>"
    yield "</dl>"


def type_text(schema: dict[str, Any]) -> str:
    """Return a type in a few words."""
    if "$ref" in schema:
        return _text(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_text(choice) for choice in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(_text(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    types = schema.get("type", "any")
    named = " or ".join(types) if isinstance(types, list) else str(types)
    return f"list of {type_text(schema['items'])}" if named == "array" and "items" in schema else _text(named)


def _text(value: object) -> str:
    return html.escape(str(value))
