"""What the API answers: the library's own numbers, documents that keep their schemas, sentences for errors."""

import base64
import dataclasses
import json
import re
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import numpy as np
import pytest

import evalign
from evalign.core.registry import metric_names
from evalign.encoders import loading
from evalign.encoders.loading import EncoderSpec, open_encoder
from evalign.metrics.weighting import count_idf
from evalign.render.documents import schema
from evalign.server import allowed_specs, request_costs
from evalign.server.app import SPARE_ENCODERS
from evalign.server.routes import served_routes
from evalign.server.settings import RequestLimits
from evalign.text.idf import IDFTable

ROUTES = served_routes(third_party=False)

CANDIDATES = [
    "The bank raised interest rates again.",
    "A dog barked.",
    "It is not raining, and nobody is outside.",
    "ظهر النص",
    "",
]
REFERENCES = [
    ["Once more, the central bank increased rates.", "Rates went up."],
    ["The dog was barking loudly at night."],
    ["It is raining."],
    ["النص العربي هنا", "نص"],
    ["something"],
]
ROWS = [{"candidate": one, "references": several} for one, several in zip(CANDIDATES, REFERENCES, strict=True)]
PAIR = {"candidate": CANDIDATES[0], "reference": REFERENCES[0][0]}


def plain_table(table: IDFTable) -> dict:
    counts = {str(token): count for token, count in table.frequencies.items()}
    return {"format": "evalign-idf-1", "tokenizer": table.tokenizer, "documents": table.documents, "df": counts}


@pytest.mark.parametrize(
    "spec",
    ["bertscore", "bertscore(layer=2)", "bertscore(specials=drop, rescale=true)", "lisascore", "moverscore",
     "bertscore(idf=references)", "lisascore(method=row-mask)", "bertscore(arithmetic=int8)", "bertscore(layer=2+4)"],
)  # fmt: skip
def test_an_alignment_is_the_librarys(minilm_server, spec):
    answer = minilm_server.post("/api/align", json=PAIR | {"metric": spec})
    assert answer.status_code == 200, answer.text
    document = answer.json()
    jsonschema.validate(document, schema("alignment"))
    ours = evalign.metric(spec).align(PAIR["candidate"], PAIR["reference"])
    assert document["scores"] == dict(ours.scores)
    assert (document["signature"], document["metric"]) == (ours.signature, str(evalign.metric(spec)))
    assert document["matchings"][0]["cells"] == ours.cells.tolist()
    packed = document["similarity"]
    steps = np.frombuffer(base64.b64decode(packed["uint16"]), dtype="<u2").reshape(packed["rows"], packed["columns"])
    matrix = packed["low"] + steps / 65535 * (packed["high"] - packed["low"])
    np.testing.assert_allclose(matrix, ours.similarity, atol=(packed["high"] - packed["low"]) / 65535)


def test_every_matching_has_the_numbers_of_its_own_metric(minilm_server):
    document = minilm_server.post("/api/align", json=PAIR).json()
    scores = {one["name"]: one["scores"] for one in document["matchings"]}
    assert next(iter(scores)) == "greedy"
    assert {"greedy", "exact", "row-mask", "auction", "transport"} <= set(scores)
    for name in set(scores) - {"transport"}:
        ours = evalign.metric(f"bertscore(matching={name})").align(**PAIR)
        assert scores[name] == dict(ours.scores)
    assert scores["transport"] == dict(evalign.metric("moverscore").align(**PAIR).scores)


def test_own_matching_only(fake_server):
    body = PAIR | {"metric": "lisascore(model=fake)", "matchings": "own"}
    document = fake_server.post("/api/align", json=body).json()
    assert [one["name"] for one in document["matchings"]] == ["exact"]


def test_a_table_sent_with_a_pair_overrides_its_idf(minilm_server):
    texts = [text for several in REFERENCES for text in several]
    sent = minilm_server.post("/api/idf", json={"model": "minilm", "texts": texts}).json()
    encoder = open_encoder(EncoderSpec()).encoder
    table = count_idf(encoder, texts)
    assert sent == plain_table(table)
    document = minilm_server.post("/api/align", json=PAIR | {"idf": sent}).json()
    ours = evalign.BERTScore().scorer(None, table).align(*PAIR.values())
    assert (document["scores"], document["signature"]) == (dict(ours.scores), ours.signature)
    assert f"idf:table@{table.digest}" in document["signature"]


