"""One request tokenises each text once, though it counts tokens, counts IDF tables and encodes with several metrics."""

from collections import Counter

import pytest

from evalign.encoders import fake
from evalign.encoders.tokenizer import Tokenizer

FIRST, SECOND, THIRD = "They closed a bridge.", "The bridge is shut.", "No crossing since May."


@pytest.fixture
def tokenised(monkeypatch):
    """Counts how often each text went through a tokenizer."""
    texts: Counter[str] = Counter()
    tokenise, tokens = Tokenizer._tokenise, fake._tokens

    def counted(tokenizer, several):
        texts.update(several)
        return tokenise(tokenizer, several)

    def counted_fake(text):
        texts[text] += 1
        return tokens(text)

    monkeypatch.setattr(Tokenizer, "_tokenise", counted)
    monkeypatch.setattr(fake, "_tokens", counted_fake)
    return texts


@pytest.fixture(params=["fake", "minilm"])
def model(request):
    return request.param


@pytest.fixture
def client(request, model):
    return request.getfixturevalue(f"{model}_server")


@pytest.mark.parametrize("options", ["", ", idf=references", ", overlong=error", ", specials=drop"])
def test_align(client, model, tokenised, options):
    pair = [f"{text} align{options}" for text in (FIRST, SECOND)]  # vectors of earlier texts are in memory
    body = {"candidate": pair[0], "reference": pair[1], "metric": f"bertscore(model={model}{options})"}
    answer = client.post("/api/align", json=body)
    assert answer.status_code == 200, answer.text
    assert tokenised == dict.fromkeys(pair, 1)


def test_score(client, model, tokenised):
    texts = [f"{text} score" for text in (FIRST, SECOND, THIRD)]
    rows = [{"candidate": text, "references": texts[1:]} for text in texts]
    specs = [f"{name}(model={model})" for name in ("bertscore", "sbert", "moverscore")]
    specs += [f"bertscore(model={model}, layer=1, idf=references)", f"bertscore(model={model}, overlong=truncate)"]
    answer = client.post("/api/score", json={"rows": rows, "metrics": specs})
    assert answer.status_code == 200, answer.text
    assert tokenised == dict.fromkeys(texts, 1)


def test_nothing_is_stored_after_a_request(client, model, tokenised):
    texts = [f"{text} again" for text in (FIRST, SECOND)]
    for _ in range(2):
        answer = client.post("/api/idf", json={"model": model, "texts": texts})
        assert answer.status_code == 200, answer.text
    assert tokenised == dict.fromkeys(texts, 2)
