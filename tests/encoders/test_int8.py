"""int8: near to fp32 on real pairs, visible in the signature, and exact about its own arithmetic."""

import numpy as np
import pytest

import evalign
from evalign.encoders.graph import WEIGHT_STEPS, quantize_weight
from tiny_models import FAMILIES, SENTENCES, distance, open_ort


def test_weights_are_rounded_to_half_a_step_of_their_own_channel():
    weight = np.random.default_rng(0).normal(size=(7, 11)).astype(np.float32) * np.logspace(-4, 2, 7)[:, None]
    weight[3] = 0
    values, scales = quantize_weight(weight)
    assert values.shape == (11, 7)
    assert np.abs(values).max() == WEIGHT_STEPS
    error = np.abs(values.T * scales[:, None] - weight)
    assert (error <= scales[:, None] / 2 * (1 + 1e-5)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_stays_near_its_fp32_vectors(tiny, family):
    full, small = (open_ort(tiny(family), precision=precision).encode(SENTENCES) for precision in ("fp32", "int8"))
    for one, other in zip(full, small, strict=True):
        np.testing.assert_allclose(one.vectors[0], other.vectors[0], atol=0.1)  # no attention yet
        assert 0 < distance(one.vectors[1:], other.vectors[1:]) < 0.2


def test_minilm_on_real_pairs(minilm, real_pairs):
    """Promised: F1 correlation of at least .999 with fp32, and a mean that moves by less than .003."""
    candidates, references = zip(*real_pairs[:120], strict=True)
    full = evalign.metric("bertscore").score(candidates, references)
    small = evalign.metric("bertscore(arithmetic=int8)").score(candidates, references)
    assert np.corrcoef(full["f1"], small["f1"])[0, 1] >= 0.999
    assert abs(full.mean("f1") - small.mean("f1")) < 0.003
    assert "|prec:int8|" in small.signature
    assert "|prec:fp32|" in full.signature
