"""`BERTScorer` and `evalign.compat.bert_score` against bert_score's: arguments, hash, families, IDF, baselines.

Batches of one pair: bert_score then has no padding that could win. RoBERTa's slow tokenizer is the one of transformers
4; today's no longer hears bert_score's request for a space, so there its own setting asks for it.
"""

import inspect
import shutil
from collections import defaultdict

import numpy as np
import pytest

import evalign
import tiny_torch_models
from evalign.cli.main import main
from evalign.compat import bert_score as compat
from evalign.errors import InputError, TableError
from evalign.metrics import baseline as published_baselines
from tiny_models import SENTENCES, edit_json

bert_score = pytest.importorskip("bert_score", reason="bert-score is not installed: pip install 'evalign[dev]'")
pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")  # its baselines
CANDIDATES = SENTENCES[:8]
REFERENCES = [SENTENCES[(place * 5 + 3) % 12] for place in range(8)]
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def other_families(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    return {name: tiny_torch_models.build(name, folder / f"tiny-{name}") for name in ("t5", "bart", "modernbert")}


def theirs(model, candidates=CANDIDATES, references=REFERENCES, **options):
    scores = bert_score.score(
        list(candidates), list(references), model_type=str(model), nthreads=0, device="cpu", batch_size=1, **options
    )
    return np.stack([field.numpy() for field in scores])


def ours(model, candidates=CANDIDATES, references=REFERENCES, **options):
    return np.stack(compat.score(candidates, references, model_type=str(model), **options))


def test_arguments_and_their_order_are_the_peers():
    pairs = [(compat.score, bert_score.score), (compat.BERTScorer, bert_score.BERTScorer)]
    pairs += [
        (getattr(compat.BERTScorer, name), getattr(bert_score.BERTScorer, name)) for name in ("score", "compute_idf")
    ]
    pairs += [(compat.BERTScorer.plot_example, bert_score.BERTScorer.plot_example)]
    for own, peer in pairs:
        expected = {name: value.default for name, value in inspect.signature(peer).parameters.items()}
        assert {name: value.default for name, value in inspect.signature(own).parameters.items()} == expected


@pytest.mark.parametrize("layer", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("idf", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", ["t5", "bart", "modernbert"])
def test_families_whose_reading_differs(other_families, family, idf, layer):
    """T5's closing norm and end token, and byte-level tokenizers that get no space before a text."""
    options = {"num_layers": layer, "idf": idf}
    np.testing.assert_allclose(
        ours(other_families[family], **options), theirs(other_families[family], **options), atol=TOLERANCE
    )
    own = evalign.BERTScore(model=str(other_families[family]), layer=layer, idf="references" if idf else "no")
    if not (family == "t5" and idf and layer == 3):
        assert np.abs(own.score(CANDIDATES, REFERENCES)["f1"] - ours(other_families[family], **options)[2]).max() > 1e-3


def test_slow_and_fast_roberta(tiny, tmp_path):
    fast = theirs(tiny("roberta"), num_layers=2, use_fast_tokenizer=True)
    np.testing.assert_allclose(ours(tiny("roberta"), num_layers=2, use_fast_tokenizer=True), fast, atol=TOLERANCE)
    slow = shutil.copytree(tiny("roberta"), tmp_path / "roberta")
    edit_json(slow / "tokenizer_config.json", add_prefix_space=True)
    np.testing.assert_allclose(ours(tiny("roberta"), num_layers=2), theirs(slow, num_layers=2), atol=TOLERANCE)
    assert np.abs(fast - ours(tiny("roberta"), num_layers=2)).max() > 1e-3


def test_the_profile_is_part_of_spec_and_signature(tiny):
    metric = evalign.BERTScore(model=str(tiny("roberta")), layer=2, compat="bert-score-fast")
    assert evalign.metric(str(metric)) == metric
    report = metric.score(CANDIDATES, REFERENCES)
    assert "|compat:bert-score-fast|" in report.signature
    assert "compat" not in evalign.BERTScore(model=str(tiny("roberta")), layer=2).score(["a"], ["b"]).signature


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"use_fast_tokenizer": True}])
def test_hash(tiny, options):
    arguments = {"model_type": str(tiny("bert")), "num_layers": 2, **options}
    _, expected = bert_score.score(CANDIDATES[:2], REFERENCES[:2], nthreads=0, return_hash=True, **arguments)
    _, made = compat.score(CANDIDATES[:2], REFERENCES[:2], return_hash=True, **arguments)
    assert made == expected
    assert made.signature.startswith("bertscore|model:")
    assert compat.BERTScorer(**arguments).hash == bert_score.BERTScorer(nthreads=0, **arguments).hash


def test_without_transformers_the_hash_says_so(tiny, monkeypatch):
    from importlib import metadata

    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    assert compat.BERTScorer(str(tiny("bert")), 2).hash == f"{tiny('bert')}_L2_no-idf_version=0.3.12(hug_trans=none)"


def test_a_scorer_keeps_its_idf_weights(tiny):
    arguments = {"model_type": str(tiny("bert")), "num_layers": 2, "idf": True, "idf_sents": SENTENCES}
    peer = bert_score.BERTScorer(nthreads=0, device="cpu", **arguments)
    own = compat.BERTScorer(batch_size=3, **arguments)
    expected = np.stack([field.numpy() for field in peer.score(CANDIDATES, REFERENCES, batch_size=1)])
    np.testing.assert_allclose(np.stack(own.score(CANDIDATES, REFERENCES, False, 7)), expected, atol=TOLERANCE)
    with pytest.warns(UserWarning, match="Overwriting the previous importance weights"):
        own.compute_idf(SENTENCES[:3])
    assert np.abs(own.score(CANDIDATES, REFERENCES)[2] - expected[2]).max() > 1e-3
    assert str(own) == f"BERTScorer(hash={own.hash}, batch_size=3, nthreads=4)"
    with pytest.raises(InputError, match="compute_idf"):
        compat.BERTScorer(str(tiny("bert")), 2, idf=True).score(["a"], ["b"])


