"""The OpenAPI document against a real server: 1,400 made-up requests, none of which it may break on.

Every status that comes back must be in the document, and every answer must have the shape it is said to have. Half of
the bodies get specs and models that exist, since a made-up name is refused before anything is computed. What keeps the
schema is answered, or refused for a reason that docs/server.md names; what does not keep it is refused.
"""

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    unsupported_method,
)
from server_answers import PATIENCE, Running, until

from evalign.server.routes import served_routes

PATHS = [f"/api/{name}" for name in served_routes(third_party=False)]
EACH = 1400 // len(PATHS) + 1
SPECS = ["bertscore(model=fake)", "lisascore(model=fake)", "moverscore(model=fake)", "sbert(model=fake)", "bleu",
         "chrf", "rouge", "sari", "fkgl", "meteor(modules=exact)", "ter",
         "bertscore(model=fake, idf=references)"]  # fmt: skip
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
          allow_header_conformance, response_headers_conformance, missing_required_header,
          unsupported_method]  # fmt: skip
# Why a body that keeps the schema may be refused.
MANY = ("rows", "pairs", "tokens", "cells", "metrics", "texts", "systems", "resamples")
REASONS = {*(f"too-many-{what}" for what in MANY), "text-too-long", "bad-metric", "unknown-model", "bad-layer",
           "bad-table", "missing-extra", "empty-text", "bad-input"}  # fmt: skip
RARELY_FIT = ("/api/compare", "/api/pool", "/api/resample")  # made-up scores hardly ever run in parallel


@pytest.fixture(scope="module")
def described():
    server = Running("--workers", "2", "--deadline", str(PATIENCE))
    until(lambda: server.state() == "ready")
    yield schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    code, said = server.end()
    assert (code, said) == (0, "")


GETS = ("/api/metrics", "/api/models", "/api/about", "/health", "/ready")


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_made_up_requests(described, path):
    operation = described[path]["POST"]
    cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )
    computed = []

    @settings(max_examples=EACH, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=cases, spec=st.none() | st.sampled_from(SPECS))
    def ask(case, spec):
        if spec is not None and isinstance(case.body, dict):
            for name, value in (("metric", spec), ("metrics", [spec]), ("model", "fake")):
                if case.body.get(name) is not None:
                    case.body[name] = value
            if path == "/api/align":
                case.body.pop("idf", None)  # a made-up table is refused before anything is computed, too
        checks = CHECKS if spec else [*CHECKS, negative_data_rejection]
        answer = case.call_and_validate(checks=checks, timeout=PATIENCE)
        computed.append(answer.status_code)
        if case.meta.generation.mode.is_positive and answer.status_code != 200:
            assert (answer.status_code, answer.json()["error"]["code"]) in {(422, reason) for reason in REASONS}

    ask()
    assert len(computed) >= EACH
    assert 200 in computed or path in RARELY_FIT or path == "/api/likelihood"  # which this server has no model for


@pytest.mark.slow
def test_the_reasons_are_documented():
    said = (Path(__file__).parents[2] / "docs" / "server.md").read_text("utf-8")
    row = next(line for line in said.splitlines() if line.startswith("| 422 |"))
    for reason in REASONS:
        short = reason.removeprefix("too-many") if reason != "too-many-rows" else reason
        assert f"`{short}`" in row, reason


@pytest.mark.slow
@pytest.mark.parametrize("path", GETS)
def test_questions_without_a_body(described, path):
    case = described[path]["GET"].Case()
    assert case.call_and_validate(checks=CHECKS, timeout=PATIENCE).status_code == 200