def test_a_table_of_another_tokenizer_is_refused(minilm_server):
    table = plain_table(IDFTable("fake", 2, {5: 1}))
    answer = minilm_server.post("/api/align", json=PAIR | {"idf": table})
    assert answer.status_code == 422
    assert "another tokenizer" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "specs",
    [["bertscore"], ["bertscore(idf=references)", "lisascore", "moverscore", "sbert"], ["bleu", "chrf", "ter"],
     ["rouge"], ["meteor(modules=exact+stem)"], ["evalign"]],
    ids=lambda specs: specs[0],
)  # fmt: skip
def test_scores_are_the_librarys(minilm_server, specs):
    answer = minilm_server.post("/api/score", json={"rows": ROWS, "metrics": specs})
    assert answer.status_code == 200, answer.text
    document = answer.json()
    jsonschema.validate(document, schema("corpus"))
    for place, entry in enumerate(document["metrics"]):
        report = evalign.metric(entry["metric"]).score(CANDIDATES, REFERENCES)
        assert [row["scores"][place] for row in document["rows"]] == [dict(one.scores) for one in report.segments]
        assert [row["flags"][place] for row in document["rows"]] == [list(one.flags) for one in report.segments]
        result = next(one for one in document["results"] if one["metric"] == entry["metric"])
        assert (entry["signature"], result["signature"]) == (report.signature, report.signature)
        for field in report.fields:
            assert result["scores"][field] == pytest.approx(
                report.mean(field), rel=1e-12
            )  # the server sums exactly, numpy does not
        assert result.get("corpus", {}) == dict(report.pooled)


def test_a_metric_with_a_table_for_each_side_counts_its_own(fake_server):
    """The page's upload, which sends one table with every part of a file, is told so."""
    body = {"rows": ROWS, "metrics": ["moverscore(preset=moverscore_v2, model=fake)"]}
    document = fake_server.post("/api/score", json=body).json()
    report = evalign.metric(body["metrics"][0]).score(CANDIDATES, REFERENCES)
    assert [row["scores"][0]["score"] for row in document["rows"]] == list(report["score"])
    assert document["metrics"][0]["signature"] == report.signature
    table = fake_server.post("/api/idf", json={"model": "fake", "texts": ["a text"]}).json()
    refused = fake_server.post("/api/score", json=body | {"idf": table})
    assert refused.status_code == 422
    assert "all rows at once" in refused.json()["error"]["message"]


