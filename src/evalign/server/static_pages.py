"""Routes of the page: its HTML, its files, the shells of exported files, and the documentation of the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from importlib import resources
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from evalign.render.export import bundle, index_page, page_file, shell, view_names, views
from evalign.server.openapi import docs_page

TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
    "json": "application/json",
}  # fmt: skip
ENTRY = "app.js"  # sent with all that it imports: a request for each module makes the first visit 40 % longer


def add_pages(app: FastAPI, openapi: Callable[[], dict[str, Any]], third_party: bool) -> None:
    """Add the routes to the application; none of them is part of the API's document.

    Args:
        app: The server's application.
        openapi: Returns the API's document.
        third_party: Whether views of other packages are served.

    Raises:
        SpecError: The view of a package cannot be imported.
    """
    views(third_party)  # a broken one is told when the server starts, not by its requests

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(request, index_page(third_party), "html")

    @app.get("/page/{name:path}", include_in_schema=False)
    async def file(request: Request, name: str) -> Response:
        try:
            content = bundle(ENTRY, third_party=third_party).encode() if name == ENTRY else page_file(name, third_party)
        except OSError:
            raise HTTPException(404, "The page has no such file") from None
        return _file(request, content, name.rpartition(".")[2])

    @app.get("/export/{kind}.html", include_in_schema=False)
    async def export(request: Request, kind: str) -> Response:
        exported = view_names(third_party)
        if kind not in exported:
            raise HTTPException(404, f"The page exports {', '.join(f'{name}.html' for name in exported)}")
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


def _file(request: Request, content: bytes, extension: str) -> Response:
    """Return the file with its hash as ETag: browsers ask at every visit, and get content that changed."""
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=TYPES[extension])
