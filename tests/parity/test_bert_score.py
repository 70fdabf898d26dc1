"""`evalign.compat.bert_score` against bert_score itself: within 1e-5 on 20 real pairs, and on 500 in the slow tests.

One difference is left on such texts: bert_score multiplies similarities by the padding mask, so a token whose best
real similarity is negative may be given 0 instead. Pairs with such a token are found here, from our own
similarity matrices, and only they may differ.
"""

import shutil

import numpy as np
import pytest

import evalign
from evalign.compat import bert_score as compat
from evalign.matching.greedy import Greedy
from evalign.matching.similarity import similarity
from tiny_models import SENTENCES, edit_json

bert_score = pytest.importorskip("bert_score", reason="bert-score is not installed: pip install 'evalign[dev]'")
pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")  # its baselines
TOLERANCE = 1e-5
PAIRS = 500


def their_score(candidates, references, **options):
    """Without its worker processes; (fields, ..., pairs)."""
    scores = bert_score.score(list(candidates), list(references), nthreads=0, device="cpu", **options)
    return np.stack([field.numpy() for field in scores])


def negative_pairs(candidates, references, model, layer):
    """Whether some token's best similarity is negative: (pairs,), or (layers, pairs) for layer="all"."""
    scorer = evalign.BERTScore(model=str(model), layer=layer, overlong="truncate").scorer()
    groups = [[entry] if isinstance(entry, str) else entry for entry in references]
    sides = scorer.weigh([*candidates, *(text for group in groups for text in group)])[0]

    def negative(candidate, reference):
        matrices = similarity(sides[candidate].embedded, sides[reference].embedded, per_layer=True)
        matched = [Greedy().solve(matrix) for matrix in matrices]
        return np.array([min(pair.candidate_values.min(), pair.reference_values.min()) < 0 for pair in matched])

    found = [
        np.any([negative(candidate, text) for text in group], axis=0)
        for candidate, group in zip(candidates, groups, strict=True)
    ]
    return np.array(found)[:, 0] if layer != "all" else np.array(found).T


def assert_parity(ours, theirs, negative):
    """Every pair that differs is one of the known kind; returns how many are not (-rP shows the counts)."""
    ours = np.stack(ours)
    assert ours.shape == theirs.shape
    difference = np.abs(ours - theirs).max(axis=0)
    differing = int((negative & (difference > TOLERANCE)).sum())
    print(f"{negative.size} pairs, {negative.sum()} with a negative best similarity, {differing} of these differ")
    unexplained = (difference > TOLERANCE) & ~negative
    assert not unexplained.any(), (np.argwhere(unexplained)[:5].tolist(), float(difference[unexplained].max()))
    return int((~negative).sum())


