"""The HTML report and the plots of `evalign agree`: one whole file, hostile texts stay texts, same input same bytes."""

import csv
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from evalign import metric
from evalign.analysis.agreement import Agreement, AgreementPlan, MetricAgreement, agree_table
from evalign.analysis.rated_tables import human_percentiles, largest_disagreements, percentiles, rate
from evalign.core import Row
from evalign.io.rows import InMemory
from evalign.render.agreement.html import agreement_html
from evalign.render.agreement.pictures import pictures, save_pictures
from evalign.stats.bootstrap import Resampling
from evalign.stats.estimate import Estimate

pytest.importorskip("matplotlib", reason="plots need the extra 'plots'")

SPECS = ("bertscore(model=fake)", "lisascore(model=fake)", "moverscore(model=fake)")
WORDS = ("the", "cat", "sat", "on", "a", "mat", "while", "dogs", "bark", "at", "red", "trees", "near", "old", "houses")
HOSTILE = "</script><img src=x onerror=alert(1)>\"'& \x00\x1b[31m \ud800 \u202eabc $x_1$ \uffff"
VOID = {"meta", "br", "img"}


def sentence(rng, length):
    return " ".join(rng.choice(WORDS, length))


def rows(count, hostile=False, aspects=None, references=1):
    rng = np.random.default_rng(7)
    made = []
    for place in range(count):
        reference = sentence(rng, int(rng.integers(3, 20)))
        kept = rng.random()
        candidate = " ".join(word if rng.random() < kept else str(rng.choice(WORDS)) for word in reference.split())
        rating = round(kept + rng.normal() / 10, 3)
        human = rating if aspects is None else dict.fromkeys(aspects, rating + place % 3)
        others = tuple(sentence(rng, 6) for _ in range(references - 1))
        extra = {"lp": f"group{place % 3}"}
        name = f"r{place}"
        if hostile:
            candidate, reference, name = candidate + HOSTILE, HOSTILE + reference, name + HOSTILE
            extra = {"lp": f"{HOSTILE}{place % 3}"}
        made.append(Row(name, candidate, (*others, reference), system=f"s{place % 4}", human=human, extra=extra))
    return made


def judged(table_rows, specs=SPECS[:2], others=None, **plan):
    metrics = [metric(spec) for spec in specs]
    table = rate(InMemory(table_rows), metrics, others)
    return agree_table(table, AgreementPlan(resampling=Resampling(20), **plan)), metrics


