"""docs/server.md says what the server answers: every curl line is asked, and the answer begins as printed."""

import json
import re
from pathlib import Path

import pytest
from server_answers import serving

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text("utf-8")
CALLS = re.findall(r"^\$ curl -s (.*)\n(.*)$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def documented(minilm):
    with serving(models=("minilm",)) as client:
        yield client


@pytest.mark.parametrize(("call", "printed"), CALLS, ids=[re.search(r"/api/\w+", call)[0] for call, _ in CALLS])
def test_the_calls_answer_as_printed(documented, call, printed):
    path, body = re.search(r"localhost:8765(\S+)", call)[1], re.search(r"-d '(.*)'$", call)
    answer = documented.post(path, json=json.loads(body[1])) if body else documented.get(path)
    whole = not printed.endswith("...")
    assert answer.text == printed if whole else answer.text.startswith(printed.removesuffix("..."))


def test_every_endpoint_and_option_is_there():
    from evalign.cli.serve import serve
    from evalign.server.routes import served_routes

    paths = {f"/api/{name}" for name in served_routes(third_party=False)}
    assert {path for path in paths if path not in PAGE} == set()
    options = [name for option in serve.params for name in option.opts if name.startswith("--")]
    assert [name for name in options if f"`{name}" not in PAGE] == []
