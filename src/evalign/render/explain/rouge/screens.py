"""ROUGE on one screen: one metric's words, hits and fractions, or the lessons of every variant, also as a page."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from evalign.metrics.lexical.lcsr import LCSR
from evalign.metrics.lexical.rouge import lcs
from evalign.metrics.lexical.rouge.reading import Reading
from evalign.metrics.lexical.rouge.scoring import Rouge
from evalign.render import html
from evalign.render.explain.parts import ending, heading, line, more_line, score_pair, terms_table
from evalign.render.explain.rouge.lessons import Lessons
from evalign.render.explain.rouge.steps import Pair, f_fraction, lcs_path, precision_and_recall, read_pair, steps
from evalign.render.tables import signature_line

SHOWN_WORDS = 80
FIELDS = ("precision", "recall", "f1", "score")
IDLE = "shorter n-grams have nothing in common, so these have not either: 0"
TITLE = "Every ROUGE variant on one pair"


def explain_rouge(metric: Rouge, candidate: str, reference: str) -> RenderableType:
    """Tokens, hits, and the way from hits to precision, recall and F, which are those the metric gives."""
    report = metric.score([candidate], [reference])
    scores, flags = report.segments[0].scores, report.segments[0].flags
    pair = read_pair(metric, candidate, reference)
    own, other = pair.candidate, pair.reference
    parts = word_lines(pair)
    if flags:
        parts.append(line(f"flags: {', '.join(flags)}", "bold dark_orange"))
    if own.letters and other.letters:
        parts += [*steps(metric, pair), *_arithmetic(metric, pair, scores["f1"])]
    parts += [heading("The score"), line("   ".join(f"{name} {value:.5f}" for name, value in scores.items()))]
    return Group(*parts, signature_line(report.signature))


def explain_lcsr(metric: LCSR, candidate: str, reference: str) -> RenderableType:
    """The common subsequence, and its length by that of the longer text."""
    scorer, segment = score_pair(metric, candidate, reference)
    pair = read_pair(metric, candidate, reference)
    own, other = pair.candidate, pair.reference
    parts = word_lines(pair)
    if own.letters and other.letters:
        lengths = len(own.letters), len(other.letters)
        (hits,) = lcs.lcs_lengths([own.letters], [other.letters])
        parts += [
            heading("2. Longest common subsequence: reference down, candidate across"),
            *lcs_path(pair, 1, lcs.lcs_cells),
            heading("3. By the longer text"),
            line(f"LCSR = {hits} / max({lengths[0]}, {lengths[1]}) = {segment.scores['score']:.5f}"),
        ]
    return Group(*parts, *ending(metric, segment, scorer.signature))


def word_lines(pair: Pair) -> list[RenderableType]:
    """The words of both texts, below a heading."""
    return [heading("1. Words"), *_words("candidate", pair.candidate, pair), *_words("reference", pair.reference, pair)]


def _words(name: str, reading: Reading, pair: Pair) -> list[RenderableType]:
    """The words of one side as they are compared: one line per sentence, the first ones of a long text."""
    lines = [line(f"{name}: {len(reading.letters)} words", "dim")]
    left = SHOWN_WORDS
    for sentence in reading.sentences:
        if left <= 0:
            break
        lines.append(line("   " + pair.text(sentence[:left])))
        left -= len(sentence)
    return [*lines, *more_line(len(reading.letters), SHOWN_WORDS, "   ")]


def _arithmetic(metric: Rouge, pair: Pair, f: float) -> list[RenderableType]:
    """Precision and recall as fractions, and F with its numbers."""
    precision, recall = precision_and_recall(metric, pair)
    return [
        heading(f"3. Shares{', rounded to five places' if metric.mode == 'rouge155' else ''}"),
        line(f"P = {precision.fraction} = {precision.value:.5f}"),
        line(f"R = {recall.fraction} = {recall.value:.5f}"),
        heading("4. F, which weighs both"),
        line(f"F = {f_fraction(metric, precision.value, recall.value)} = {f:.5f}"),
    ]


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
    sections.append(("scores", "All of them", scores + html.paragraphs(_missing(lessons))))
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
