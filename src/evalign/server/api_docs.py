"""The API's documentation as one HTML page without a script, written from the OpenAPI document."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import Any

from evalign.render.html import html_document

HEAD = '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/docs.css">'
SCHEMA_LEVELS = 3  # that are written out


def docs_page(document: dict[str, Any]) -> str:
    """The HTML page of an OpenAPI document."""
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
        yield f"<li><code>{_text(status)}</code> {schema_kind(_answer_schema(answer))}</li>"
    yield "</ul>"
    yield from _fields(document, _answer_schema(operation["responses"].get("200", {})), SCHEMA_LEVELS)
    yield "</section>"


def _answer_schema(answer: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _fields(document: dict[str, Any], schema: dict[str, Any], levels: int) -> Iterator[str]:
    """A list of an object's fields, and of the objects inside them."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    properties = schema.get("properties", {})
    if not properties or levels == 0:
        return
    yield "<dl>"
    for name, inner in properties.items():
        need = "" if name in schema.get("required", ()) else ", optional"
        about = inner.get("description", "")
        yield f"<dt><code>{_text(name)}</code> <span>{schema_kind(inner)}{need}</span></dt><dd>{_text(about)}"
        for part in (inner, *inner.get("anyOf", ())):
            yield from _fields(document, part.get("items", part), levels - 1)
        yield "</dd>"
    yield "</dl>"


def schema_kind(schema: dict[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        return _text(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(schema_kind(choice) for choice in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " or ".join(_text(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "any")
    named = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"list of {schema_kind(schema['items'])}" if named == "array" and "items" in schema else _text(named)


def _text(value: object) -> str:
    return html.escape(str(value))
