"""What lexical metrics remember of the texts of all requests is bounded by characters, not only by entries."""

import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

from evalign import metric
from evalign.core.rows import make_rows
from evalign.server import corpus_requests
from evalign.text.stemming import nltk_porter, snowball
from evalign.text.words import clear_caches


def tokenisers(kind=BaseTokenizer):
    found = [kind] if hasattr(kind.__call__, "cache_info") else []
    return found + [one for below in kind.__subclasses__() for one in tokenisers(below)]


def test_every_memory_of_sacrebleu_can_be_emptied():
    for spec in ("bleu", "bleu(tokenize=zh)", "bleu(tokenize=intl)", "bleu(tokenize=char)", "ter(normalized=true)"):
        metric(spec).scorer().score(make_rows(["a cat sat"], ["the cat sat"]))
    filled = [kind for kind in tokenisers() if kind.__call__.cache_info().currsize]
    assert {"Tokenizer13a", "TokenizerRegexp", "TokenizerZh", "TercomTokenizer"} <= {kind.__name__ for kind in filled}
    clear_caches()
    assert [kind for kind in filled if kind.__call__.cache_info().currsize] == []


@pytest.mark.parametrize(
    ("spec", "memory"),
    [
        ("bleu", Tokenizer13a.__call__),
        ("rouge1(stem=nltk-porter)", nltk_porter),
        ("rouge1(stem=german)", snowball("german")),
    ],
)
def test_many_requests_do_not_fill_the_memory(fake_server, monkeypatch, spec, memory):
    clear_caches()
    monkeypatch.setattr(corpus_requests, "MAX_CACHED_CHARACTERS", 1000)
    for number in range(12):
        rows = [{"candidate": f"{'long' * 50}{number}a", "references": f"{'word' * 50}{number}b"}]
        assert fake_server.post("/api/score", json={"rows": rows, "metrics": [spec]}).status_code == 200
    assert 0 < memory.cache_info().currsize <= 2 * (1000 // 400 + 1)
