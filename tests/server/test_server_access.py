"""Token, login, TLS, limits of one client, and /metrics."""

import json
import re
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from server_answers import PATIENCE, serving, until

from evalign.server.client_limits import MAX_ADDRESSES, ClientLimits, network

TOKEN = "correct-horse-battery-staple"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PAIR = {"candidate": "the cat sat", "reference": "a cat was sitting", "metric": "bertscore(model=fake)"}
PEM = Path(__file__).parent / "data" / "localhost.pem"
CLOSED = ["/", "/docs", "/openapi.json", "/metrics", "/api/about", "/api/metrics", "/api/models", "/page/app.js",
          "/page/examples.json", "/export/alignment.html", "/login", "/nothing"]  # fmt: skip


@pytest.fixture(scope="module")
def guarded():
    with serving(token=TOKEN, ready_headers=BEARER) as client:
        yield client


@pytest.fixture(autouse=True)
def no_cookies(guarded):
    guarded.cookies.clear()


@pytest.mark.parametrize("path", CLOSED)
def test_nothing_is_answered_without_the_token(guarded, path):
    answer = guarded.get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert guarded.get(path, headers=BEARER).status_code in (200, 404, 405)
    assert TOKEN not in answer.text


@pytest.mark.parametrize("path", ["/health", "/ready", "/page/login.js", "/page/shared/base.css"])
def test_health_and_the_form_are_open(guarded, path):
    assert guarded.get(path).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": "Bearer"}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {TOKEN}x"},
     {"Authorization": f"Bearer {TOKEN[:-1]}"}, {"Authorization": f"Bearer  {TOKEN}"}, {"Authorization": TOKEN},
     {"Authorization": f"Basic {TOKEN}"}, {"Authorization": b"Bearer \xff\xfe"}, {"Cookie": f"evalign-80={TOKEN}"},
     {"Cookie": "evalign-80="}, {"Cookie": "evalign-80"}, {"Cookie": ";;=;"}, {"X-Token": TOKEN},
     [*BEARER.items(), ("Authorization", "Bearer x")]],
    ids=str,
)  # fmt: skip
def test_other_tokens_are_refused(guarded, headers):
    answer = guarded.post("/api/align", json=PAIR, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "no-token")
    assert guarded.get(f"/api/about?token={TOKEN}", headers=headers).status_code == 401


def test_the_token_opens_the_api(guarded):
    for headers in (BEARER, {"Authorization": f"bearer {TOKEN}"}):
        assert guarded.post("/api/align", json=PAIR, headers=headers).status_code == 200


def test_a_browser_logs_in_with_the_token(guarded):
    assert guarded.post("/login").status_code == 401
    assert guarded.post("/login", headers={"Authorization": "Bearer x"}).status_code == 401
    answer = guarded.post("/login", headers=BEARER)
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"evalign-80=[\w-]{43}; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert TOKEN not in cookie
    headers = {"Cookie": f"other=1; {cookie.partition(';')[0]}"}
    assert "<form" not in guarded.get("/login", headers=headers).text
    assert guarded.get("/", headers=headers).status_code == 200
    assert guarded.post("/api/align", json=PAIR, headers=headers).status_code == 200
    wrong = {"Cookie": cookie.partition(";")[0][:-1]}
    assert guarded.get("/api/about", headers=wrong).status_code == 401
    assert guarded.get("/api/about", headers=headers | {"Authorization": "Bearer x"}).status_code == 401


def test_the_document_of_the_api_asks_for_the_token(guarded, fake_server):
    assert guarded.get("/openapi.json", headers=BEARER).json()["security"] == [{"token": []}]
    assert "security" not in fake_server.get("/openapi.json").json()


def test_without_a_token_everything_is_open(fake_server):
    assert fake_server.get("/api/about", headers={"Authorization": "Bearer x"}).status_code == 200
    assert fake_server.post("/login").status_code == 404