def test_a_table_serves_the_metrics_that_ask_for_idf(minilm_server):
    texts = [text for several in REFERENCES for text in several]
    table = minilm_server.post("/api/idf", json={"model": "minilm", "texts": texts}).json()
    body = {"rows": ROWS[:2], "metrics": ["bertscore(idf=references)", "bertscore"], "idf": table}
    weighted, plain = minilm_server.post("/api/score", json=body).json()["metrics"]
    whole = evalign.metric("bertscore(idf=references)").score(CANDIDATES, REFERENCES)
    assert weighted["signature"] == whole.signature
    assert "idf:no" in plain["signature"]
    refused = minilm_server.post("/api/score", json=body | {"metrics": ["bertscore", "bleu"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad-table")


def test_parts_pool_to_the_whole(fake_server):
    ids = [f"row {place}" for place in range(len(ROWS))]
    rows = [row | {"id": name, "system": "A"} for row, name in zip(ROWS, ids, strict=True)]
    parts = [
        fake_server.post("/api/score", json={"rows": some, "metrics": ["bleu"]}).json() for some in (rows[:2], rows[2:])
    ]
    statistics = np.array([row["statistics"][0] for part in parts for row in part["rows"]])
    body = {"metric": "bleu", "totals": statistics.sum(axis=0).tolist(), "rows": len(rows)}
    pooled = fake_server.post("/api/pool", json=body).json()
    assert pooled["corpus"] == dict(evalign.metric("bleu").score(CANDIDATES, REFERENCES).pooled)
    assert [row["id"] for part in parts for row in part["rows"]] == ids


def test_a_row_that_cannot_be_scored_fails_alone(fake_server):
    rows = [{"candidate": "a", "references": "b"}, {"candidate": "a"}]
    document = fake_server.post("/api/score", json={"rows": rows, "metrics": ["bleu", "bertscore(model=fake)"]}).json()
    assert document["rows"][1]["scores"] == [None, None]
    assert all("needs references" in error for error in document["rows"][1]["errors"])
    assert all(scores is not None for scores in document["rows"][0]["scores"])
    everywhere = fake_server.post("/api/score", json={"rows": rows[1:], "metrics": ["bleu"]})
    assert everywhere.status_code == 422


SYSTEMS = {"old": CANDIDATES[:4], "new": [text.upper() for text in CANDIDATES[:4]]}


@pytest.mark.parametrize("spec", ["bertscore(model=fake)", "bleu"])
def test_comparing_rows_and_comparing_scores_give_the_same(fake_server, spec):
    rows = [
        {"id": str(place), "candidate": text, "references": REFERENCES[place], "system": system}
        for system, texts in SYSTEMS.items()
        for place, text in enumerate(texts)
    ]
    body = {"samples": 200, "seed": 7}
    compared = fake_server.post("/api/compare", json=body | {"rows": rows, "metrics": [spec]}).json()["comparison"]
    from evalign.analysis.comparison import compare
    from evalign.analysis.comparison_results import ComparisonPlan
    from evalign.stats.bootstrap import Resampling

    plan = ComparisonPlan(resampling=Resampling(200, 7))
    ours = compare(SYSTEMS, REFERENCES[:4], [spec], plan=plan).to_dict()
    told, expected = compared["results"][0]["systems"], ours["results"][0]["systems"]
    for one in (*told, *expected):
        for example in one.pop("examples", []):
            assert example["candidate"] in SYSTEMS["new"]
    assert told == expected
    scored = fake_server.post("/api/score", json={"rows": rows, "metrics": [spec]}).json()
    values, statistics = {}, {}
    main = scored["metrics"][0]["main"]
    for row in scored["rows"]:
        values.setdefault(row["system"], []).append(row["scores"][0][main])
        statistics.setdefault(row["system"], []).append((row.get("statistics") or [None])[0])
    one = {"metric": spec, "values": values} | ({"statistics": statistics} if spec == "bleu" else {})
    again = fake_server.post("/api/compare", json=body | {"scores": [one]}).json()["comparison"]
    first, second = compared["results"][0]["systems"][1], again["results"][0]["systems"][1]
    for key in ("score", "difference", "wins", "losses", "ties"):
        assert second[key] == pytest.approx(first[key])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "either rows and metrics, or scores"),
        ({"scores": [{"metric": "bleu", "values": {"a": [1], "b": [2]}}]}, "send the statistics"),
        ({"scores": [{"metric": "rougeL", "values": {"a": [1]}}]}, "two or more systems"),
        ({"scores": [{"metric": "chrf", "values": {"a": [1], "b": [2, 3]}}]}, "1 values for each"),
        ({"scores": [{"metric": "rougeL", "values": {"a": [None], "b": [None]}}]}, "no row was scored for all systems"),
        ({"rows": ROWS, "metrics": ["bleu"]}, "only one system"),
        ({"scores": [{"metric": "rougeL", "values": {"a": [1], "b": [2]}}], "baseline": "c"}, "no such system"),
        (
            {"scores": [{"metric": "rougeL", "values": {str(n): [1] for n in range(45)}}], "samples": 9000},
            "too many for this server",
        ),
    ],
)
def test_what_cannot_be_compared(fake_server, body, said):
    answer = fake_server.post("/api/compare", json=body)
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("totals", [[], [1.0], [0.0] * 500, [1e300] * 10, [-1.0] * 10], ids=len)
@pytest.mark.parametrize("spec", ["bleu", "chrf", "ter", "sari", "meteor(modules=exact)", "fkgl"])
def test_totals_that_are_no_sums(fake_server, spec, totals):
    answer = fake_server.post("/api/pool", json={"metric": spec, "totals": totals, "rows": 1})
    assert answer.status_code in (200, 422), answer.text


