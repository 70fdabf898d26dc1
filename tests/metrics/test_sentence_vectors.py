"""One vector per text: equal to sentence-transformers, and independent of padding."""

import numpy as np
import pytest

import evalign
from evalign.errors import ModelError, SpecError

TEXTS = 60


@pytest.fixture(scope="module")
def texts(real_pairs):
    candidates, references = zip(*real_pairs[:TEXTS], strict=True)
    return list(candidates), list(references)


@pytest.mark.parametrize("pooling", ["mean", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cls", "max"))])
def test_sbert_equals_sentence_transformers(texts, minilm, pooling):
    st = pytest.importorskip("sentence_transformers", reason="pip install 'evalign[dev]'")
    from sentence_transformers.models import Pooling, Transformer

    words = Transformer(str(minilm), max_seq_length=256)
    model = st.SentenceTransformer(modules=[words, Pooling(384, pooling)], device="cpu")
    ours = evalign.SBert(pooling=pooling).score(*texts)["score"]
    vectors = [model.encode(side, normalize_embeddings=True) for side in texts]
    assert np.abs(ours - (vectors[0] * vectors[1]).sum(axis=1)).max() < 1e-5


def test_sbert_truncates_where_the_model_says(texts, minilm):
    """sentence_bert_config.json has 256 for MiniLM, though its tokenizer and positions allow 512."""
    st = pytest.importorskip("sentence_transformers", reason="pip install 'evalign[dev]'")
    long_text, short = " ".join(texts[0][:40]), texts[1][0]
    truncating = evalign.metric("sbert(overlong=truncate)")
    report = truncating.score([long_text], [short])
    model = st.SentenceTransformer(str(minilm), device="cpu")
    vectors = model.encode([long_text, short], normalize_embeddings=True)
    assert report["score"][0] == pytest.approx(vectors[0] @ vectors[1], abs=1e-5)
    assert "|max:256|" in report.signature
    assert evalign.metric(report.signature).score([long_text], [short])["score"][0] == report["score"][0]
    for other in ("sbert", "sbert(overlong=truncate, max_length=400)"):
        assert abs(evalign.metric(other).score([long_text], [short])["score"][0] - report["score"][0]) > 1e-3


def test_a_damaged_sentence_limit_is_said(minilm, tmp_path):
    for file in minilm.iterdir():
        if file.is_file():
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "sentence_bert_config.json").unlink()
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": "many"}')
    with pytest.raises(ModelError, match=r"sentence_bert_config\.json: .*"):
        evalign.SBert(model=str(tmp_path), overlong="truncate").scorer()


def test_sbert_by_hand():
    metric = evalign.SBert(model="fake", layer="1+3")
    ours, theirs = (text.vectors.mean(axis=1) for text in metric.scorer().cache.encode(["a b c", "c d"]).values())
    cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(ours, theirs, strict=True)]
    assert metric.score(["a b c"], ["c d"])["score"][0] == pytest.approx(np.mean(cosines), abs=1e-6)


def test_idf_weights_the_mean(tmp_path):
    table = (
        evalign.metric("bertscore(model=fake, idf=references)")
        .scorer([evalign.Row("1", "", ("the a of", "the"))])
        .weigher.table
    )
    table.save(tmp_path / "idf.json")
    plain, weighted = (evalign.metric(f"sbert(model=fake{idf})") for idf in ("", f', idf="{tmp_path / "idf.json"}"'))
    pair = ["the cat"], ["the dog"]
    assert weighted.score(*pair)["score"][0] < plain.score(*pair)["score"][0], "the shared article counts for less"


@pytest.mark.parametrize(("token", "place"), [("eot", -1), ("cls", 0)])
def test_endtoken_is_the_texts_own_last_token(minilm, texts, token, place):
    """The published program reads the wrong position when lengths differ."""
    metric = evalign.EndToken(token=token)
    encoded = metric.scorer().cache.encode(texts[0][:20] + texts[1][:20])
    vectors = {text: embedded.matrix[place] for text, embedded in encoded.items()}
    vectors = {text: vector / np.linalg.norm(vector) for text, vector in vectors.items()}
    expected = [vectors[one] @ vectors[other] for one, other in zip(texts[0][:20], texts[1][:20], strict=True)]
    assert metric.score(texts[0][:20], texts[1][:20])["score"] == pytest.approx(expected, abs=1e-6)


def test_last_layer_is_the_default(minilm):
    assert "|layer:6|" in evalign.SBert().score(["a"], ["b"]).signature
    assert evalign.SBert().score(["a b"], ["b"])["score"] == evalign.SBert(layer=6).score(["a b"], ["b"])["score"]


@pytest.mark.parametrize(
    "spec", ["endtoken(model=fake, specials=drop)", "sbert(model=fake, pooling=cls, specials=drop)"]
)
def test_a_word_never_stands_in_for_a_special_token(spec):
    with pytest.raises(SpecError, match="specials=keep"):
        evalign.metric(spec).score(["w x"], ["q z"])
