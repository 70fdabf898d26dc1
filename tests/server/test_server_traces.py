"""What goes on inside models, over the API: the gates of an LSTM, and the log-probabilities of listed models only."""

import jsonschema
import pytest
from server_answers import serving

from evalign.metrics.bartscore import BARTScore
from evalign.render.documents import schema
from evalign.research.lstm.encoder import demonstration_file
from evalign.research.lstm.explain import lstm_document
from evalign.research.lstm.metric import LSTM
from evalign.server import pair_requests

PAIR = {"candidate": "the cat sat", "reference": "a cat was here"}


@pytest.mark.parametrize(
    "text", ["the film was not good", "", "\x00 </script> \ud800".encode("utf-8", "replace").decode()]
)
def test_the_gates_are_the_librarys(fake_server, text):
    document = fake_server.post("/api/lstm", json={"text": text}).json()
    jsonschema.validate(document, schema("lstm"), cls=jsonschema.Draft202012Validator)
    assert document == lstm_document(LSTM(str(demonstration_file())), text)


def test_a_trace_is_bounded(fake_server):
    most = fake_server.service.settings.limits.lstm_words
    assert fake_server.post("/api/lstm", json={"text": "word " * most}).status_code == 200
    refusal = fake_server.post("/api/lstm", json={"text": "word " * (most + 1)})
    assert (refusal.status_code, refusal.json()["error"]["code"]) == (422, "too-many-tokens")


def test_the_operator_names_the_cell(tmp_path):
    file = tmp_path / "own.safetensors"
    file.write_bytes(demonstration_file().read_bytes())
    with serving(lstm=str(file)) as client:
        signature = client.post("/api/lstm", json={"text": "a word"}).json()["signature"]
    assert signature.startswith("lstm|file:own.safetensors@")
    assert str(tmp_path) not in signature


@pytest.mark.parametrize(("torch", "said"), [(True, "start it with one"), (False, "evalign[torch]")])
def test_a_server_without_log_probabilities_says_why(fake_server, monkeypatch, torch, said):
    monkeypatch.setattr(pair_requests, "_has_torch", lambda: torch)
    about = fake_server.get("/api/about").json()["likelihood"]
    assert about["models"] == []
    assert said in about["reason"]
    refusal = fake_server.post("/api/likelihood", json=PAIR | {"model": "any"})
    assert refusal.status_code == 422
    assert refusal.json()["error"] == {"code": "bad-metric", "message": about["reason"]}


@pytest.mark.slow
def test_log_probabilities_of_listed_models_only(tmp_path):
    build = pytest.importorskip("tiny_torch_models", reason="needs the extra torch").build
    model = str(build("bart", tmp_path / "tiny-bart", generates=True))
    with serving(generators=(model,)) as client:
        assert client.get("/api/about").json()["likelihood"] == {"models": [model], "reason": None}
        document = client.post("/api/likelihood", json=PAIR | {"model": model}).json()
        jsonschema.validate(document, schema("likelihood"), cls=jsonschema.Draft202012Validator)
        expected = BARTScore(model=model, threads=1).likelihoods(**PAIR)
        assert document["scores"] == pytest.approx(expected.scores)
        for change, code in (
            ({"model": "/etc/passwd"}, "unknown-model"),
            ({"direction": "source-to-candidate"}, "bad-input"),
            ({"candidate": "word " * 2001}, "too-many-tokens"),
            ({"direction": "sideways"}, "bad-request"),
        ):
            refusal = client.post("/api/likelihood", json=PAIR | {"model": model} | change)
            assert (refusal.status_code, refusal.json()["error"]["code"]) == (422, code)
        empty = client.post("/api/likelihood", json=PAIR | {"model": model, "candidate": ""})
        assert empty.json()["flags"]["empty"] == 1
