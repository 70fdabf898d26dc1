"""The ONNX graph against torch: every layer of every family, 1e-5 per L2-normalised token vector."""

import numpy as np
import pytest
import torch

from evalign.encoders.graph import relative_buckets
from tiny_models import DEPTH, FAMILIES, SENTENCES, distance, hidden_states, open_ort, open_torch

TOLERANCE = 1e-5
# Unlike lengths, so that one batch holds much padding; the longest passes mpnet's largest distance, 128.
TEXTS = [SENTENCES[0], "a", " ".join(SENTENCES[:4])[:230], "", *SENTENCES[5:9], "🙂 naïve, 漢字", "b c " * 70]


def assert_same_vectors(directory, texts=TEXTS):
    ort, torch_backend = (opened(directory, token_budget=10**6) for opened in (open_ort, open_torch))
    ours, theirs = ort.encode(texts), torch_backend.encode(texts)
    plain = hidden_states(directory, [one.tokens.ids.tolist() for one in ours])
    assert ort.padded_tokens > ort.real_tokens, "these texts must make padding"
    for text, one, other, gold in zip(texts, ours, theirs, plain, strict=True):
        assert one.vectors.shape == other.vectors.shape == gold.shape, text
        for layer in range(len(gold)):
            assert distance(one.vectors[layer], gold[layer]) <= TOLERANCE, (text, layer)
            assert distance(one.vectors[layer], other.vectors[layer]) <= TOLERANCE, (text, layer)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_layer_of_every_family(tiny, family):
    assert_same_vectors(tiny(family))


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("bert", {"hidden_act": "gelu_new"}),
        ("bert", {"hidden_act": "gelu_pytorch_tanh"}),
        ("bert", {"hidden_act": "relu"}),
        ("bert", {"layer_norm_eps": 0.1}),
        ("distilbert", {"activation": "relu"}),
        ("albert", {"hidden_act": "gelu"}),
        ("albert", {"num_hidden_groups": 3}),
        ("albert", {"num_hidden_layers": 4, "num_hidden_groups": 2}),
        ("electra", {"embedding_size": 32}),
        ("mpnet", {"layer_norm_eps": 0.1}),
        ("roberta", {"type_vocab_size": 2}),
    ],
    ids=str,
)
def test_variants_of_a_family(tiny, family, changes):
    assert_same_vectors(tiny(family, **changes))


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_saved_under_a_prefix(tiny, family):
    assert_same_vectors(tiny(family, head="ForMaskedLM"))


@pytest.mark.parametrize(
    ("one", "other"),
    [({"hidden_act": "gelu"}, {"hidden_act": "gelu_new"}), ({}, {"layer_norm_eps": 1e-3}), ({}, {"seed": 1})],
)
def test_the_tolerance_is_tight_enough_to_see_a_wrong_variant(tiny, one, other):
    first, second = (open_ort(tiny("bert", **changes)).encode([SENTENCES[0]])[0] for changes in (one, other))
    assert distance(first.vectors, second.vectors) > 10 * TOLERANCE


@pytest.mark.parametrize("family", ["bert", "mpnet", "albert"])
@pytest.mark.parametrize("layers", [(0,), (2,), (DEPTH, 1)])
def test_a_graph_cut_at_a_layer_gives_the_same_states_in_the_order_asked(tiny, family, layers):
    whole = open_ort(tiny(family)).encode(SENTENCES)
    for one, every in zip(open_ort(tiny(family), layers).encode(SENTENCES), whole, strict=True):
        np.testing.assert_allclose(one.vectors, every.vectors[list(layers)], atol=1e-5)


@pytest.mark.parametrize("model", ["minilm", pytest.param("mpnet", marks=pytest.mark.slow)])
def test_real_models_on_real_texts(request, model, real_pairs):
    texts = [text for pair in real_pairs[:12] for text in pair]
    assert_same_vectors(request.getfixturevalue(model), [*texts, " ".join(texts)[:600], "a", ""])


def test_mpnet_buckets_are_those_of_transformers():
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = np.arange(-600, 601)
    theirs = MPNetEncoder.relative_position_bucket(torch.from_numpy(distances)).numpy()
    np.testing.assert_array_equal(relative_buckets(distances), theirs)
