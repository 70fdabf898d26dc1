"""Hostile requests, one by one: a 4xx with a sentence, nothing executed, nothing read from the disk, never a 5xx."""

import json
from pathlib import Path

import pytest
from server_answers import JSON, refused

import evalign
from evalign.encoders import weights as finding
from evalign.server.settings import RequestLimits

PAIR = {"candidate": "the cat sat", "reference": "a cat was sitting", "metric": "bertscore(model=fake)"}


def test_markup_and_controls_come_back_as_data(fake_server):
    text = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> \u202eabc\u2066 \x00 \ufeff \x1b[31m'
    answer = fake_server.post("/api/align", json=PAIR | {"candidate": text})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["candidate"]["text"] == text


def test_lone_surrogates_become_replacement_characters(fake_server):
    body = json.dumps(PAIR | {"candidate": "a \ud800 b \udfff", "metric": "bertscore(model=fake)"})
    assert "\\ud800" in body
    answer = fake_server.post("/api/align", content=body, headers=JSON)
    assert answer.status_code == 200
    assert answer.json()["candidate"]["text"] == "a \ufffd b \ufffd"
    pair = fake_server.post("/api/align", content=json.dumps(PAIR | {"candidate": "\U0001f600 x"}), headers=JSON)
    assert pair.json()["candidate"]["text"] == "\U0001f600 x"


def test_surrogates_anywhere_else_are_no_accident(fake_server):
    rows = [{"id": "\udc00", "candidate": "a", "references": ["b\ud900"], "system": "\ud801", "human": "\ud802"}]
    body = json.dumps({"rows": rows, "metrics": ["bleu", "bertscore(model=fake)"]})
    document = fake_server.post("/api/score", content=body, headers=JSON).json()
    assert (document["rows"][0]["id"], document["systems"]) == ("\ufffd", ["\ufffd"])
    for body in ({"\ud800": 1}, PAIR | {"metric": "\ud800"}, PAIR | {"metric": 'bertscore(model="\ud800")'}):
        assert refused(fake_server, "/api/align", json.dumps(body))[0] == 422


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"candidate": "\xc3\x28"}', "not UTF-8"),
        (json.dumps(PAIR).encode("utf-16"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "nested"),
        (b"[" * 10_000, "nested"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested"),
        (b"[" * 300 + b"]" * 300, "nested"),
        (b'{"candidate": NaN}', "NaN"),
        (b'{"candidate": -Infinity}', "-Infinity"),
        (b'{"candidate": 1e999}', "too large"),
        (b'{"candidate": ' + b"9" * 5000 + b"}", "too large"),
        (b'{"candidate": "a", "candidate": "b", "reference": "c"}', "twice"),
        (b'{"candidate": "a\x00b"}', "not JSON"),
        (b'{"candidate": "a"} {"candidate": "b"}', "not JSON"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_json_that_others_read_differently(fake_server, body, said):
    for path in ("/api/align", "/api/score", "/api/compare", "/api/pool", "/api/idf"):
        status, error = refused(fake_server, path, body)
        assert (status, error["code"]) == (400, "bad-json")
        assert said in error["message"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"candidate": 1}, "candidate"),
        ({"candidate": None}, "candidate"),
        ({"candidate": ["a"]}, "candidate"),
        ({"reference": {}}, "reference"),
        ({"metric": ""}, "metric"),
        ({"metric": "x" * 501}, "metric"),
        ({"metric": ["bertscore"]}, "metric"),
        ({"matchings": "some"}, "matchings"),
        ({"idf": "/etc/passwd"}, "idf"),
        ({"idf": {"format": "evalign-idf-1", "tokenizer": "fake", "documents": 1, "df": {"-1": 1}}}, "idf.df"),
        ({"idf": {"format": "evalign-idf-1", "tokenizer": "fake", "documents": 1, "df": {"1": 1.5}}}, "idf.df"),
        ({"idf": {"format": "evalign-idf-1", "tokenizer": "fake", "documents": -1, "df": {}}}, "idf.documents"),
        ({"idf": {"format": "other", "tokenizer": "fake", "documents": 1, "df": {}}}, "idf.format"),
        ({"surprise": 1}, "surprise"),
    ],
    ids=str,
)
def test_values_of_the_wrong_kind_are_named_by_place(fake_server, change, place):
    status, error = refused(fake_server, "/api/align", json.dumps(PAIR | change))
    assert (status, error["code"]) == (422, "bad-request")
    assert error["message"].startswith(place)


