"""The ASGI application: routes, and the steps of a request.

Guard (host, headers, queue full?) -> FastAPI route -> BodyReader -> WorkerPool [parse, check, compute, JSON] -> bytes
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from evalign.encoders.loading import keep_embeddings, keep_encoders
from evalign.encoders.tokenizer import tokenize_once
from evalign.errors import EvalignError
from evalign.metrics.all_matchings import align_all
from evalign.metrics.bertscore import BERTScore
from evalign.server import catalogue, pair_requests, schemas
from evalign.server.access import Access, add_login
from evalign.server.counters import CONTENT_TYPE, Counters
from evalign.server.errors import ApiError, api_error, invalid
from evalign.server.middleware import Guard, answer
from evalign.server.openapi import document_answer, openapi
from evalign.server.request_body import BodyReader, parse_json
from evalign.server.routes import Document, Route, served_routes
from evalign.server.settings import Settings
from evalign.server.static_pages import add_pages
from evalign.server.worker_pool import ClientGone, WorkerPool

Body = TypeVar("Body", bound=BaseModel)
SPARE_ENCODERS = 2  # loaded besides the listed models' own layers: requests for many layers reload, and never pile up
REFUSED: dict[str, Any] = {"model": schemas.ErrorAnswer}
REFUSALS: dict[int | str, dict[str, Any]] = dict.fromkeys((400, 401, 404, 405, 413, 415, 422, 429, 503, 504), REFUSED)
CODES = {404: "not-found", 405: "wrong-method"}
ABOUT = (
    "Scores and alignments of generated text. No answer depends on another request, and no text is written anywhere. "
    "Metrics are written as specs, as on evalign's command line."
)


class Service:
    """State shared by all routes of one server: settings, worker pool, body reader and models."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = WorkerPool(settings.workers, settings.queue, settings.longest_retry)
        self.reader = BodyReader(settings)
        self.loading: asyncio.Task[None] | None = None
        self.models: dict[str, Any] | None = None  # set once they are loaded
        self.metrics = catalogue.metrics(settings)
        self.access = Access(settings.token)
        self.counters = Counters()

    async def answer(
        self, request: Request, model: type[Body], compute: Callable[[Body, Settings], dict[str, Any]]
    ) -> Response:
        """Answer a request: read its body, then parse, check and compute in a worker.

        Args:
            request: The request.
            model: Model of the body.
            compute: Returns the answer to a parsed body.
        """
        body = await self.reader.read(request)
        gone = asyncio.create_task(_disconnected(request))
        work = partial(_computed, body, model, compute, self.settings)
        try:
            return Response(await self.pool.run(work, self.settings.deadline, gone), media_type="application/json")
        except asyncio.CancelledError:  # the server stops, and this takes longer than it waits
            raise ApiError(503, "ending", "the server is shutting down; try again after its restart") from None
        finally:
            gone.cancel()

    def load(self) -> None:
        """Load all listed models."""
        keep_encoders(len(self.settings.models) + SPARE_ENCODERS)
        keep_embeddings(None)  # texts of requests are never written to disk, whatever the environment sets
        models = catalogue.models(self.settings)
        align_all(
            BERTScore(model=self.settings.models[0]), "a word", "the word"
        )  # also loads the libraries of the solvers
        self.models = models
        for name in self.settings.generators:
            pair_requests.generator(name).scorer()


class Application(Guard):
    """ASGI application of a server."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        busy = lambda: service.pool.busy() if service.pool.full else None  # noqa: E731
        super().__init__(app, service.settings, busy, service.access, service.counters)
        self.service = service


def create_app(settings: Settings) -> Application:
    """Return the application of a server."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        service.pool.start()
        service.loading = asyncio.create_task(asyncio.to_thread(service.load))
        service.loading.add_done_callback(_report_failure)
        yield
        service.pool.stop()

    app = FastAPI(
        title="evalign", description=ABOUT, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,
    )  # fmt: skip
    routes = served_routes(settings.plugins)
    _add_api(app, service, routes)
    _add_state(app, service)
    app.openapi = lambda: openapi(app, routes, bool(settings.token))  # type: ignore[method-assign]  # FastAPI's way to replace it
    add_login(app, service.access)
    add_pages(app, app.openapi, settings.plugins)
    _add_errors(app)
    return Application(app, service)


