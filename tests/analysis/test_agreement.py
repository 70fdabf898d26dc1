"""From a rated table to judgements: scipy's numbers, ranks that mean something, nothing left out silently."""

import numpy as np
import pytest
from scipy import stats

import evalign
from evalign.analysis.agreement import AgreementPlan, agree_pairs, agree_table
from evalign.analysis.rated_tables import RatedTable, rate, rate_pairs
from evalign.core import Row
from evalign.errors import FileFormatError, InputError, SpecError
from evalign.io.rows import InMemory
from evalign.stats.bootstrap import Resampling

FEW = Resampling(samples=200)
BERT = evalign.BERTScore(model="fake")


def table(count: int = 120, aspects: tuple[str, ...] = ("human",)) -> RatedTable:
    random = np.random.default_rng(5)
    people = {aspect: random.normal(size=count) for aspect in aspects}
    first = next(iter(people.values()))
    rows = [
        Row(str(place), "c", ("r",), system=f"s{place % 6}", extra={"lp": ("de", "fr")[place % 2], "doc": place // 6})
        for place in range(count)
    ]
    scores = {
        "good": first + random.normal(size=count),
        "bad": first + 5 * random.normal(size=count),
        "flat": first * 0,
    }
    return RatedTable(rows, people, scores, {}, {})


def test_values_are_scipys_and_ranks_tell_good_from_bad():
    data = table()
    found = agree_table(data, AgreementPlan(resampling=FEW))
    assert [one.metric for one in found.judgements] == ["good", "bad", "flat"]
    good, bad, flat = found.judgements
    for name, function in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
        assert good.estimates[name].value == pytest.approx(function(data.scores["good"], data.human["human"])[0])
    assert (good.rank, bad.rank, flat.rank) == (1, 2, None)
    assert flat.estimates["pearson"].value is None
    assert "constant" in flat.estimates["pearson"].flags[0]


def test_groups_are_averaged_and_shown():
    data = table()
    found = agree_table(data, AgreementPlan(within="lp", resampling=FEW))
    parts = []
    for group in ("de", "fr"):
        rows = [place for place, row in enumerate(data.rows) if row.extra["lp"] == group]
        parts.append(stats.pearsonr(data.scores["good"][rows], data.human["human"][rows])[0])
    good = found.judgements[0]
    assert good.estimates["pearson"].value == pytest.approx(np.mean(parts))
    assert [good.groups["pearson"][group].value for group in ("de", "fr")] == pytest.approx(parts)
    assert found.judgements[1].rank == 2


def test_summary_and_system_level():
    data = table()
    summary = agree_table(
        data, AgreementPlan(level="summary", document="doc", statistics=("spearman",), resampling=FEW)
    )
    parts = [
        stats.spearmanr(data.scores["good"][start : start + 6], data.human["human"][start : start + 6])[0]
        for start in range(0, 120, 6)
    ]
    assert summary.judgements[0].estimates["spearman"].value == pytest.approx(np.mean(parts))
    system = agree_table(data, AgreementPlan(level="system", resampling=FEW))
    means = [[column[place::6].mean() for place in range(6)] for column in (data.scores["good"], data.human["human"])]
    by_name = {one.metric: one for one in system.judgements}
    assert by_name["good"].estimates["pearson"].value == pytest.approx(stats.pearsonr(*means)[0])


def test_every_aspect_is_judged():
    found = agree_table(table(aspects=("coherence", "fluency")), AgreementPlan(resampling=FEW, statistics=("kendall",)))
    assert found.aspects == ["coherence", "fluency"]
    assert [one.aspect for one in found.judgements] == ["coherence"] * 3 + ["fluency"] * 3


def test_williams_and_no_test():
    assert agree_table(table(), AgreementPlan(test="williams", resampling=FEW)).judgements[0].rank == 1
    assert agree_table(table(), AgreementPlan(test="none", resampling=FEW)).judgements[0].rank is None
    with_ties = agree_table(table(), AgreementPlan(statistics=("acc-eq",), document="doc", test="none", resampling=FEW))
    assert 0.5 < with_ties.judgements[0].estimates["acc-eq"].value <= 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": "words"}, "level=words"),
        ({"statistics": ("pearsons",)}, "pearson"),
        ({"test": "t"}, "test=t"),
        ({"level": "summary"}, "`document`"),
        ({"test": "williams", "within": "lp"}, "Pearson over all rows"),
        ({"statistics": ("acc-eq",), "level": "summary", "document": "doc"}, "`level=segment` or `level=system`"),
        ({"statistics": ("spa",), "test": "none"}, "add `level=system`"),
        ({"statistics": ("spa",), "level": "system"}, "there is no test for spa"),
        ({"average": "mean"}, "average=mean"),
        ({"fewest": 1}, "at least 2 rows"),
        ({"constant": "nan"}, "constant=nan"),
    ],
)
def test_plans_that_make_no_sense(options, said):
    with pytest.raises(SpecError, match=said):
        AgreementPlan(**options)


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ({"statistics": ("acc-eq",), "document": "doc"}, 20),
        ({"statistics": ("accuracy",), "item": "doc", "within": "lp"}, 2),
        ({"statistics": ("acc-eq",), "level": "system"}, 6),
        ({"statistics": ("accuracy",), "level": "system", "within": "lp", "average": "micro"}, 2),
        ({"statistics": ("pdp",), "item": "doc"}, 20),
        ({"statistics": ("pearson", "pdp"), "level": "system"}, 6),
        ({"statistics": ("kendall",), "within": "lp", "average": "micro"}, 2),
        ({"statistics": ("pearson", "spa"), "level": "system", "item": "doc"}, 6),
        ({"statistics": ("spearman",), "level": "summary", "document": "doc", "fewest": 2, "average": "micro"}, 20),
    ],
)
def test_statistics_of_the_field_rank_metrics(options, counted):
    data = table()
    found = agree_table(data, AgreementPlan(resampling=FEW, **options))
    good, bad = (next(one for one in found.judgements if one.metric == name) for name in ("good", "bad"))
    statistic = options["statistics"][-1]
    assert good.estimates[options["statistics"][0]].n == counted
    assert good.estimates[statistic].value > bad.estimates[statistic].value
    assert (good.rank or 0) <= (bad.rank or 0)
    names, better = found.p_values["human"]
    assert 0 < better[names.index("good"), names.index("bad")] <= 1


