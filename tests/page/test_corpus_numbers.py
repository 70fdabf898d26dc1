"""The corpus view's arithmetic against numpy, scipy and the library."""

import random

import numpy as np
import pytest
from corpus_samples import module_page, sample_document, synthetic_rows

from evalign.analysis.rated_tables import percentiles

EXPORTS = {
    "corpus/charts.js": "sortedNumbers quantile binEdges binCounts densityOf",
    "corpus/table.js": "percentiles",
    "shared/format.js": "numberText pText",
}


@pytest.fixture(scope="module")
def numbers(tmp_path_factory, browser):
    page = browser.new_page()
    page.goto(module_page(tmp_path_factory.mktemp("page") / "numbers.html", EXPORTS).as_uri())
    yield page
    page.close()


@pytest.fixture(scope="module")
def tables(tmp_path_factory, browser):
    page = browser.new_page()
    exports = {"corpus/table.js": "makeTable pairedDifferences"}
    page.goto(module_page(tmp_path_factory.mktemp("page") / "data.html", exports).as_uri())
    yield page
    page.close()


SAMPLES = {
    "one value": [0.7],
    "equal values": [0.25] * 5,
    "zeros": [0.0, 0.0],
    "few": [0.1, 0.9, 0.3],
    "on round edges": [0.1, 0.2, 0.3, 0.30000000000000004, 0.6, 0.7, 1.0],
    "negative": [-3.5, -2.25, -88.0, -1.0],
    "far apart": [0.0, 1.0, 100.0, 5321.5],
    "many": [random.Random(3).betavariate(5, 2) for _ in range(2000)],
}


@pytest.mark.parametrize("name", SAMPLES)
def test_quantiles_and_histograms_are_numpys(numbers, name):
    values = SAMPLES[name]
    shares = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]
    found = numbers.evaluate(
        """([values, shares]) => {
          const sorted = sortedNumbers(values);
          const edges = binEdges(sorted, 20);
          return { edges, counts: binCounts(sorted, edges), quantiles: shares.map((share) => quantile(sorted, share)) };
        }""",
        [values, shares],
    )
    assert found["quantiles"] == pytest.approx(np.quantile(values, shares), rel=1e-12, abs=1e-15)
    assert found["counts"] == np.histogram(values, found["edges"])[0].tolist()
    assert sum(found["counts"]) == len(values)
    assert 1 <= len(found["counts"]) <= 45


def test_percentiles_are_the_librarys(numbers):
    draw = random.Random(4)
    tied = [draw.choice([1, 2, 2.5, 7]) for _ in range(50)] + [0.5]
    assert numbers.evaluate("(values) => percentiles(values)", tied) == pytest.approx(percentiles(np.array(tied)))
    assert numbers.evaluate("percentiles([3])") == percentiles(np.array([3.0])).tolist() == [50.0]


def test_a_density_is_highest_where_the_values_are(numbers):
    found = numbers.evaluate("(values) => densityOf(sortedNumbers(values))", [0.0, *([0.8] * 40), 0.79, 0.81, 1.0])
    assert max(found["y"]) == 1
    assert found["x"][found["y"].index(1)] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("numberText(0.12345, 4)", "0.1235"),
        ("numberText(-2, 2, true)", "\u22122.00"),
        ("numberText(null, 2)", "\u2013"),
        ("numberText(-0.00001, 2)", "0.00"),
        ("numberText(0.00001, 2, true)", "\u00b10.00"),
        ("pText(0.00004)", "p\u00a0<\u00a00.001"),
        ("pText(0.0031)", "p\u00a0=\u00a00.003"),
        ("pText(0.5)", "p\u00a0=\u00a00.50"),
    ],
)
def test_numbers_are_written_for_people(numbers, call, expected):
    assert numbers.evaluate(call) == expected


@pytest.mark.parametrize("spec", ["rougeL", "ter"])
def test_wins_losses_and_ties_are_those_of_the_comparison(tables, spec):
    document = sample_document(synthetic_rows(60), [spec])
    told = tables.evaluate(
        """(doc) => pairedDifferences(makeTable(doc), "system A", "system B", 0, doc.metrics[0].main)""", document
    )
    versus = document["comparison"]["results"][0]["systems"][1]
    assert [told[name] for name in ("wins", "losses", "ties")] == [versus[name] for name in ("wins", "losses", "ties")]
    assert versus["wins"]
    assert versus["losses"]
    assert versus["ties"]
    if spec == "rougeL":
        assert told["mean"] == pytest.approx(versus["difference"])


def test_disagreement_with_people_is_the_librarys_and_knows_the_direction(tables):
    document = sample_document(synthetic_rows(30, 1, rated=True), ["rouge1", "ter"])
    human = np.array([row["human"] for row in document["rows"]])
    for place, sign in ((0, 1), (1, -1)):
        field = document["metrics"][place]["main"]
        found = tables.evaluate(
            "([doc, place, field]) => [...makeTable(doc).disagreement(place, field)]", [document, place, field]
        )
        scores = np.array([row["scores"][place][field] for row in document["rows"]])
        assert found == pytest.approx(percentiles(sign * scores) - percentiles(human))


def test_rows_are_paired_by_id_else_by_input_and_never_across_inputs(tables):
    def paired(rows):
        document = {"metrics": [], "systems": ["A", "B"], "results": [], "problems": []}
        document["rows"] = [{"scores": [], "flags": [], "errors": []} | row for row in rows]
        return tables.evaluate('(doc) => makeTable(doc).pairs("A", "B")', document)

    def rows(system, *pairs):
        return [{"id": name, "system": system, "references": [text]} for name, text in pairs]

    by_id = rows("A", ("1", "x"), ("2", "y")) + rows("B", ("2", "y"), ("1", "x"))
    assert paired(by_id) == {"how": "id", "pairs": [[0, 3], [1, 2]], "alone": 0}
    by_text = rows("A", ("1", "x"), ("2", "y"), ("3", "x")) + rows("B", ("4", "x"), ("5", "x"), ("6", "y"))
    assert paired(by_text) == {"how": "text", "pairs": [[0, 3], [1, 5], [2, 4]], "alone": 0}
    other = rows("A", ("1", "x"), ("2", "y")) + rows("B", ("1", "x"), ("2", "other"))
    assert paired(other) == {"how": "id", "pairs": [[0, 2]], "alone": 2}