def _add_api(app: FastAPI, service: Service, routes: Mapping[str, Route]) -> None:
    router = APIRouter(prefix="/api", responses=REFUSALS)
    for name, route in routes.items():
        _add_route(router, service, name, route)
    app.include_router(router)

    @app.get("/api/metrics", responses={401: REFUSED}, response_model=schemas.MetricsAnswer, summary="List the metrics")
    async def metrics() -> Response:
        """All metrics, their options, and whether this server can compute them."""
        return _json(service.metrics)

    @app.get(
        "/api/models",
        responses={401: REFUSED, 503: REFUSED},
        response_model=schemas.ModelsAnswer,
        summary="List the models",
    )
    async def models() -> Response:
        """The models that specs may name; waits until they are loaded."""
        if service.models is None and service.loading is not None:
            await asyncio.wait({service.loading}, timeout=service.settings.deadline)
        if service.models is None:
            raise ApiError(503, "model-broken", "the models cannot be loaded on this server; see its log", 5)
        return _json(service.models)

    @app.get("/api/about", responses={401: REFUSED}, response_model=schemas.AboutAnswer, summary="Version and limits")
    async def about() -> Response:
        """RequestLimits of a single request."""
        return _json(catalogue.about(service.settings))


def _add_route(router: APIRouter, service: Service, name: str, route: Route) -> None:
    async def handle(request: Request) -> Response:
        return await service.answer(request, route.body, route.compute)

    handle.__name__ = name  # the id of the operation in the API's document
    about: dict[str, Any] = {"summary": route.summary, "description": route.description}
    if isinstance(route.answer, Document):
        about["responses"] = {200: document_answer(route.answer)}
    else:
        about["response_model"] = route.answer
    router.post(f"/{name}", **about)(handle)


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/health", response_model=schemas.StateAnswer, summary="Alive?")
    async def health() -> Response:
        """200 while the process runs."""
        return _json({"status": "alive"})

    @app.get("/metrics", include_in_schema=False)
    async def counts() -> Response:
        state = {
            "requests_running": ("Requests that are computed or wait for it.", service.pool.unfinished),
            "requests_capacity": ("Requests that may be computed or wait.", service.pool.workers + service.pool.queue),
            "models_loaded": ("1 if the models are loaded.", service.models is not None),
        }
        return Response(service.counters.text(state), media_type=CONTENT_TYPE)

    waiting: dict[int | str, dict[str, Any]] = {503: {"model": schemas.StateAnswer}}

    @app.get("/ready", response_model=schemas.StateAnswer, summary="Ready?", responses=waiting)
    async def ready() -> Response:
        """200 if the models are loaded and the queue is not full."""
        if service.loading is None or not service.loading.done() or service.models is None:
            return _json({"status": "loading"}, 503)
        return _json({"status": "full"}, 503) if service.pool.full else _json({"status": "ready"})


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(ApiError)
    async def refused(_request: Request, error: ApiError) -> Response:
        return answer(error)

    @app.exception_handler(HTTPException)
    async def framework(_request: Request, error: HTTPException) -> Response:
        response = answer(ApiError(error.status_code, CODES.get(error.status_code, "refused"), f"{error.detail}."))
        response.headers.update(error.headers or {})
        if response.headers.get("allow") == "GET":
            response.headers["allow"] = "GET, HEAD"  # middleware.py answers HEAD as GET
        return response

    @app.exception_handler(ClientGone)
    async def gone(_request: Request, _error: ClientGone) -> Response:
        return Response(status_code=400)  # the client is gone

    @app.exception_handler(Exception)
    async def unforeseen(_request: Request, _error: Exception) -> Response:
        return answer(ApiError(500, "internal", "internal error of the server; see its log"))


def _computed(
    body: bytes, model: type[Body], compute: Callable[[Body, Settings], dict[str, Any]], settings: Settings
) -> bytes:
    """Return the JSON of the answer to a request's body; runs in a worker."""
    try:
        with tokenize_once():  # costs are checked in tokens before the texts are encoded
            document = compute(model.model_validate(parse_json(body)), settings)
        return json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
    except ValidationError as error:
        raise invalid(error) from None
    except EvalignError as error:
        refusal = api_error(error)
        if refusal.status >= 500:
            print(f"evalign: {error}", file=sys.stderr)
        raise refusal from error


async def _disconnected(request: Request) -> None:
    """Return when the client closes its connection; the body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False).encode(), status, media_type="application/json")


def _report_failure(loading: asyncio.Task[None]) -> None:
    if not loading.cancelled() and (error := loading.exception()) is not None:
        print(f"evalign: the models cannot be loaded: {error}", file=sys.stderr)
