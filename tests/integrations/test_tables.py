"""Frames and batches of datasets: evalign's own numbers as columns."""

import pandas
import pytest
from integration_rows import BAD_NAMES, BAD_ROWS, documented

import evalign
from evalign.integrations.tables import add_scores, batch_scorer

COLUMNS = {
    "candidate": ["a cat", "the dogs bark at night, all of them", "x", "", "Grüße aus Köln and more"],
    "references": ["the cat", "dogs bark", "y z", "nothing", "Grüße aus Köln"],
    "other": ["one cat", "the dogs barked", "x y", "no", "Grüße"],
}
BOTH = list(zip(COLUMNS["references"], COLUMNS["other"], strict=True))


def frames():
    yield pandas.DataFrame(COLUMNS)
    polars = pytest.importorskip("polars")
    yield polars.DataFrame(COLUMNS)


@pytest.mark.parametrize("spec", ["bertscore(model=fake)", "rougeL"])
def test_columns_are_evaligns_own_numbers(spec):
    judge = evalign.metric(spec)
    report = judge.score(COLUMNS["candidate"], BOTH)
    for frame in frames():
        scored = add_scores(frame, spec, reference=["references", "other"])
        assert type(scored) is type(frame)
        assert list(frame.columns) == list(COLUMNS)
        for field in report.fields:
            assert scored[f"{judge.name}_{field}"].to_list() == report[field].tolist()


def test_a_column_of_lists():
    frame = pandas.DataFrame({"candidate": COLUMNS["candidate"], "references": [list(pair) for pair in BOTH]})
    expected = evalign.metric("chrf").score(COLUMNS["candidate"], BOTH)["score"]
    assert add_scores(frame, "chrf")["chrf_score"].tolist() == expected.tolist()


def test_a_batch_of_a_dataset():
    found = batch_scorer("rouge1")(COLUMNS)
    report = evalign.metric("rouge1").score(COLUMNS["candidate"], COLUMNS["references"])
    assert found == {f"rouge1_{field}": report[field].tolist() for field in report.fields}


def test_bad_input_is_one_sentence():
    frame = pandas.DataFrame(COLUMNS)
    with pytest.raises(ValueError, match="no column 'gold'; the columns are candidate, references, other"):
        add_scores(frame, "rouge1", reference="gold")
    for spec in ("bertscore(model=fake, idf=references)", "moverscore(model=fake, preset=moverscore_v2)"):
        with pytest.raises(ValueError, match="counts IDF over the whole corpus"):
            batch_scorer(spec)
    with pytest.raises(ValueError, match="no column 'candidate'"):
        add_scores(pandas.DataFrame({}), "rouge1")


@pytest.mark.parametrize(("candidates", "references", "said"), BAD_ROWS, ids=BAD_NAMES)
def test_a_bad_cell_is_a_value_error_with_our_sentence(candidates, references, said):
    with pytest.raises(ValueError, match=said):
        batch_scorer("rouge1")({"candidate": candidates, "references": references})
    if len(candidates) == len(references):
        with pytest.raises(ValueError, match=said):
            add_scores(pandas.DataFrame({"candidate": candidates, "references": references}, dtype=object), "rouge1")


def test_bad_cells_of_polars():
    polars = pytest.importorskip("polars")
    for column, said in (([None, "a"], "NoneType"), ([1, 2], "int"), ([0.5, float("nan")], "float")):
        with pytest.raises(ValueError, match=rf"candidates\[0\]: expected a string, found {said}"):
            add_scores(polars.DataFrame({"candidate": column, "references": ["a", "b"]}), "rouge1")


@pytest.mark.slow
def test_inside_dataset_map():
    datasets = pytest.importorskip("datasets")
    scored = datasets.Dataset.from_dict(COLUMNS).map(batch_scorer("rougeL"), batched=True, batch_size=2)
    report = evalign.metric("rougeL").score(COLUMNS["candidate"], COLUMNS["references"])
    assert scored["rougeL_f1"][:] == report["f1"].tolist()
    bad = datasets.Dataset.from_dict(COLUMNS | {"candidate": [None, *COLUMNS["candidate"][1:]]})
    with pytest.raises(ValueError, match=r"candidates\[0\]: expected a string, found NoneType"):
        bad.map(batch_scorer("rougeL"), batched=True, batch_size=2)


@pytest.mark.parametrize("heading", ["pandas and polars", "Hugging Face datasets"])
def test_the_documented_example_runs(heading, minilm):
    exec(documented(heading), {})