def test_a_damaged_table(fake_server):
    table = {"format": "evalign-idf-1", "tokenizer": "fake", "documents": 1, "df": {"7": 2}}
    assert refused(fake_server, "/api/align", json.dumps(PAIR | {"idf": table}))[1]["code"] == "bad-table"


MODEL_NAMES = [
    "nothing", "../../etc", "/etc/passwd", "C:\\\\models", "file:///etc/passwd", "http://127.0.0.1/x", "~/m", "./fake",
    "fake/", "FAKE", "bert-base-uncased", "org/name@revision", "", "fake\\u0000", "..", ".",
]  # fmt: skip


@pytest.mark.parametrize("model", MODEL_NAMES)
def test_unlisted_models_are_refused_before_the_disk_is_touched(fake_server, monkeypatch, model):
    def touched(*_arguments):
        raise AssertionError("looked for a model on the disk")

    monkeypatch.setattr(finding, "locate", touched)
    monkeypatch.setattr("evalign.encoders.loading.locate", touched)
    monkeypatch.setattr("os.path.isdir", touched)
    status, error = refused(fake_server, "/api/align", json.dumps(PAIR | {"metric": f'bertscore(model="{model}")'}))
    assert status == 422
    assert error["code"] in ("unknown-model", "bad-metric")
    status, error = refused(fake_server, "/api/idf", json.dumps({"model": model, "texts": ["a"]}))
    assert (status, error["code"]) == (422, "unknown-model")


@pytest.mark.parametrize(
    "spec",
    [
        "bertscore(model=fake, idf=/etc/passwd)",
        "bertscore(model=fake, idf=table.json)",
        "bertscore(model=fake, rescale=/etc/passwd)",
        "bertscore(model=fake, rescale=base.tsv)",
        "learned(file=/etc/passwd)",
        "evalign(file=/etc/passwd)",
        "evalign(adapter=/etc/passwd)",
        "bertscore(model=fake, adapter=/etc)",
        "evalign(model=mpnet)",
        "learned",
        "bartscore",
        "bartscore(model=fake)",
        "bleu(tokenize=spm)",
        "bleu(tokenize=flores200)",
        "bertscore(model=fake, threads=64)",
        "bertscore(model=fake, device=cuda)",
        "bertscore(model=fake, backend=torch)",
        "bertscore(model=fake, precision=bf16)",
        "bertscore(model=fake, token_budget=1)",
        "bertscore(model=fake, max_length=3)",
        "bertscore(model=fake, layer=all)",
        "bertscore(model=fake, layer=99)",
        "bertscore(model=fake, layer=../x)",
        "moverscore(model=fake, ngram=1000000000)",
        "moverscore(model=fake, regularization=1e-300)",
        "moverscore(model=fake, regularization=nan)",
        "moverscore(model=fake, fraction=inf)",
        "lisascore(model=fake, eps=0)",
        "bleu(max_ngram_order=1000000)",
        "chrf(char_order=1000000)",
        "meteor(beam=1000000)",
        "meteor(modules=../../x)",
        "meteor(alpha=/etc/passwd)",
        "rougeW(weight=1e308)",
        "rougeS(skip=x)",
        "bertscore(" * 40,
        "bertscore|model:../../etc|layer:4|v:0.1.0",
        "bertscore(model=fake",
        "__import__('os').system('id')",
        "nothing",
        "rouge(nothing=1)",
    ],
)
def test_specs_that_a_server_does_not_take(fake_server, spec):
    rows = [{"candidate": "a b", "references": ["a c"], "source": "a"}]
    status, error = refused(fake_server, "/api/score", json.dumps({"rows": rows, "metrics": [spec]}))
    assert status == 422, error
    assert error["message"]
    assert str(Path(evalign.__file__).parent) not in error["message"]
    assert "site-packages" not in error["message"]


