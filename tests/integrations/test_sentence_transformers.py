"""`AgreementEvaluator`: called by sentence-transformers it reports what the metric gives for the saved model."""

import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, NOT_A_NUMBER, documented

import evalign
from evalign.stats.correlation import spearman

pytestmark = pytest.mark.slow  # sentence-transformers takes seconds to load

CANDIDATES = ["a cat", "the dogs bark at night", "rain falls", "one more of them", "the sea is blue", "no"]
REFERENCES = ["the cat", "dogs bark", "it rains", "another", "a red house", "yes"]
RATINGS = [5, 4, 3.5, 3, 1, 0]


@pytest.fixture(scope="module", autouse=True)
def installed():
    """Not at the top of the file: the quick tests, which have none of these, would load it as well."""
    pytest.importorskip("sentence_transformers")


@pytest.fixture(scope="module")
def model(tiny):
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(tiny("bert")), device="cpu")


@pytest.mark.parametrize("spec", ["bertscore(layer=2)", "sbert", "lisascore(layer=1, idf=references)"])
def test_what_it_reports_is_the_metrics_agreement(model, tmp_path, spec):
    from evalign.integrations.sentence_transformers import AgreementEvaluator

    evaluator = AgreementEvaluator(CANDIDATES, REFERENCES, RATINGS, spec, name="dev")
    found = evaluator(model)
    model.save(str(tmp_path / "saved"), create_model_card=False)
    name, _, options = spec.partition("(")
    judge = evalign.metric(f'{name}(model="{tmp_path}/saved"{", " + options if options else ")"}')
    expected = spearman(judge.score(CANDIDATES, REFERENCES)[judge.main], RATINGS)
    assert found["dev_spearman"] == pytest.approx(expected, abs=1e-9)
    assert evaluator.primary_metric == "dev_spearman"
    assert set(found) == {"dev_pearson", "dev_spearman", "dev_kendall"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((CANDIDATES, REFERENCES, [1, 2]), "6 candidates but 2 ratings"),
        ((CANDIDATES, REFERENCES, [*RATINGS[:5], NOT_A_NUMBER]), "ratings: expected finite numbers"),
        ((CANDIDATES, REFERENCES, [*RATINGS[:5], None]), "ratings: expected finite numbers"),
        ((CANDIDATES, REFERENCES, [*RATINGS[:5], "good"]), "ratings: expected finite numbers"),
        ((CANDIDATES, REFERENCES, [1] * 6), "at least two different numbers"),
        (([], [], []), "at least two different numbers"),
        ((CANDIDATES, REFERENCES, RATINGS, "chrf"), "chrf has no option 'model'"),
        ((CANDIDATES, REFERENCES, RATINGS, "bertscor"), "did you mean"),
        *(((candidates, references, [*range(len(candidates))]), said) for candidates, references, said in BAD_ROWS),
    ],
    ids=["ratings", "nan", "none", "word", "constant", "nothing", "lexical", "unknown", *BAD_NAMES],
)
def test_bad_input_is_a_value_error_with_our_sentence(given, said):
    from evalign.integrations.sentence_transformers import AgreementEvaluator

    with pytest.raises(ValueError, match=said):
        AgreementEvaluator(*given)


def test_the_documented_example_runs(minilm):
    exec(documented("sentence-transformers"), {})