def test_the_token_is_never_printed(run_server):
    server = run_server("--verbose", variables={"EVALIGN_TOKEN": TOKEN})
    until(lambda: server.state() == "ready")
    statuses = [httpx.get(f"{server.url}/api/about", headers=headers, timeout=PATIENCE).status_code
                for headers in (BEARER, {}, {"Authorization": "Bearer other"})]  # fmt: skip
    assert statuses == [200, 401, 401]
    assert TOKEN not in repr(serving_settings(token=TOKEN))
    code, said = server.end()
    assert code == 0
    assert "GET '/api/about' 401" in said
    assert TOKEN not in said + server.process.args[-1]


def serving_settings(**changes):
    from evalign.server.settings import Settings

    return Settings(("fake",), **changes)


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (["--token", ""], {}, "--token: expected"),
        pytest.param(["--token", "a b"], {}, "--token: expected", marks=pytest.mark.slow),
        pytest.param(["--token", "sécret"], {}, "--token: expected", marks=pytest.mark.slow),
        pytest.param([], {"EVALIGN_TOKEN": ""}, "--token: expected", marks=pytest.mark.slow),
        (["--tls-key", str(PEM)], {}, "--tls-key needs"),
        (["--tls-certificate", "missing.pem"], {}, "No such file"),
        (["--tls-certificate", str(Path(__file__))], {}, "expected PEM files"),
        pytest.param(
            ["--tls-certificate", str(PEM), "--tls-key", str(Path(__file__))],
            {},
            "expected PEM files",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_bad_settings_are_one_sentence(arguments, variables, said):
    import os

    command = [sys.executable, "-m", "evalign", "serve", "--model", "fake", "--port", "0", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=os.environ | variables, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "a b" not in done.stderr
    assert "sécret" not in done.stderr


def test_a_key_with_a_password_is_refused_without_asking(tmp_path):
    from evalign.errors import InputError
    from evalign.server.run import tls_context

    (tmp_path / "key.pem").write_text(ENCRYPTED)
    with pytest.raises(InputError, match="password"):
        tls_context(str(PEM), str(tmp_path / "key.pem"))


def test_https(run_server):
    server = run_server("--tls-certificate", str(PEM), "--token", TOKEN)
    assert server.url.startswith("https://")
    trusting = ssl.create_default_context(cafile=str(PEM))
    with httpx.Client(base_url=server.url, verify=trusting, timeout=PATIENCE) as client:
        until(lambda: client.get("/ready").status_code == 200)
        body = json.dumps(PAIR).encode()
        chunks = (body[start : start + 9] for start in range(0, len(body), 9))
        head = BEARER | {"Content-Type": "application/json"}
        assert client.post("/api/align", content=chunks, headers=head).status_code == 200
        spaces = (b" " for _ in range(20_000))
        refused = client.post("/api/align", content=spaces, headers=head)
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too-many-chunks")
        large = {"rows": [{"candidate": "a" * 90_000, "references": ["b" * 90_000]}], "metrics": ["bleu"]}
        assert client.post("/api/score", json=large, headers=BEARER).status_code == 200
        assert "; Secure" in client.post("/login", headers=BEARER).headers["set-cookie"]
    assert httpx_refuses(server.url.replace("https", "http"))
    assert server.end() == (0, "")


def httpx_refuses(url):
    try:
        httpx.get(url, timeout=PATIENCE)
    except httpx.HTTPError:
        return True
    return False


# What Prometheus reads: comments, and samples with labels whose values are quoted.
SAMPLE = r'[a-z_]+(\{[a-z]+="[^"\\\n]*"(,[a-z]+="[^"\\\n]*")*\})? [0-9.e+]+'
HELP, TYPE = r"# HELP [a-z_]+ .+", r"# TYPE [a-z_]+ (counter|gauge|histogram)"


def test_metrics_have_the_format_of_prometheus():
    with serving() as client:
        assert client.post("/api/align", json=PAIR).status_code == 200
        assert client.post("/api/align", json=PAIR | {"reference": ""}).status_code == 422
        for number in range(3):
            assert client.get(f"/page/{number}/made-up.js").status_code == 404
            assert client.get(f"/made-up/{number}").status_code == 404
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
        answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.text.endswith("\n")
    lines = answer.text.splitlines()
    assert [line for line in lines if not re.fullmatch(f"{SAMPLE}|{HELP}|{TYPE}", line)] == []
    assert len(set(lines)) == len(lines)
    values = {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}
    assert values['evalign_requests_total{route="/api/align",status="200"}'] == 1
    assert values['evalign_requests_total{route="/api/align",status="422"}'] == 1
    assert values['evalign_requests_total{route="/page/{name:path}",status="404"}'] == 3
    assert values['evalign_requests_total{route="none",status="404"}'] == 3
    assert values['evalign_requests_total{route="none",status="400"}'] == 1
    assert values['evalign_request_seconds_bucket{route="/api/align",le="+Inf"}'] == 2
    assert values['evalign_request_seconds_count{route="/api/align"}'] == 2
    assert values["evalign_models_loaded"] == 1
    assert values["evalign_requests_running"] == 0
    assert "made-up" not in answer.text


def test_connections_and_what_is_no_http_are_counted(run_server):
    server = run_server()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"no HTTP\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 400 ")
        said = httpx.get(f"{server.url}/metrics", timeout=PATIENCE).text
    assert 'evalign_requests_total{route="none",status="400"} 1\n' in said
    assert re.search(r"^evalign_connections [23]$", said, re.M)
    until(lambda: "evalign_connections 1\n" in httpx.get(f"{server.url}/metrics", timeout=PATIENCE).text)


def test_one_client_is_limited_and_another_is_not():
    with serving(client_rate=3) as client:
        found = [client.post("/api/align", json=PAIR) for _ in range(5)]
        assert [answer.status_code for answer in found] == [200, 200, 200, 429, 429]
        assert found[-1].json()["error"]["code"] == "too-many-requests"
        assert 1 <= int(found[-1].headers["retry-after"]) <= 20
        assert client.get("/api/about").status_code == 200


def test_guesses_of_the_token_are_limited():
    with serving(token=TOKEN, ready_headers=BEARER, client_rate=3) as client:
        guesses = [client.get("/api/about", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(5)]
        assert guesses == [401, 401, 401, 429, 429]
        assert client.get("/api/about", headers=BEARER).status_code == 200


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_requests_in_a_minute_are_saved_up_to_one_minute():
    clock = Clock()
    limits = ClientLimits(0, 6, clock)
    took = lambda address="1.2.3.4": [limits.begin(address) is None for _ in range(7)].count(True)  # noqa: E731
    assert (took(), took(), took("1.2.3.5")) == (6, 0, 6)
    assert limits.begin("1.2.3.4").retry_after == 10
    clock.now += 20
    assert took() == 2
    clock.now += 3600
    assert took() == 6


def test_requests_at_once_are_counted_until_they_end():
    limits = ClientLimits(2, 0)
    assert [limits.begin("::1") is None for _ in range(3)] == [True, True, False]
    limits.end("::1")
    assert limits.begin("::1") is None
    assert ClientLimits(0, 0).begin("::1") is None


def test_addresses_are_forgotten():
    limits = ClientLimits(1, 1)
    for number in range(MAX_ADDRESSES + 100):
        assert limits.begin(str(number)) is None
    assert len(limits._clients) == MAX_ADDRESSES
    limits.end("0")
    assert limits.begin("0") is None
    assert limits.begin(str(MAX_ADDRESSES + 99)) is not None


@pytest.mark.parametrize(
    ("address", "client"),
    [("10.0.0.1", "10.0.0.1"), ("::ffff:10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
     ("fe80::1%eth0", "fe80::/64"), ("testclient", "testclient"), ("", "")],
)  # fmt: skip
def test_a_network_is_one_client(address, client):
    assert network(address) == client


# The key of data/localhost.pem under the password "abcd".
ENCRYPTED = """-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,F3A3EF60A563D20C12A8F23C4E2474CD

zMuUlihJ3RpEOkZAC7nyBwvqnyHf2AKz5hJF2p3OHnlrkKe2wLBQ9iw2tpuxlD0F
ayW9g5KNlABZMnMk8DUg+Khb89BquYmty/v7Xqn6HTh8V8injKJZ2w6oWjvCEbnV
6dmp/j6FpGHtO/Q+TjOyUY6+FGZdOQjZdr4Tx2VxvCE=
-----END EC PRIVATE KEY-----
"""