def test_every_metric_is_computed_or_refused_with_a_sentence(fake_server):
    rows = [{"candidate": "a b", "references": ["a c", "d"], "source": "a"}]
    for metric in fake_server.get("/api/metrics").json()["metrics"]:
        names = {option["name"] for option in metric["options"]}
        spec = f"{metric['name']}(model=fake)" if "model" in names else metric["name"]
        answer = fake_server.post("/api/score", json={"rows": rows, "metrics": [spec]})
        assert answer.status_code == (200 if metric["available"] else 422), (spec, answer.text)


@pytest.mark.parametrize(
    "headers",
    [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
     {"Content-Type": "application/json; charset=utf-16"}, {"Content-Type": "multipart/form-data; boundary=x"},
     JSON | {"Content-Encoding": "gzip"}, [*JSON.items(), ("Content-Encoding", "identity"),
     ("Content-Encoding", "gzip")], [*JSON.items(), ("Content-Encoding", "identity"), ("Content-Encoding", "identity")],
     [*JSON.items(), ("Content-Type", "text/plain")]],
    ids=str,
)  # fmt: skip
def test_only_plain_json_is_read(fake_server, headers):
    answer = fake_server.post("/api/align", content=json.dumps(PAIR), headers=headers)
    assert answer.status_code == 415
    assert answer.json()["error"]["message"]


def test_one_byte_too_many(fake_server):
    most = RequestLimits().body
    body = json.dumps({"rows": [], "metrics": []}).encode()
    fits = fake_server.post("/api/score", content=body + b" " * (most - len(body)), headers=JSON)
    assert fits.status_code == 422
    status, error = refused(fake_server, "/api/score", body + b" " * (most - len(body) + 1))
    assert (status, error["code"]) == (413, "body-too-large")


def scores(systems=2, metrics=1, samples=1000, statistics=None):
    """A comparison of systems with one row each."""
    names = [f"system {number}" for number in range(systems)]
    one = {"metric": "bleu" if statistics else "bertscore(model=fake)", "values": {name: [0.5] for name in names}}
    if statistics:
        one["statistics"] = {name: [statistics] for name in names}
    return {"scores": [one] * metrics, "samples": samples}