def test_several_references_and_all_layers(tiny):
    scorer = compat.BERTScorer(str(tiny("bert")), 3, all_layers=True)
    scores, _ = scorer.score(CANDIDATES, REFERENCES, return_hash=True)
    np.testing.assert_allclose(np.stack(scores), theirs(tiny("bert"), num_layers=3, all_layers=True), atol=TOLERANCE)
    ragged = [[text, SENTENCES[9]] for text in REFERENCES]
    np.testing.assert_allclose(
        ours(tiny("bert"), references=ragged, num_layers=2), theirs(tiny("bert"), references=ragged, num_layers=2),
        atol=TOLERANCE,
    )  # fmt: skip


def test_ids_without_a_weight_weigh_nothing_and_are_said(tiny):
    """bert_score raises KeyError; its own tables are defaultdicts, and nothing is missing there."""
    table = dict.fromkeys(range(0, 60), 1.0)
    with pytest.warns(UserWarning, match=r"tokens of \d+ rows have no weight"):
        compat.score(CANDIDATES, REFERENCES, str(tiny("bert")), 2, idf=table)
    full = defaultdict(lambda: 2.0, table)
    expected = theirs(tiny("bert"), num_layers=2, idf=defaultdict(lambda: 2.0, table))
    np.testing.assert_allclose(ours(tiny("bert"), num_layers=2, idf=full), expected, atol=TOLERANCE)


def test_plot_example(tiny, tmp_path):
    pytest.importorskip("matplotlib", reason="pip install 'evalign[plots]'")
    scorer = compat.BERTScorer(str(tiny("bert")), 2)
    scorer.plot_example("the river rose", "the old bridge", str(tmp_path / "pair.png"))
    assert (tmp_path / "pair.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def published_model(tiny, tmp_path, monkeypatch):
    """A tiny model in a folder with the name of one that has a published baseline; both programs look there first."""
    shutil.copytree(tiny("distilbert"), tmp_path / "distilbert-base-uncased")
    monkeypatch.chdir(tmp_path)
    return "distilbert-base-uncased"


def test_published_baselines(published_model):
    assert len({model for _, model in published_baselines.published_baselines()}) == 33
    options = {"num_layers": 2, "lang": "en", "rescale_with_baseline": True}
    np.testing.assert_allclose(ours(published_model, **options), theirs(published_model, **options), atol=TOLERANCE)
    scorer = compat.BERTScorer(published_model, 2, lang="en", rescale_with_baseline=True)
    peer = bert_score.BERTScorer(published_model, 2, lang="en", rescale_with_baseline=True)
    np.testing.assert_allclose(scorer.baseline_vals, peer.baseline_vals.numpy(), atol=1e-6)
    assert scorer.hash == peer.hash
    assert scorer.hash.endswith("-rescaled")


def test_a_model_without_a_published_baseline(tiny, tmp_path, monkeypatch):
    """bert_score has a layer for it, but no baseline."""
    shutil.copytree(tiny("bert"), tmp_path / "roberta-base-openai-detector")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        TableError, match=r"no baseline for roberta-base-openai-detector.*33 other models.*evalign fit baseline"
    ):
        compat.score(["a"], ["b"], "roberta-base-openai-detector", 2, lang="en", rescale_with_baseline=True)
    with pytest.raises(TableError, match=r"no baseline for xlm-roberta-base in lang='sw'.*evalign fit baseline"):
        published_baselines.published_baseline("sw", "xlm-roberta-base")
    monkeypatch.setattr(published_baselines, "published_baselines", dict)
    with pytest.raises(TableError, match="evalign models get-baselines"):
        compat.score(["a"], ["b"], "roberta-base-openai-detector", 2, lang="en", rescale_with_baseline=True)
    with pytest.raises(InputError, match="lang"):
        compat.BERTScorer(str(tiny("bert")), 2, rescale_with_baseline=True)


def test_a_baseline_for_another_model_is_refused(published_model, capsys):
    other = published_baselines.published_baseline("en", "roberta-large")
    spec = f'bertscore(model="{published_model}", layer=2, rescale="{other}")'
    with pytest.raises(SystemExit) as left:
        main(["align", "a", "b", "-m", spec])
    said = capsys.readouterr().err.strip()
    assert left.value.code == 2
    assert "made for roberta-large, not distilbert-base-uncased" in said
    assert "\n" not in said


def test_baselines_are_listed_or_fetched(monkeypatch, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["models", "get-baselines"])
    assert not left.value.code
    assert "en\troberta-large\t" in capsys.readouterr().out
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(published_baselines, "_installed", dict)
    with pytest.raises(TableError, match=r"could not be fetched .*pip install --no-deps bert-score==0\.3\.13"):
        published_baselines.get_baselines()


def test_fetched_baselines_are_read_from_the_cache(monkeypatch, tmp_path):
    table = published_baselines.published_baseline("en", "roberta-large")
    kept = tmp_path / "bert-score" / "rescale_baseline" / "en" / "microsoft"
    kept.mkdir(parents=True)
    shutil.copy(table, kept / "deberta-base.tsv")
    monkeypatch.setenv("EVALIGN_CACHE", str(tmp_path))
    monkeypatch.setattr(published_baselines, "_installed", dict)
    assert list(published_baselines.get_baselines()) == [("en", "microsoft/deberta-base")]