@pytest.mark.parametrize("spec", ["bleu", "chrf", "ter", "sari", "meteor(modules=exact)", "fkgl"])
def test_no_sum_of_counts_is_negative(fake_server, spec):
    row = {"candidate": "the cat sat down there", "references": ["a cat sat there"], "source": "the cat sat"}
    (scored,) = fake_server.post("/api/score", json={"rows": [row], "metrics": [spec]}).json()["rows"]
    (totals,) = scored["statistics"]
    body = {"metric": spec, "totals": totals, "rows": 1}
    assert fake_server.post("/api/pool", json=body).status_code == 200
    for place in range(len(totals)):
        below = [*totals[:place], -1.0, *totals[place + 1 :]]
        refusal = fake_server.post("/api/pool", json=body | {"totals": below})
        assert refusal.status_code == 422
        assert refusal.json()["error"]["message"].startswith(f"totals[{place}]: ")


def test_pooling_a_mean_is_refused(fake_server):
    answer = fake_server.post("/api/pool", json={"metric": "rougeL", "totals": [1.0], "rows": 1})
    assert "its corpus score is the mean" in answer.json()["error"]["message"]


def test_answers_at_the_same_time_are_the_same(minilm_server):
    bodies = [
        PAIR | {"metric": f"bertscore(layer={layer})", "candidate": " ".join(CANDIDATES[:count])}
        for layer in (3, 4)
        for count in (1, 2, 3)
    ]
    alone = [minilm_server.post("/api/align", json=body).json() for body in bodies]
    with ThreadPoolExecutor(6) as threads:
        together = list(threads.map(lambda body: minilm_server.post("/api/align", json=body).json(), bodies * 3))
    assert together == alone * 3


def test_a_walk_through_all_layers_keeps_few_encoders(minilm_server):
    for layer in range(7):
        body = PAIR | {"metric": f"bertscore(layer={layer})", "matchings": "own"}
        assert minilm_server.post("/api/align", json=body).status_code == 200
    most = len(minilm_server.service.settings.models) + SPARE_ENCODERS
    assert len(loading._pool) <= most


def test_the_catalogue(minilm_server):
    metrics = {one["name"]: one for one in minilm_server.get("/api/metrics").json()["metrics"]}
    assert set(metrics) == set(metric_names())
    options = {one["name"]: one for one in metrics["bertscore"]["options"]}
    assert options["model"]["choices"] == ["minilm", "fake"]
    assert options["idf"]["choices"] == ["no", "references", "sources"]
    assert not {"threads", "device", "backend", "token_budget", "max_length"} & set(options)
    assert metrics["bertscore"]["aligns"]
    assert metrics["moverscore"]["aligns"]
    assert not metrics["bleu"]["aligns"]
    assert metrics["ter"]["bounds"] == [0.0, None]
    assert not metrics["bartscore"]["available"]
    assert "a different type of model" in metrics["bartscore"]["reason"]
    models = minilm_server.get("/api/models").json()["models"]
    assert models[0] == {"name": "minilm", "label": "all-MiniLM-L6-v2", "layers": 6, "default_layer": "4"}
    about = minilm_server.get("/api/about").json()
    assert (about["evalign"], about["limits"]["body"]) == (evalign.__version__, RequestLimits().body)


def test_about_names_every_limit(fake_server):
    about = fake_server.get("/api/about").json()
    settings = fake_server.service.settings
    assert dataclasses.asdict(settings.limits).items() <= about["limits"].items()
    for name in ("deadline", "idle_seconds", "body_seconds", "body_budget", "workers", "queue", "connections",
                 "client_requests", "client_rate"):  # fmt: skip
        assert about["limits"][name] == getattr(settings, name)
    described = fake_server.get("/openapi.json").json()["components"]["schemas"]
    kinds = {route.body.__name__ for route in ROUTES.values()}
    bounds = {bound for kind in kinds for bound in bounds_within(described[kind], described)}
    assert bounds
    assert bounds - {2**53, 1e300} <= set(about["limits"].values())  # what every JSON reader can hold is no limit
    assert about["cell_costs"] == request_costs.CELL_COSTS
    assert about["option_bounds"].keys() == {*allowed_specs.BOUNDS, "*"}


