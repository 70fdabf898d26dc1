"""The application: its routes, and the way of a request through it.

Guard (host, headers, queue full?) -> FastAPI route -> BodyReader -> WorkerPool [parse, check, compute, JSON] -> bytes
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from evalign.encoders.loading import keep_embeddings, keep_encoders
from evalign.encoders.token_memo import tokenise_once
from evalign.errors import EvalignError
from evalign.metrics.bertscore import BERTScore
from evalign.metrics.every_matching import align_every
from evalign.server import (
    catalogue,
    comparison_requests,
    corpus_requests,
    pair_requests,
    request_models,
    response_models,
    trace_requests,
)
from evalign.server.errors import ApiError, api_error, invalid
from evalign.server.middleware import Guard, answer
from evalign.server.openapi import answers, openapi
from evalign.server.request_body import BodyReader
from evalign.server.settings import Settings
from evalign.server.static_pages import add_pages
from evalign.server.strict_json import parse_json
from evalign.server.worker_pool import ClientGone, WorkerPool

Body = TypeVar("Body", bound=BaseModel)
SPARE_ENCODERS = 2  # loaded besides the listed models' own layers: requests for many layers reload, and never pile up
REFUSED: dict[str, Any] = {"model": response_models.ErrorAnswer}
REFUSALS: dict[int | str, dict[str, Any]] = dict.fromkeys((400, 404, 405, 413, 415, 422, 429, 503, 504), REFUSED)
CODES = {404: "not-found", 405: "wrong-method"}
ABOUT = (
    "Scores and alignments of generated text. No answer depends on another request, and no text is written anywhere. "
    "Metrics are written as specs, as on evalign's command line."
)


class Service:
    """What all routes of one server share."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = WorkerPool(settings.workers, settings.queue, settings.longest_retry)
        self.reader = BodyReader(settings)
        self.loading: asyncio.Task[None] | None = None
        self.models: dict[str, Any] | None = None  # known once they are loaded
        self.metrics = catalogue.metrics(settings)

    async def answer(
        self, request: Request, kind: type[Body], compute: Callable[[Body, Settings], dict[str, Any]]
    ) -> Response:
        """Reads the body, then does everything else in a worker."""
        body = await self.reader.read(request)
        gone = asyncio.create_task(_disconnected(request))
        work = partial(_computed, body, kind, compute, self.settings)
        try:
            return Response(await self.pool.run(work, self.settings.deadline, gone), media_type="application/json")
        except asyncio.CancelledError:  # the server ends, and this takes longer than it waits
            raise ApiError(503, "ending", "the server is being ended; ask again when it is back") from None
        finally:
            gone.cancel()

    def load(self) -> None:
        """Loads every listed model."""
        keep_encoders(len(self.settings.models) + SPARE_ENCODERS)
        keep_embeddings(None)  # what people send is written nowhere, whatever the environment says
        models = catalogue.models(self.settings)
        align_every(BERTScore(model=self.settings.models[0]), "a word", "the word")  # loads the solvers' libraries too
        self.models = models
        for name in self.settings.generators:
            trace_requests.generator(name).scorer()