def test_soft_pairwise_accuracy_by_group():
    found = agree_table(
        table(), AgreementPlan(("spa",), "system", item="doc", within="lp", test="none", resampling=FEW)
    )
    groups = found.judgements[0].groups["spa"]
    assert found.judgements[0].estimates["spa"].value == pytest.approx(np.mean([one.value for one in groups.values()]))
    same = agree_table(table(), AgreementPlan(("spa",), "system", item="doc", test="none", resampling=FEW)).judgements
    assert next(one for one in same if one.metric == "flat").estimates["spa"].value < 1


def test_repeated_references_are_several_items_of_soft_pairwise_accuracy():
    """A text that occurs twice in a test set is two items; with a field for the item, that decides."""
    chance = np.random.default_rng(8)
    rows = [
        Row(f"{item}{system}", "c", ("Applause",) if item < 3 else (f"r{item}",), system=system, extra={"seg": item})
        for system in "ABC"
        for item in range(10)
    ]
    data = RatedTable(rows, {"human": chance.normal(size=30)}, {"m": chance.normal(size=30)}, {}, {})
    spa = [
        agree_table(data, AgreementPlan(("spa",), "system", test="none", item=item, resampling=FEW))
        .judgements[0]
        .estimates["spa"]
        for item in (None, "seg")
    ]
    assert spa[0].n == spa[1].n == 3
    assert spa[0].value == pytest.approx(spa[1].value, abs=0.1)  # the same tables, signs drawn in another order
    assert spa[0].flags == ()


def test_a_missing_score_costs_a_cell_only_if_asked():
    rows = [Row(str(place), f"text {place}", ("text",), human=place) for place in range(8)]
    theirs = {place: float(place**2) for place in range(8) if place != 3}
    assert len(rate(InMemory(rows), [BERT], {"theirs": theirs}).rows) == 7
    cells = rate(InMemory(rows), [BERT], {"theirs": theirs}, missing="cells")
    assert cells.left_out == {"no score from theirs (cell only)": 1}
    found = {one.metric: one for one in agree_table(cells, AgreementPlan(resampling=FEW)).judgements}
    assert (found["theirs"].estimates["pearson"].n, found[str(BERT)].estimates["pearson"].n) == (7, 8)
    kept = [place for place in range(8) if place != 3]
    expected = stats.pearsonr([place**2 for place in kept], kept)[0]
    assert found["theirs"].estimates["pearson"].value == pytest.approx(expected)
    assert found["theirs"].rank == 1


def test_a_missing_rating_of_one_aspect_costs_that_aspect_only():
    rows = [Row(str(place), "c", ("r",), human={"a": place, "b": None if place > 4 else place}) for place in range(9)]
    theirs = {"theirs": {place: float(place % 4) for place in range(9)}}
    assert len(rate(InMemory(rows), [], theirs).rows) == 5
    cells = rate(InMemory(rows), [], theirs, missing="cells")
    assert cells.left_out == {"no human score for b (cell only)": 4}
    found = agree_table(cells, AgreementPlan(resampling=FEW)).judgements
    assert [one.estimates["pearson"].n for one in found] == [9, 5]