def bounds_within(schema, described):
    """Every upper bound in a JSON Schema and in those it refers to."""
    if isinstance(schema, list):
        for part in schema:
            yield from bounds_within(part, described)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("maxLength", "maxItems", "maximum"):
                yield value
            elif key == "$ref":
                yield from bounds_within(described[value.rpartition("/")[2]], described)
            else:
                yield from bounds_within(value, described)


@pytest.mark.parametrize("path", ["/", "/docs", "/page/app.js", "/export/corpus.html", "/api/about", "/api/metrics",
                                  "/health", "/ready", "/openapi.json", "/nothing"])  # fmt: skip
def test_head_is_answered_as_get_without_the_body(fake_server, path):
    get, head = fake_server.get(path), fake_server.head(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    assert dict(head.headers) == dict(get.headers)


def test_other_methods_are_told_what_is_allowed(fake_server):
    assert fake_server.put("/api/about").headers["allow"] == "GET, HEAD"
    refusal = fake_server.head("/api/align")
    assert (refusal.status_code, refusal.headers["allow"]) == (405, "POST")


def test_states(fake_server):
    assert fake_server.get("/health").json() == {"status": "alive"}
    assert fake_server.get("/ready").json() == {"status": "ready"}


def test_openapi(minilm_server):
    document = minilm_server.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {f"/api/{name}" for name in ROUTES} <= set(document["paths"])
    known = set(document["components"]["schemas"])
    named = set(json.dumps(document).split('"#/components/schemas/')[1:])
    assert {part.partition('"')[0] for part in named} <= known


@pytest.mark.parametrize("name", ROUTES)
def test_the_examples_of_the_documentation_run(minilm_server, name):
    answer = minilm_server.post(f"/api/{name}", json=ROUTES[name].example)
    if name == "likelihood":  # which this server has no model for
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad-metric")
    else:
        assert answer.status_code == 200


def test_the_documentation_needs_no_script_and_no_other_host(fake_server):
    page = fake_server.get("/docs").text
    assert "<script" not in page
    assert 'href="http' not in page
    assert "src=" not in page
    for name in ROUTES:
        assert f"POST /api/{name}" in page
    body = page.partition("POST /api/score")[2].partition("Answers")[0]
    assert body.count("<code>references</code>") == 1
    assert fake_server.get("/docs.css").headers["content-type"].startswith("text/css")


def test_the_page_and_its_files(fake_server):
    index = fake_server.get("/")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert '<script type="module" src="/page/app.js">' in index.text
    script = fake_server.get("/page/app.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert not re.search(r"^import ", script.text, re.MULTILINE)  # all of it in one answer
    assert re.search(r"^import ", fake_server.get("/page/pair/view.js").text, re.MULTILINE)
    again = fake_server.get("/page/app.js", headers={"If-None-Match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for kind in ("alignment", "corpus", "likelihood", "lstm"):
        assert fake_server.get(f"/export/{kind}.html").headers["content-type"] == "text/html; charset=utf-8"
    assert fake_server.get("/export/other.html").status_code == 404
    for name in ("nothing.js", "..%2f..%2ferrors.py", "app.py", "%00.js", "a" * 5000 + ".js"):
        assert fake_server.get(f"/page/{name}").status_code == 404


def test_the_missing_extra_is_named(monkeypatch):
    import sys

    from click.testing import CliRunner

    from evalign.cli.serve import serve
    from evalign.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "evalign.server.run", raising=False)
    found = CliRunner().invoke(serve, ["--model", "fake"])
    assert isinstance(found.exception, MissingExtraError)
    assert "pip install 'evalign[web]'" in str(found.exception)
