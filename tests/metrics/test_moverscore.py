"""MoverScore against a linear program and against the published arithmetic."""

import re
import string
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import linprog

import evalign
from evalign.encoders.loading import open_encoder
from evalign.errors import SpecError


def earth_movers_distance(cost, ours, theirs):
    """The transport problem as a linear program: every row ships its mass, every column receives its own."""
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    solved = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([ours, theirs]), method="highs")
    assert solved.success
    return solved.fun


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@pytest.mark.parametrize("idf", ["no", "references"])
def test_equals_a_linear_program(real_pairs, minilm, idf):
    candidates, references = zip(*real_pairs[:40], strict=True)
    metric = evalign.MoverScore(idf=idf)
    rows = [evalign.Row(str(i), c, (r,)) for i, (c, r) in enumerate(zip(candidates, references, strict=True))]
    sides = metric.scorer(rows).weigh([*candidates, *references])[0]
    expected = []
    for candidate, reference in zip(candidates, references, strict=True):
        one, other = sides[candidate], sides[reference]
        ours, theirs = (unit(side.embedded.matrix.astype(float)) for side in (one, other))
        distance = np.sqrt(np.maximum(0, 2 - 2 * np.clip(ours @ theirs.T, -1, 1)))
        masses = [side.weights / side.weights.sum() for side in (one, other)]
        expected.append(1 / (1 + earth_movers_distance(distance, *masses)))
    assert np.abs(metric.score(candidates, references)["score"] - expected).max() < 1e-7


def test_equals_the_published_arithmetic(real_pairs, minilm):
    """moverscore_v2: both texts stacked, one distance matrix over all, masses on either half, 1 / (1 + flow cost)."""
    import ot

    candidates, references = zip(*real_pairs[:60], strict=True)
    metric = evalign.MoverScore(layer=6)
    sides = metric.scorer().weigh([*candidates, *references])[0]
    expected = []
    for candidate, reference in zip(candidates, references, strict=True):
        one, other = sides[candidate], sides[reference]
        raw = np.concatenate([other.embedded.matrix, one.embedded.matrix])
        raw = raw / (np.linalg.norm(raw, axis=-1, keepdims=True) + 1e-30)
        distance = np.sqrt(((raw[:, None] - raw[None]) ** 2).sum(-1)).astype(float)
        c1, c2 = np.zeros(len(raw)), np.zeros(len(raw))
        c1[: len(other.weights)] = other.weights
        c2[len(other.weights) :] = one.weights
        flow = ot.emd(c1 / c1.sum(), c2 / c2.sum(), distance)
        expected.append(1 / (1 + (flow * distance).sum()))
    assert np.abs(metric.score(candidates, references)["score"] - expected).max() < 1e-5


def test_the_plan_is_an_alignment():
    alignment = evalign.MoverScore(model="fake").align("the cat sat", "a cat was here")
    assert alignment.masses.sum() == pytest.approx(1)
    for side, weights in ((0, alignment.candidate_weights), (1, alignment.reference_weights)):
        carried = np.bincount(alignment.cells[:, side], alignment.masses, minlength=len(weights))
        assert carried == pytest.approx(weights)
    cost = np.sqrt(2 - 2 * alignment.similarity[tuple(alignment.cells.T)])
    assert alignment.scores["score"] == pytest.approx(1 / (1 + (alignment.masses * cost).sum()))


def test_dropped_tokens_have_no_mass(minilm):
    metric = evalign.MoverScore(stopwords="drop", subwords="drop", punctuation="drop")
    alignment = metric.align("The unbelievability of it, sadly!", "It is sad.")
    shown = [alignment.candidate.surface(i).lower() for i in np.flatnonzero(alignment.candidate_weights)]
    assert "the" not in shown
    assert "," not in shown
    assert len(shown) == 2, "one piece of the long word, and sadly"


def test_bigrams_run_over_neighbours():
    alignment = evalign.MoverScore(model="fake", ngram=2).align("the cat sat", "the cat sat")
    assert [alignment.candidate.surface(i) for i in range(2)] == ["the cat", "cat sat"]
    assert alignment.scores["score"] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("transport", ["exact", "sinkhorn", "partial", "unbalanced"])
def test_every_transport_ranks_a_copy_above_a_stranger(transport):
    metric = evalign.MoverScore(model="fake", transport=transport)
    copy, stranger = metric.score(["one two three", "red green blue"], ["one two three", "one two three"])["score"]
    assert copy > stranger


