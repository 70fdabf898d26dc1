"""The last line of a test run: what was skipped, and why."""

from skip_summary import not_checked


def test_reasons_are_grouped_and_counted():
    reasons = ["Skipped: no Java", "Skipped: no ../shared", "Skipped: no ../shared", "unconditional skip"]
    assert not_checked(reasons) == (
        "Not checked here: 2 tests (no ../shared); 1 test (no Java); 1 test (unconditional skip)."
    )


def test_a_run_without_skips_says_so():
    assert not_checked([]) == "Not checked here: nothing. No test was skipped."


def test_a_reason_of_several_lines_stays_in_one_line():
    assert "\n" not in not_checked(["Skipped: no browser:\n  cannot start"])
