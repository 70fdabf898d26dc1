"""`assert_quality`: passes with the report, fails with the worst pairs and their alignments."""

import pytest
from integration_rows import BAD_NAMES, BAD_ROWS

from evalign.errors import InputError
from evalign.integrations.pytest_plugin import assert_quality

CANDIDATES = ["a cat sat", "the dogs bark", "nothing of it", "the cat", "one two three"]
REFERENCES = ["a cat sat", "the dogs barked", "rain falls on Cologne", ["a cat", "the cat"], "one two three four"]


def test_passes_with_the_report():
    report = assert_quality(CANDIDATES, REFERENCES, metric="rouge1", at_least=0.5)
    assert report.corpus("f1") == pytest.approx((1 + 2 / 3 + 0 + 1 + 6 / 7) / 5)


def test_a_failure_shows_the_worst_pairs_and_who_meets_whom():
    with pytest.raises(AssertionError) as failed:
        assert_quality(CANDIDATES, REFERENCES, metric="bertscore(model=fake)", at_least=0.99, worst=2)
    said = str(failed.value)
    assert said.startswith("5 pairs have bertscore(model=fake) 0.")
    assert "expected at least 0.99" in said
    assert said.index("rain falls on Cologne") < said.index("the dogs barked")
    assert "a cat sat" not in said
    assert "precision" in said  # the picture of the alignment
    assert "bertscore|" in said


def test_every_pair_and_metrics_that_fall():
    with pytest.raises(AssertionError, match=r"the worst pair has rouge1 0\.0000, expected at least 0\.1"):
        assert_quality(CANDIDATES, REFERENCES, metric="rouge1", at_least=0.1, every=True)
    with pytest.raises(AssertionError, match="expected at most 1"):
        assert_quality(CANDIDATES, REFERENCES, metric="ter", at_least=1)
    assert_quality(CANDIDATES, REFERENCES, metric="ter", at_least=100)


@pytest.mark.parametrize(("candidates", "references", "said"), [*BAD_ROWS, ([], [], "no pairs to judge")],
                         ids=[*BAD_NAMES, "nothing"])  # fmt: skip
def test_bad_input_is_an_error_of_the_test_and_no_assertion(candidates, references, said):
    with pytest.raises(InputError, match=said):
        assert_quality(candidates, references, metric="rouge1", at_least=0.5)


def test_pytest_finds_the_fixture(pytester):
    pytester.makepyfile("""
        def test_it(assert_quality):
            assert_quality(["a cat"], ["the dog"], metric="rouge1", at_least=0.9)
    """)
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pairs have rouge1 0.0000, expected at least 0.9*"])
