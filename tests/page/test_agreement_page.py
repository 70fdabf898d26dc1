"""The report of `evalign agree` in a browser: a point of a scatter plot leads to its row."""

import pytest
from corpus_samples import synthetic_rows

from evalign.analysis.agreement import AgreementPlan, agree_table
from evalign.analysis.rated_tables import rate
from evalign.core.registry import metric
from evalign.io.rows import InMemory
from evalign.render.agreement.html import agreement_html
from evalign.render.agreement.pictures import pictures
from evalign.stats.bootstrap import Resampling

pytest.importorskip("matplotlib", reason="plots need the extra 'plots'")


def judged(rows, specs, **plan):
    metrics = [metric(spec) for spec in specs]
    return agree_table(
        rate(InMemory(rows), metrics), AgreementPlan(resampling=Resampling(20), test="none", **plan)
    ), metrics


def test_a_point_leads_to_its_row(tmp_path, open_page, axe):
    rows = synthetic_rows(6, 2, rated=True)
    agreement, metrics = judged(rows, ["rougeL", "ter"])
    (tmp_path / "meta.html").write_text(agreement_html(agreement, metrics), "utf-8")
    page = open_page(tmp_path / "meta.html")
    links = page.locator("#scatter svg a")
    assert links.count() == len(rows) * len(metrics)
    entries = page.locator(".rows > li")
    assert entries.count() == len(rows)
    for panel, place in ((0, 3), (1, 8)):
        link = page.locator(f"#scatter svg a[href='#row-{place + 1}']").nth(panel)
        link.scroll_into_view_if_needed()
        box = link.bounding_box()
        at = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        drawn_last = page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('a').getAttribute('href')", at)
        page.mouse.click(*at)
        place = int(drawn_last.removeprefix("#row-")) - 1  # of points that lie on each other, the one on top
        target = page.locator(":target")
        words = target.inner_text()
        assert words.startswith(f"Row {rows[place].id}, system {rows[place].system}")
        assert rows[place].candidate in words
        assert rows[place].references[0] in words
        assert f"people {rows[place].human:.4g}" in words
        values = [one.scorer().score([rows[place]])[0].scores[one.main] for one in metrics]
        assert all(f"{one} {value:.4f}" in words for one, value in zip(metrics, values, strict=True))
        shown = target.bounding_box()
        assert -1 <= shown["y"] < 900
        assert target.evaluate("(row) => getComputedStyle(row).outlineStyle") == "solid"
    assert axe(page) == []
    page.locator(":target a").click()
    assert page.url.endswith("#scatter")
    assert page.problems == []


def test_systems_and_hexagons_lead_nowhere_and_files_have_no_links(tmp_path):
    rows = synthetic_rows(6, 3, rated=True)
    agreement, metrics = judged(rows, ["rougeL"], level="system")
    text = agreement_html(agreement, metrics)
    assert "one point per system;" in text
    assert "#row-1" not in text
    assert 'id="rows"' not in text
    agreement, metrics = judged(rows, ["rougeL"])
    (scatter,) = [picture for picture in pictures(agreement) if picture.section == "scatter"]
    assert scatter.drawing.svg.count("#row-") == len(rows)
    saved = scatter.drawing.save(tmp_path, "scatter")[1].read_text()
    assert "<a " not in saved
    assert "</a>" not in saved
    assert saved.count("<use") == scatter.drawing.svg.count("<use")
