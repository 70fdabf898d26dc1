"""Draws the lessons of every ROUGE variant: for the terminal, or as a page that needs no other file."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.render import html
from evalign.render.explain.parts import heading, line, terms_table
from evalign.render.explain.rouge.lessons import Lessons

FIELDS = ("precision", "recall", "f1", "score")
IDLE = "shorter n-grams have nothing in common, so these have not either: 0"
TITLE = "Every ROUGE variant on one pair"


def lessons_text(lessons: Lessons) -> RenderableType:
    """Sentences, one block per variant, and all scores as a table."""
    parts: list[RenderableType] = [Text(TITLE, style="bold")]
    for name, sentences in lessons.sentences.items():
        parts.append(line(f"{name}: {len(sentences)} sentence{'' if len(sentences) == 1 else 's'}", "dim"))
        parts += [line(f"   {sentence}") for sentence in sentences]
    for lesson in lessons.lessons:
        if lesson.brief:
            parts.append(line(f"{lesson.spec}: {IDLE}", "dim"))
            continue
        parts += [heading(lesson.spec), line(lesson.adds, "cyan"), line(lesson.formula, "dim"), line(lesson.counted)]
        parts += [line(step) for step in lesson.arithmetic]
    parts += [heading("All of them"), terms_table(("variant", *FIELDS), _rows(lessons))]
    return Group(*parts, *(Text(f"\n{sentence}", style="dim") for sentence in _missing(lessons)))


def lessons_html(lessons: Lessons) -> str:
    """The same as an HTML page."""
    texts = "".join(
        f"<h3>{name}</h3>\n<ol>{html.items(sentences)}</ol>\n" for name, sentences in lessons.sentences.items()
    )
    rows = [("", cells) for cells in _rows(lessons)]
    scores = html.table("Scores", ("variant", *FIELDS), rows)
    sections = [("texts", "The texts, by sentence", texts)]
    for number, lesson in enumerate(lessons.lessons, 1):
        steps = "".join(f"<dd>{html.text(step)}</dd>\n" for step in (lesson.counted, *lesson.arithmetic))
        content = f"<p>{html.text(lesson.adds)}</p>\n<dl><dt>{html.text(lesson.formula)}</dt>\n{steps}</dl>\n"
        if lesson.brief:
            content = f"<p>{html.text(IDLE)}</p>\n"
        sections.append((f"variant{number}", lesson.spec, content))
    missing = "".join(f"<p>{html.text(sentence)}</p>\n" for sentence in _missing(lessons))
    sections.append(("scores", "All of them", scores + missing))
    body = "".join(html.section(*section) for section in sections)
    return html.page(TITLE, "", [(name, title) for name, title, _ in sections], body)


def _rows(lessons: Lessons) -> list[list[str]]:
    return [
        [lesson.spec, *(f"{lesson.scores[field]:.5f}" if field in lesson.scores else "" for field in FIELDS)]
        for lesson in lessons.lessons
    ]


def _missing(lessons: Lessons) -> list[str]:
    if not lessons.missing:
        return []
    return [f"ROUGE-1.5.5 has no {', no '.join(lessons.missing)}: see them without mode=rouge155."]
