"""`evalign explain -m rouge --all`: every variant ends at its metric's own numbers, as text and as a page."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import evalign
from evalign.core.registry import metric_names
from evalign.render.explain.rouge_lessons import VARIANTS, lessons_html, lessons_text, teach

PAIR = ("The storm closed two schools. Nobody was hurt.", "Nobody was hurt. Two schools were closed by the storm.")
TEXTS = {
    "sentences": PAIR,
    "one word": ("alpha", "alpha"),
    "nothing in common": ("alpha beta", "gamma delta"),
    "empty": ("", "alpha"),
    "hostile": ("<script>alert(1)</script> [bold]a[/] \x1b[31m b\u202e", "[bold]a[/] b"),
}


def drawn(lessons) -> str:
    out = io.StringIO()
    Console(file=out, width=160, color_system=None).print(lessons_text(lessons))
    return out.getvalue()


def test_every_variant_is_taught() -> None:
    family = [name for name in metric_names() if name.startswith("rouge") or name == "lcsr"]
    assert sorted({variant.name for variant in VARIANTS}) == sorted(family)


@pytest.mark.parametrize("options", [{}, {"mode": "rouge155"}, {"stem": "true", "beta": "P/R", "weight": "2"}], ids=str)
@pytest.mark.parametrize("name", TEXTS)
def test_lessons_end_at_the_metrics_numbers(name: str, options: dict[str, str]) -> None:
    lessons = teach(options, *TEXTS[name])
    assert len(lessons.lessons) == len(VARIANTS) - (3 if "mode" in options else 0)
    for lesson in lessons.lessons:
        report = evalign.metric(lesson.spec).score([TEXTS[name][0]], [TEXTS[name][1]])
        wanted = {field: float(report[field][0]) for field in lesson.scores}
        assert lesson.scores == pytest.approx(wanted, abs=1e-12)
        ends = [re.search(r"= (\d\.\d{5})$", step)[1] for step in lesson.arithmetic]
        assert ends == ([f"{value:.5f}" for value in wanted.values()] if name != "empty" else [])
    text, page = drawn(lessons), lessons_html(lessons)
    for lesson in lessons.lessons:
        assert lesson.spec in text
        assert lesson.spec in page
    assert "\x1b" not in text + page
    assert "\u202e" not in text + page
    assert "<script" not in page


def test_what_is_counted() -> None:
    text = drawn(teach({}, *PAIR))
    for line in (
        "in both: the storm, two schools, nobody was, was hurt; 4 in all",
        "in both, in this order: nobody, was, hurt",
        "LCSR = 3 / max(8, 10) = 0.30000",
        "of each reference sentence: nobody was hurt; two schools",
        "best partners: 3 + 2 words of the reference, 2 + 3 of the candidate",
        "f(k) = 2k-1; runs of 3 words, total 5.0000",
        "R = ((5.0000 + 1) / 2) / 10 = 0.30000",
        "rouge5: the texts have no shorter n-grams in common",
    ):
        assert line in text


def test_the_command_writes_text_or_a_page(run, tmp_path) -> None:
    assert "rougeW(weight=2k-1)" in run("explain", *PAIR, "-m", "rouge", "--all").stdout
    file = tmp_path / "rouge.html"
    done = run("explain", *PAIR, "-m", "rouge(stem=true)", "--all", "--html", str(file))
    assert (done.returncode, done.stderr.strip()) == (0, f"{file}: written")
    assert "rougeMEAD(stem=true)" in file.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ((*PAIR, "-m", "rougeL", "--all"), "expected -m rouge"),
        ((*PAIR, "-m", "rouge1(multiref=pooled)", "--all"), "for rouge1 alone leave out --all"),
        ((*PAIR, "-m", "rouge(multiref=pooled)", "--all"), "lcsr does not accept this (multiref=pooled"),
        ((PAIR[0], "-m", "rouge", "--all"), "give a second text"),
        ((*PAIR, "-m", "rouge(skp=1)", "--all"), "skip"),
        ((*PAIR, "-m", "rouge(weight=k-2)", "--all"), "a above b"),
        ((*PAIR, "-m", "rouge", "--all", "--source-text", "a source"), "leave out --source-text"),
        ((*PAIR, "-m", "rouge"), "--all"),
        ((*PAIR, "-m", "rougeLsum(sentences=paragraphs)"), "sentences=paragraphs"),
        ((*PAIR, "-m", "rouge1(multiref=max-recal)"), "max-recall"),
        ((*PAIR, "-m", "rougeW(weight=2k)"), "such as 2k-1"),
        ((*PAIR, "-m", "lcsr(multiref=pooled)"), "best, mean"),
    ],
)  # fmt: skip
def test_bad_input_is_answered_with_a_sentence(run, arguments: tuple[str, ...], advice: str) -> None:
    done = run("explain", *arguments)
    assert done.returncode == 2
    assert advice in done.stderr
    assert done.stdout == ""