class Application(Guard):
    """The whole server as one ASGI application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service.settings, lambda: service.pool.busy() if service.pool.full else None)
        self.service = service


def create_app(settings: Settings) -> Application:
    """The application of one server."""
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
    _add_api(app, service)
    _add_state(app, service)
    add_pages(app, lambda: openapi(app))
    _add_errors(app)
    return Application(app, service)


def _add_api(app: FastAPI, service: Service) -> None:
    router = APIRouter(prefix="/api", responses=REFUSALS)

    @router.post("/align", responses={200: answers("AlignmentDocument")}, summary="Align one pair")
    async def align(request: Request) -> Response:
        """Which tokens of two texts match, under one matching or all of them, from one encoding."""
        return await service.answer(request, request_models.AlignRequest, pair_requests.align)

    @router.post("/score", responses={200: answers("CorpusDocument")}, summary="Score rows")
    async def score(request: Request) -> Response:
        """Scores of every row and system; the document holds no texts."""
        return await service.answer(request, request_models.ScoreRequest, corpus_requests.score)

    @router.post("/compare", response_model=response_models.ComparisonAnswer, summary="Compare systems")
    async def compare(request: Request) -> Response:
        """Intervals, paired bootstrap, approximate randomisation, wins and losses."""
        return await service.answer(request, request_models.CompareRequest, comparison_requests.compare)

    @router.post("/resample", response_model=request_models.ComparisonSums, summary="Compare a part of the rows")
    async def resample(request: Request) -> Response:
        """Sums over the rows of every resample. Those of all parts add up to what /api/compare takes as `sums`."""
        return await service.answer(request, request_models.ResampleRequest, comparison_requests.resample)

    @router.post("/specs", response_model=response_models.SpecsAnswer, summary="Read specs")
    async def specs(request: Request) -> Response:
        """Which metrics specs stand for, and the IDF table that they need; nothing is loaded or scored."""
        return await service.answer(request, request_models.SpecsRequest, catalogue.specs)

    @router.post("/pool", response_model=response_models.PoolAnswer, summary="Pool statistics")
    async def pool(request: Request) -> Response:
        """The corpus score of statistics that were summed over parts of a corpus."""
        return await service.answer(request, request_models.PoolRequest, pair_requests.pool)

    @router.post("/idf", response_model=request_models.IDFTableObject, summary="Count an IDF table")
    async def idf(request: Request) -> Response:
        """In how many texts each token occurs. Tables of one tokenizer merge by adding `documents` and `df`."""
        return await service.answer(request, request_models.IDFRequest, pair_requests.idf)

    @router.post("/lstm", responses={200: answers("LSTMDocument")}, summary="Trace an LSTM")
    async def lstm(request: Request) -> Response:
        """What every gate does at every word of a text."""
        return await service.answer(request, request_models.LSTMRequest, trace_requests.lstm)

    @router.post("/likelihood", responses={200: answers("LikelihoodDocument")}, summary="Predict one pair")
    async def likelihood(request: Request) -> Response:
        """How likely a model that generates text finds every token of one text after the other (bartscore)."""
        return await service.answer(request, request_models.LikelihoodRequest, trace_requests.likelihood)

    app.include_router(router)

    @app.get("/api/metrics", response_model=response_models.MetricsAnswer, summary="List the metrics")
    async def metrics() -> Response:
        """Every metric, its options, and whether this server can compute it."""
        return _json(service.metrics)

    @app.get(
        "/api/models", responses={503: REFUSED}, response_model=response_models.ModelsAnswer, summary="List the models"
    )
    async def models() -> Response:
        """The models that specs may name; waits while they are being loaded."""
        if service.models is None and service.loading is not None:
            await asyncio.wait({service.loading}, timeout=service.settings.deadline)
        if service.models is None:
            raise ApiError(503, "model-broken", "the models cannot be loaded on this server; its log says why", 5)
        return _json(service.models)

    @app.get("/api/about", response_model=response_models.AboutAnswer, summary="Version and limits")
    async def about() -> Response:
        """What one request may ask for."""
        return _json(catalogue.about(service.settings))


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/health", response_model=response_models.StateAnswer, summary="Alive?")
    async def health() -> Response:
        """200 as long as the process answers."""
        return _json({"status": "alive"})

    waiting: dict[int | str, dict[str, Any]] = {503: {"model": response_models.StateAnswer}}

    @app.get("/ready", response_model=response_models.StateAnswer, summary="Ready?", responses=waiting)
    async def ready() -> Response:
        """200 once the models are loaded and while there is room in the queue."""
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
        return Response(status_code=400)  # nobody reads it

    @app.exception_handler(Exception)
    async def unforeseen(_request: Request, _error: Exception) -> Response:
        return answer(ApiError(500, "internal", "this is a defect of the server; its log says more"))


def _computed(
    body: bytes, kind: type[Body], compute: Callable[[Body, Settings], dict[str, Any]], settings: Settings
) -> bytes:
    """The answer's JSON, from a request's body; runs in a worker."""
    try:
        with tokenise_once():  # its costs are counted in tokens before they are encoded
            document = compute(kind.model_validate(parse_json(body)), settings)
        return json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
    except ValidationError as error:
        raise invalid(error) from None
    except EvalignError as error:
        refusal = api_error(error)
        if refusal.status >= 500:
            print(f"evalign: {error}", file=sys.stderr)
        raise refusal from error


async def _disconnected(request: Request) -> None:
    """Ends when the client closes its connection; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(value: dict[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False).encode(), status, media_type="application/json")


def _report_failure(loading: asyncio.Task[None]) -> None:
    if not loading.cancelled() and (error := loading.exception()) is not None:
        print(f"evalign: the models cannot be loaded: {error}", file=sys.stderr)