def test_partial_transport_forgives_what_is_extra():
    text, longer = "one two three four", "one two three four unrelated words"
    full, part = (
        evalign.metric(f"moverscore(model=fake, {spec})")
        for spec in ("transport=exact", "transport=partial, fraction=0.6")
    )
    assert part.score([longer], [text])["score"] > full.score([longer], [text])["score"]


def test_unmatched_tokens_of_a_plan_are_those_without_mass():
    plan = evalign.MoverScore(model="fake").align("one two three four", "two three")
    words = [index for index in plan.unmatched_reference if not plan.reference.special[index]]
    assert words == [], "all mass moves, so every word takes part"


def published_idf(texts):
    """get_idf_dict of moverscore_v2: texts as sets of ids, special tokens among them; unseen ids have df 0."""
    documents = [set(ids) for ids in texts]
    count = Counter(token for ids in documents for token in ids)
    return lambda token: np.log((len(documents) + 1) / (count[token] + 1))


@pytest.mark.parametrize(("preset", "stop_words"), [("moverscore_v2", ("the", "of")), ("moverscore_v2-plain", ())])
def test_preset_equals_the_published_script(real_pairs, minilm, preset, stop_words):
    """word_mover_score of moverscore_v2.py: a table per side; stop words, '##' and punctuation have no mass."""
    import ot

    candidates, references = zip(*real_pairs[:40], strict=True)
    metric = evalign.metric(f"moverscore(preset={preset}, stopwords={'+'.join(stop_words) or 'keep'})")
    encoder = open_encoder(metric.encoder_spec()).encoder
    encoded = [encoder.encode(list(texts)) for texts in (candidates, references)]
    if preset == "moverscore_v2":
        weigh = [published_idf([text.tokens.ids.tolist() for text in side]) for side in encoded]
    else:
        weigh = [lambda _: 1.0] * 2
    expected = []
    for pair in zip(*encoded, strict=True):
        vectors, masses = [], []
        for text, idf in zip(pair, weigh, strict=True):
            out = [w in stop_words or "##" in w or w in set(string.punctuation) for w in text.tokens.pieces]
            raw = np.where(np.array(out)[:, None], 0, text.vectors[-1].astype(float))
            vectors.append(raw / (np.linalg.norm(raw, axis=-1, keepdims=True) + 1e-30))
            masses.append(np.where(out, 0, [idf(token) for token in text.tokens.ids.tolist()]))
        distance = np.sqrt(((vectors[0][:, None] - vectors[1][None]) ** 2).sum(-1))
        flow = ot.emd(masses[0] / masses[0].sum(), masses[1] / masses[1].sum(), distance)
        expected.append(1 / (1 + (flow * distance).sum()))
    found = metric.score(candidates, references)
    assert np.abs(found["score"] - expected).max() < 1e-5
    assert set(found.flags) <= {"polarity"}
    plain = evalign.MoverScore(layer="last").score(candidates, references)["score"]
    assert np.abs(plain - expected).max() > 1e-3


def test_the_idf_of_each_side_is_counted_over_its_own_texts():
    """The word that all candidates share weighs nothing there, though no reference but one has it."""
    metric = evalign.metric("moverscore(preset=moverscore_v2, model=fake)")
    candidates, references = ["x one", "x two", "x three"], ["y one", "y two", "x three"]
    rows = [evalign.Row(str(i), c, (r,)) for i, (c, r) in enumerate(zip(candidates, references, strict=True))]
    aligned = metric.scorer(rows).align("x three", "x three")
    ours = dict(zip(aligned.candidate.pieces, aligned.candidate_weights, strict=True))
    theirs = dict(zip(aligned.reference.pieces, aligned.reference_weights, strict=True))
    assert ours["x"] == 0
    assert theirs["x"] > 0
    assert "idf:sides@" in str(metric.scorer(rows).signature)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("moverscore(idf=sides)", "goes with preset=moverscore_v2"),
        ("moverscore(preset=moverscore_v2, idf=references)", "decides idf and ngram"),
        ("moverscore(preset=moverscore_v2, ngram=2)", "decides idf and ngram"),
        ("moverscore(preset=moverscore_v3)", "moverscore_v2"),
        ('moverscore(stopwords="the of")', "the+a+of"),
    ],
)
def test_presets_that_make_no_sense(spec, said):
    with pytest.raises(SpecError, match=re.escape(said)):
        evalign.metric(spec)


def test_the_preset_needs_all_rows():
    with pytest.raises(SpecError, match="all rows at once"):
        evalign.metric("moverscore(preset=moverscore_v2, model=fake)").scorer()
