"""What a browser gets: the page, its files, the shell of exported files, and the API's own documentation."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from importlib import resources
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from evalign.render.export import FILES, bundle, page_file, shell
from evalign.server.api_docs import docs_page

TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "json": "application/json",
}  # fmt: skip
ENTRY = "app.js"  # sent with all that it imports: one request instead of one for each of 80 modules


def add_pages(app: FastAPI, openapi: Callable[[], dict[str, Any]]) -> None:
    """Adds the routes; none of them is part of the API's document."""

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(request, page_file("index.html"), "html")

    @app.get("/page/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        try:
            content = page_file(name) if name != ENTRY else bundle(ENTRY).encode()
        except OSError:
            raise HTTPException(404, "The page has no such file") from None
        return _file(request, content, name.rpartition(".")[2])

    @app.get("/export/{kind}.html", include_in_schema=False)
    async def export(request: Request, kind: str) -> Response:
        if kind not in FILES:
            raise HTTPException(404, f"The page exports {', '.join(f'{name}.html' for name in FILES)}")
        return _file(request, shell(kind).encode(), "html")

    @app.get("/openapi.json", include_in_schema=False)
    async def document(request: Request) -> Response:
        return _file(request, json.dumps(openapi()).encode(), "json")

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return _file(request, docs_page(openapi()).encode(), "html")

    @app.get("/docs.css", include_in_schema=False)
    async def style(request: Request) -> Response:
        return _file(request, resources.files("evalign.server").joinpath("docs.css").read_bytes(), "css")


def _file(request: Request, content: bytes, kind: str) -> Response:
    """The response: browsers ask for it at every visit, and get the content again only if it changed."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=TYPES[kind])