LONG = "a " * 900
SINKHORN = "moverscore(model=fake, transport=sinkhorn)"
MANY = [f"bleu(max_ngram_order={order}, force={force})" for order in range(1, 13) for force in ("true", "false")]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/api/align", PAIR | {"candidate": "word " * 2001}, "too-many-tokens"),
        ("/api/align", PAIR | {"candidate": "x" * 100_001}, "too-many-tokens"),
        ("/api/align", PAIR | {"candidate": "a " * 1500, "reference": "b " * 1500}, "too-many-cells"),
        ("/api/align", PAIR | {"candidate": " \n"}, "empty-text"),
        ("/api/align", PAIR | {"reference": ""}, "empty-text"),
        ("/api/align", PAIR | {"metric": "bleu"}, "bad-metric"),
        ("/api/score", {"rows": [{"candidate": "a", "references": "b"}] * 1001, "metrics": ["bleu"]}, "too-many-rows"),
        (
            "/api/score",
            {"rows": [{"candidate": "a", "references": ["b"] * 90}] * 12, "metrics": ["bleu"]},
            "too-many-pairs",
        ),
        (
            "/api/score",
            {"rows": [{"candidate": "a b " * 250, "references": "c"}] * 900, "metrics": ["bleu"]},
            "too-many-tokens",
        ),
        ("/api/score", {"rows": [{"candidate": "a", "references": "b"}], "metrics": MANY}, "too-many-metrics"),
        ("/api/score", {"rows": [{"candidate": LONG, "references": LONG}] * 30, "metrics": ["bleu"]}, "too-many-cells"),
        ("/api/score", {"rows": [{"candidate": "a " * 200, "references": LONG}], "metrics": ["ter"]}, "too-many-cells"),
        ("/api/align", {"candidate": LONG, "reference": LONG, "metric": SINKHORN}, "too-many-cells"),
        ("/api/score", {"rows": [{"candidate": "a " * 999, "references": "a " * 999}], "metrics": ["meteor"]},
         "too-many-cells"),
        ("/api/score", {"rows": [{"candidate": "a " * 250, "references": "a " * 250}],
                        "metrics": ["rouge1", "meteor", "meteor(beam=100)"]}, "too-many-cells"),
        ("/api/score", {"rows": [{"candidate": "a " * 300, "references": "a " * 300}] * 25, "metrics": ["meteor"]},
         "too-many-cells"),
        ("/api/compare", {"rows": [{"candidate": "a " * 999, "references": "a " * 999, "system": "a"}],
                          "metrics": ["meteor"]}, "too-many-cells"),
        ("/api/compare", scores(systems=51), "too-many-systems"),
        ("/api/compare", {"rows": [{"candidate": "a", "references": "b", "system": f"{n}"} for n in range(51)],
                          "metrics": ["bleu"]}, "too-many-systems"),
        ("/api/compare", scores(systems=50, metrics=16, samples=10), "too-many-resamples"),
        ("/api/compare", scores(metrics=16, samples=100_000, statistics=[3, 3, 3, 2, 1, 0, 3, 2, 1, 0]),
         "too-many-resamples"),
        ("/api/compare", scores(statistics=[1] * 50_000), "too-many-resamples"),
        ("/api/idf", {"model": "fake", "texts": ["a"] * 10_001}, "too-many-texts"),
        ("/api/idf", {"model": "fake", "texts": ["a" * 100_001]}, "too-many-tokens"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_limits(fake_server, path, body, code):
    status, error = refused(fake_server, path, json.dumps(body))
    assert (status, error["code"]) == (422, code), error
    assert error["message"]


def test_meteor_takes_long_texts(fake_server):
    words = [f"word{number % 300}" for number in range(900)]
    rows = [{"candidate": " ".join(words), "references": " ".join(reversed(words))}]
    answer = fake_server.post("/api/score", json={"rows": rows, "metrics": ["meteor", "meteor(beam=100)"]})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8765",
        "",
        "localhost.evil",
        "[::2]",
        "192.168.0.7",
        "a b",
        "localhost:x@evil.example",
        "localhost:80@evil.example",
        "user@localhost",
        "localhost:80:80",
        "localhost:",
        "localhost:-1",
        "localhost:123456",
        "localhost/",
        "localhost.",
        "localhost, evil.example",
        "::1",
        "[::1",
        "[::1]x",
        "[::1]:x",
        "[::1]evil.example",
        "[localhost]",
        "[::1%25eth0]",
        "127.1",
        "2130706433",
    ],
)
def test_other_hosts_are_refused(fake_server, host):
    for path in ("/", "/health", "/api/about"):
        answer = fake_server.get(path, headers={"Host": host})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unknown-host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80", "localhost:65535"])
def test_local_hosts_are_served(fake_server, host):
    assert fake_server.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/docs.css", "/page/app.js", "/api/about", "/health", "/nothing", "/openapi.json"]
)
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_every_answer_has_the_headers(fake_server, path, host):
    headers = fake_server.get(path, headers={"Host": host, "Origin": "http://evil.example"}).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert not [name for name in headers if name.startswith("access-control")]


def test_asking_across_origins_is_refused(fake_server):
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    answer = fake_server.options("/api/align", headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/align", 405),
        ("PUT", "/api/score", 405),
        ("POST", "/api/nothing", 404),
        ("POST", "/", 405),
        ("DELETE", "/api/models", 405),
        ("GET", "/api/align/", 404),
    ],
)
def test_other_methods_and_paths(fake_server, method, path, status):
    answer = fake_server.request(method, path)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