@pytest.fixture(scope="module", autouse=True)
def one_torch_thread():
    """bert_score's small batches are mostly waiting for each other's threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(
    scope="module",
    params=[pytest.param(25, id="20 pairs"), pytest.param(1, id="500 pairs", marks=pytest.mark.slow)],
)
def step(request):
    """One pair in so many is compared."""
    return request.param


@pytest.fixture(scope="module")
def texts(real_pairs, step):
    assert len(real_pairs) >= PAIRS
    return tuple(zip(*real_pairs[:PAIRS:step], strict=True))


@pytest.fixture(scope="module")
def negative(texts, minilm):
    return negative_pairs(*texts, minilm, "4")


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    file = tmp_path_factory.mktemp("baseline") / "baseline.tsv"
    rows = [f"{layer},0.1{layer},0.2{layer},0.15{layer}" for layer in range(7)]
    file.write_text("\n".join(["LAYER,P,R,F", *rows]) + "\n")
    return str(file)


@pytest.mark.parametrize("batch_size", [1, pytest.param(7, marks=pytest.mark.slow), 64])
def test_plain(texts, minilm, negative, batch_size):
    theirs = their_score(*texts, model_type=str(minilm), num_layers=4, batch_size=batch_size)
    ours = compat.score(*texts, model_type=str(minilm), num_layers=4)
    unpadded = negative & (batch_size > 1)  # a batch of one pair has no padding, so there nothing may differ
    assert assert_parity(ours, theirs, unpadded) > 0.9 * len(texts[0])


def test_idf(texts, minilm, negative):
    options = {"model_type": str(minilm), "num_layers": 4, "idf": True}
    assert assert_parity(compat.score(*texts, **options), their_score(*texts, **options), negative)


def test_a_given_idf_table(texts, minilm, negative):
    from bert_score.utils import get_idf_dict, get_tokenizer

    texts, negative = tuple(side[:200] for side in texts), negative[:200]
    table = get_idf_dict(list(texts[1][:99]), get_tokenizer(str(minilm)), nthreads=0)
    options = {"model_type": str(minilm), "num_layers": 4, "idf": table}
    ours = compat.score(*texts, **options)  # before bert_score adds what it looks up to the table
    assert assert_parity(ours, their_score(*texts, **options), negative)


def test_rescaled(texts, minilm, negative, baseline):
    options = {"num_layers": 4, "lang": "en", "rescale_with_baseline": True, "baseline_path": baseline}
    options["model_type"] = str(minilm)
    assert assert_parity(compat.score(*texts, **options), their_score(*texts, **options), negative)


def test_all_layers_rescaled(texts, minilm, baseline):
    options = {"all_layers": True, "lang": "en", "rescale_with_baseline": True, "baseline_path": baseline}
    options |= {"model_type": str(minilm), "num_layers": 6}
    negative = negative_pairs(*texts, minilm, "all")
    compared = assert_parity(compat.score(*texts, **options), their_score(*texts, **options), negative)
    assert compared > 5 * len(texts[0])


@pytest.mark.parametrize("idf", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_ragged_references(summary_rows, minilm, idf, step):
    rows = summary_rows[:: 8 * step]
    candidates = [row["candidate"] for row in rows]
    references = [row["references"][: 1 + place % 4] for place, row in enumerate(rows)]
    assert len({len(group) for group in references}) == 4
    assert sum(map(len, references)) >= PAIRS / step
    options = {"model_type": str(minilm), "num_layers": 4, "idf": idf}
    negative = negative_pairs(candidates, references, minilm, "4")
    ours, theirs = compat.score(candidates, references, **options), their_score(candidates, references, **options)
    assert assert_parity(ours, theirs, negative)


def test_texts_over_512_tokens(real_pairs, minilm, step):
    """Long candidates against long and short references, all against all."""
    joined = [tuple(" ".join(side) for side in zip(*real_pairs[at : at + 30], strict=True)) for at in range(0, 480, 20)]
    apart = min(step, 10)
    longs, targets = [long for long, _ in joined[::apart]], [long for _, long in joined[:15:apart]]
    targets += [short for _, short in real_pairs[:6]]
    candidates, references = zip(*((long, target) for long in longs for target in targets), strict=True)
    assert len(candidates) >= 24
    options = {"model_type": str(minilm), "num_layers": 4}
    report = evalign.BERTScore(model=str(minilm), overlong="truncate").score(candidates, references)
    assert report.flags["truncated"] == len(candidates)
    negative = negative_pairs(candidates, references, minilm, "4")
    ours, theirs = compat.score(candidates, references, **options), their_score(candidates, references, **options)
    assert assert_parity(ours, theirs, negative) > 0.5 * len(candidates)


@pytest.mark.parametrize("layer", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "mpnet", "albert"])
def test_tiny_models(tiny, real_pairs, tmp_path, family, layer):
    texts = tuple(zip(*real_pairs[:150], strict=True))
    model = tiny(family)
    if family == "roberta":  # bert_score asks for a prefix space in a way that transformers no longer hears
        model = shutil.copytree(model, tmp_path / "roberta")
        edit_json(model / "tokenizer_config.json", add_prefix_space=True)
    options = {"model_type": str(model), "num_layers": layer}
    negative = negative_pairs(*texts, model, str(layer))
    ours, theirs = compat.score(*texts, **options), their_score(*texts, **options)
    assert assert_parity(ours, theirs, negative) >= 100


def test_the_known_difference_is_the_padding_and_nothing_else(tiny):
    """Single words at layer 0, where some token is like none of the other side; a batch of one has no padding."""
    words = sorted({word for sentence in SENTENCES for word in sentence.strip(".").split()})
    candidates, references = words * 2, [f"{one} {other}" for one, other in zip(words * 2, words[5:] * 3, strict=False)]
    references = references[::-1]
    options = {"model_type": str(tiny("distilbert")), "num_layers": 0}
    negative = negative_pairs(candidates, references, tiny("distilbert"), "0")
    ours = compat.score(candidates, references, **options)
    padded, alone = (their_score(candidates, references, batch_size=size, **options) for size in (64, 1))
    assert assert_parity(ours, padded, negative) > 0
    assert (np.abs(np.stack(ours) - padded).max(axis=0) > TOLERANCE).sum() > 0, "no pair shows the difference"
    assert_parity(ours, alone, np.zeros(len(words) * 2, dtype=bool))