class Page(HTMLParser):
    """Checks that tags are balanced and collects what matters."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.links, self.ids, self.headings, self.words = [], [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        assert len(given) == len(attributes), f"an attribute is given twice: {attributes}"
        assert not [name for name in given if name.startswith("on")]
        self.tags.append((tag, given))
        self.links += [given[name] for name in ("href", "src", "xlink:href", "action", "data") if name in given]
        self.ids += [given["id"]] if "id" in given else []
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def check_page(text):
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "img", "image", "link", "iframe", "object", "embed", "base", "form"})
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert len(set(page.ids)) == len(page.ids)
    assert not re.search(r"https?://|@import|url\((?!#)|data:", text)
    assert page.headings[0] == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert page.tags[0] == ("html", {"lang": "en"})
    assert all(given.get("scope") in ("row", "col") for tag, given in page.tags if tag == "th")
    assert all(given["role"] in ("img", "group") and given["aria-label"] for tag, given in page.tags if tag == "svg")
    assert sum(tag == "figure" for tag, _ in page.tags) == sum(tag == "figcaption" for tag, _ in page.tags)
    text.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ufffe\uffff]", text)
    return page


CASES = {
    "plain": ({}, {}),
    "groups": ({}, {"within": "lp"}),
    "system": ({}, {"level": "system"}),
    "aspects": ({"aspects": ("coherence", "<b>&"), "references": 3}, {"document": "lp"}),
    "hostile": ({"hostile": True, "aspects": (HOSTILE, "b")}, {"within": "lp"}),
    "no test": ({}, {"test": "none", "statistics": ("spearman",)}),
}


@pytest.mark.parametrize(
    "case", [case if case == "hostile" else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_the_page_is_whole_and_its_texts_are_texts(case):
    data, plan = CASES[case]
    agreement, metrics = judged(rows(40, **data), **plan)
    text = agreement_html(agreement, metrics)
    page = check_page(text)
    figures = [given["aria-label"] for tag, given in page.tags if tag == "svg"]
    assert len(figures) == len(pictures(agreement)) == 2 + 3 * len(agreement.aspects)
    assert any(given.get("class") == "tokens" for _, given in page.tags)
    for signature in agreement.table.signatures.values():
        assert signature in text


@pytest.mark.slow
def test_the_same_judgements_are_the_same_bytes():
    first, metrics = judged(rows(40), within="lp")
    second, _ = judged(rows(40), within="lp")
    assert agreement_html(first, metrics) == agreement_html(second, metrics)


def test_hostile_texts_appear_as_they_were_written():
    agreement, metrics = judged(rows(12, hostile=True), SPECS[:1])
    words = "".join(check_page(agreement_html(agreement, metrics)).words)
    assert "</script><img src=x onerror=alert(1)>" in words
    assert "$x_1$" in words


def test_scores_from_files_need_no_metric():
    table_rows = rows(30)
    files = {f'comet"<{place}>': {row: float(np.sin(row * place)) for row in range(30)} for place in (1, 2)}
    agreement, metrics = judged(table_rows, (), files)
    text = agreement_html(agreement, metrics)
    assert not any(given.get("class") == "tokens" for _, given in check_page(text).tags)
    assert "scores from a file" in text
    for one in largest_disagreements(agreement.table, 'comet"<1>'):
        assert one.row.candidate in text


def test_the_summary_names_the_best_cluster():
    agreement, metrics = judged(rows(60), SPECS)
    words = " ".join("".join(check_page(agreement_html(agreement, metrics)).words).split())
    best = agreement.judgements[0]
    assert f"{best.metric} agrees best with people (pearson {best.estimates['pearson'].value:.3f}" in words
    equal = [one.metric for one in agreement.judgements[1:] if one.rank == 1]
    said = f"Not significantly different (permutation test): {', '.join(equal)}." if equal else "significantly better"
    assert said in words


def test_a_metric_without_a_value_and_pairs_without_ratings_have_a_page():
    constant = dict.fromkeys(range(20), 0.5)
    agreement, metrics = judged(rows(20), SPECS[:1], {"constant": constant})
    assert "no value" in agreement_html(agreement, metrics)
    check_page(agreement_html(agreement, metrics))
    table = rate(InMemory(rows(20)), metrics)
    pairs = type(table)(table.rows, {}, table.scores, table.signatures, {})
    estimate = Estimate(0.4, 20, 0.3, 0.5)
    found = Agreement(
        AgreementPlan(statistics=("darr",), test="none"),
        pairs,
        [MetricAgreement("better", SPECS[0], {"darr": estimate}, {}, None)],
        {},
    )
    page = check_page(agreement_html(found, metrics))
    assert sum(tag == "svg" for tag, _ in page.tags) == 1


def test_places_and_the_worst_rows():
    assert percentiles(np.array([3.0, 1.0, 2.0, 2.0])).tolist() == [100, 0, 50, 50]
    assert percentiles(np.array([3.0])).tolist() == [50]
    agreement, _ = judged(rows(30), SPECS[:1])
    table = agreement.table
    apart = percentiles(table.scores[SPECS[0]]) - human_percentiles(table)
    found = largest_disagreements(table, SPECS[0])
    assert [one.overrated for one in found] == [True] * 3 + [False] * 3
    assert found[0].metric_percentile - found[0].human_percentile == pytest.approx(apart.max())
    assert found[3].metric_percentile - found[3].human_percentile == pytest.approx(apart.min())
    same = type(table)(table.rows, {"human": table.scores[SPECS[0]]}, table.scores, table.signatures, {})
    assert largest_disagreements(same, SPECS[0]) == []


@pytest.mark.slow
def test_every_plot_is_saved_twice_with_its_numbers(tmp_path):
    agreement, _ = judged(rows(40, hostile=True, aspects=("a/../b", "a/.. b")), within="lp")
    written = save_pictures(agreement, tmp_path / "plots")
    assert len(written) == 3 * len(pictures(agreement))
    assert sorted(written) == sorted((tmp_path / "plots").iterdir())  # nothing elsewhere, no parts left
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        elif path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            with path.open(encoding="utf-8", newline="") as stream:
                header, *lines = csv.reader(stream)
            assert lines
            assert all(len(line) == len(header) for line in lines)
    before = {path: path.read_bytes() for path in written}
    save_pictures(agreement, tmp_path / "plots")
    assert before == {path: path.read_bytes() for path in written}


def test_the_numbers_behind_the_main_picture_are_those_of_the_table(tmp_path):
    agreement, _ = judged(rows(40))
    save_pictures(agreement, tmp_path)
    with (tmp_path / "forest.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["metric"] for line in lines] == [one.metric for one in agreement.judgements]
    for line, one in zip(lines, agreement.judgements, strict=True):
        assert float(line["pearson"]) == pytest.approx(one.estimates["pearson"].value, abs=1e-5)
