"""The ledger of claims: verdicts follow from intervals and bounds, and can be recomputed from its CSV file."""

import csv

import pytest

from evalign.render.tables import TextTable
from evalign.research.studies.page import (
    FAILS,
    HOLDS,
    UNTESTED,
    Claim,
    Measured,
    StudyPage,
    Untestable,
    counted,
    judge,
    ledger,
    save_study,
)


def judged(measured, lacking="nothing was measured", note=""):
    return judge(Claim("L0", "one thing is larger than another", lambda study: study, lacking, note), measured)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        ([Measured("difference", 0.2, 0.1, 0.3, above=0)], HOLDS),
        ([Measured("difference", 0.2, -0.1, 0.5, above=0)], UNTESTED),
        ([Measured("difference", -0.2, -0.3, -0.1, above=0)], FAILS),
        ([Measured("difference", -0.2, -0.3, -0.1, below=0)], HOLDS),
        ([Measured("best", 7, 6, 8, above=5, below=9)], HOLDS),
        ([Measured("best", 7, 6, 9, above=5, below=9)], UNTESTED),
        ([Measured("best", 10, 9, 11, above=5, below=9)], FAILS),
        ([counted("share", 1.0, above=0.5)], HOLDS),
        ([counted("share", 0.5, above=0.5)], FAILS),
        ([Measured("a", 0.2, 0.1, 0.3, above=0), Measured("b", 0.2, -0.1, 0.3, above=0)], UNTESTED),
        ([Measured("a", 0.2, -0.1, 0.3, above=0), Measured("b", -0.2, -0.3, 0, above=0)], FAILS),
        ([Measured("a", 0.2, None, None, above=0)], UNTESTED),
        ([], UNTESTED),
    ],
)
def test_verdicts_follow_from_intervals(measured, verdict):
    assert judged(measured, "no data").verdict == verdict


def test_the_reason_names_the_number_that_failed():
    found = judged([Measured("a", 0.2, 0.1, 0.3, above=0), Measured("b", 0.2, -0.1, 0.3, above=0)], note="Few rows")
    assert found.why == "b is not sure to be above 0. Few rows"
    refuted = judged([Measured("a", 0.2, -0.1, 0.3, above=0), Measured("b", -0.2, -0.3, -0.1, above=0)])
    assert refuted.why == "b is not above 0"
    assert judged([], "no German model").why == "no German model"


def test_a_measurement_may_say_itself_why_it_cannot_be_made():
    def measure(study):
        yield counted("rows", 1.0, above=0)
        raise Untestable("one model only")

    finding = judge(Claim("L0", "models differ", measure, "no data", "Few rows"), None)
    assert (finding.verdict, finding.measured, finding.why) == (UNTESTED, (), "one model only")


def test_the_ledger_opens_page_and_report_and_its_numbers_are_a_file(tmp_path):
    findings = [judged([Measured("difference", 0.25, 0.125, 0.5, above=0)]), judged([], "no data")]
    summary = TextTable("Summary", ("a", "b"), (("x", "1"),))
    save_study(StudyPage("A study", ("About.",), summary, (), claims=ledger(findings)), tmp_path / "out")
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    for text in (report, page):
        assert text.index("one thing is larger") < text.index("Summary")
        assert "Of 2 claims here: 1 hold, 0 do not, 1 cannot be tested." in text
    with (tmp_path / "out" / "ledger.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert [line["verdict"] for line in lines] == [HOLDS, UNTESTED]
    assert float(lines[0]["low"]) > float(lines[0]["above"])
    assert lines[1]["measured"] == ""