def test_rows_without_a_human_score_or_a_score_are_counted():
    texts = [f"text {place}" for place in range(8)]
    human = [1, 2, None, "4", float("nan"), 6, 7, ""]
    rows = [Row(str(place), text, (text,), human=human[place]) for place, text in enumerate(texts)]
    found = rate(InMemory(rows), [BERT], {"theirs": {0: 1.0, 1: 2.0, 3: 1.0, 5: 5.0}})
    assert found.left_out == {"no human score": 3, "no score from theirs": 1}
    assert [row.id for row in found.rows] == ["0", "1", "3", "5"]
    assert found.human["human"].tolist() == [1, 2, 4, 6]
    assert found.signatures[str(BERT)].startswith("bertscore|")


def test_a_row_that_fails_is_left_out_for_all(minilm):
    rows = [Row(str(place), "word " * (1 + 2000 * (place == 2)), ("word",), human=place) for place in range(5)]
    found = rate(InMemory(rows), [evalign.BERTScore(overlong="error", max_length=50), BERT])
    assert [row.id for row in found.rows] == ["0", "1", "3", "4"]
    assert list(found.left_out.values()) == [1]


def test_lower_is_better_is_turned_round():
    class Lower(evalign.BERTScore):
        higher_is_better = False

    rows = [Row(str(place), "a b c", ("a b d",), human=place) for place in range(3)]
    found = rate(InMemory(rows), [Lower(model="fake")])
    assert (next(iter(found.scores.values())) < 0).all()


@pytest.mark.parametrize(
    ("rows", "error", "said"),
    [
        ([], InputError, "empty"),
        ([Row("a", "x", ("y",))], InputError, "no row has a human score"),
        ([Row("a", "x", ("y",), human="fine")], FileFormatError, "row a: the human score human is 'fine'"),
        ([Row("a", "x", ("y",), human=[1])], FileFormatError, "expected a number"),
        ([Row("a", "x", ("y",), human=10**400)], FileFormatError, "expected a number"),
    ],
)
def test_bad_ratings(rows, error, said):
    with pytest.raises(error, match=said):
        rate(InMemory(rows), [BERT])


def test_columns_of_the_same_name_are_refused():
    rows = [Row(str(place), "x", ("y",), human=place) for place in range(6)]
    with pytest.raises(SpecError, match="two columns are called rouge1"):
        rate(InMemory(rows), [evalign.metric("rouge1")], {"rouge1": dict.fromkeys(range(6), 1.0)})


def test_too_few_rows_to_judge():
    rows = [Row(str(place), "x", ("y",), human=place) for place in range(2)]
    with pytest.raises(InputError, match="at least 3 rows"):
        agree_table(rate(InMemory(rows), [BERT]), AgreementPlan())


def test_a_group_of_one_is_flagged():
    data = table(9)
    rows = [Row(row.id, "c", ("r",), extra={"lp": "alone" if row.id == "0" else "many"}) for row in data.rows]
    found = agree_table(RatedTable(rows, data.human, data.scores, {}, {}), AgreementPlan(within="lp", resampling=FEW))
    assert found.judgements[0].groups["pearson"]["alone"].value is None
    assert "1 groups without a value" in found.judgements[0].estimates["pearson"].flags[0]


def test_better_before_worse():
    better = [Row(str(place), "the cat sat", ("the cat sat",)) for place in range(4)]
    worse = [Row(str(place), "the dog ran" if place else "the cat sat", ("the cat sat",)) for place in range(4)]
    tables = rate_pairs(InMemory(better), InMemory(worse), [BERT])
    found = agree_pairs(*tables, AgreementPlan(statistics=("darr",), test="none", resampling=FEW))
    assert found.judgements[0].estimates["darr"].value == pytest.approx((3 - 1) / 4)  # a tie counts against


def test_metrics_without_a_common_group_share_a_rank():
    rows = [Row(str(place), "c", ("r",), extra={"g": "ab"[place > 2]}) for place in range(6)]
    scores = {"m1": np.array([1.0, 2, 4, 1, 1, 1]), "m2": np.array([1.0, 1, 1, 2, 1, 4])}
    data = RatedTable(rows, {"human": np.array([1.0, 3, 2, 1, 2, 3])}, scores, {}, {})
    judged = agree_table(data, AgreementPlan(within="g", resampling=FEW))
    assert [judgement.rank for judgement in judged.judgements] == [1, 1]
