"""The OpenAPI document against a real server: a thousand made-up requests, none of which it may break on.

Every status that comes back must be in the document, and every answer must have the shape it is said to have. Half of
the bodies get specs and models that exist, since a made-up name is refused before anything is computed.
"""

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
from server_answers import PATIENCE, Running, until

from evalign.server.openapi import BODIES

CASES = 1000
SPECS = ["bertscore(model=fake)", "lisascore(model=fake)", "moverscore(model=fake)", "sbert(model=fake)", "bleu",
         "chrf", "rouge", "sari", "fkgl", "meteor(modules=exact)", "ter",
         "bertscore(model=fake, idf=references)"]  # fmt: skip
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described():
    server = Running("--workers", "2", "--deadline", str(PATIENCE))
    until(lambda: server.state() == "ready")
    yield schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    code, said = server.end()
    assert (code, said) == (0, "")


GETS = ("/api/metrics", "/api/models", "/api/about", "/health", "/ready")


@pytest.mark.slow
@pytest.mark.parametrize("path", BODIES)
def test_made_up_requests(described, path):
    operation = described[path]["POST"]
    cases = operation.as_strategy(generation_mode=GenerationMode.POSITIVE) | operation.as_strategy(
        generation_mode=GenerationMode.NEGATIVE
    )
    computed = []

    @settings(max_examples=CASES // len(BODIES), deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=cases, spec=st.none() | st.sampled_from(SPECS))
    def ask(case, spec):
        if spec is not None and isinstance(case.body, dict):
            for name, value in (("metric", spec), ("metrics", [spec]), ("model", "fake")):
                if name in case.body:
                    case.body[name] = value
        answer = case.call_and_validate(checks=CHECKS, timeout=PATIENCE)
        computed.append(answer.status_code)

    ask()
    assert len(computed) >= CASES // len(BODIES)
    assert 200 in computed or path in ("/api/compare", "/api/pool")  # made-up scores hardly ever run in parallel


@pytest.mark.slow
@pytest.mark.parametrize("path", GETS)
def test_questions_without_a_body(described, path):
    case = described[path]["GET"].Case()
    assert case.call_and_validate(checks=CHECKS, timeout=PATIENCE).status_code == 200
