"""Parts of HTML pages without scripts: escaped text, tables that scroll, figures, sections and the whole page.

In: texts from anywhere, SVG of matplotlib, and HTML made here. Out: pages that need no other file, in light and dark,
printable; pictures are labelled for screen readers and take the page's colours.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from xml.etree import ElementTree

from evalign.render.figures import GRID, INK
from evalign.render.tables import showable
from evalign.version import __version__

PAGE_COLOURS = {INK: "currentColor", GRID: "var(--grid)"}  # they change with the page between light and dark
FONT = "DejaVu Sans, Verdana, sans-serif"  # Verdana is as wide, so labels keep their positions where DejaVu is missing


def text(value: str) -> str:
    """Escape a text for content and attributes; characters not allowed in HTML become U+FFFD, line breaks spaces."""
    return html.escape(showable(value), quote=True)


def html_document(title: str, head: str, body: str) -> str:
    """Return an HTML document; `head` and `body` are HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{text(title)}</title>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def page(title: str, style: str, sections: Iterable[tuple[str, str]], content: str) -> str:
    """Return a report page.

    Args:
        title: Title and heading.
        style: CSS added to the style sheet of all reports.
        sections: Id and title of the sections in the navigation.
        content: HTML of all sections.
    """
    links = "".join(f'<li><a href="#{name}">{text(heading)}</a></li>' for name, heading in sections)
    header = f'<header><h1>{text(title)}</h1>\n<nav aria-label="Contents"><ul>{links}</ul></nav></header>'
    body = f"{header}\n<main>\n{content}</main>\n<footer>evalign {text(__version__)}</footer>"
    return html_document(title, f"<style>\n{report_style()}{style}</style>", body)


def section(name: str, title: str, content: str) -> str:
    """Return a section below a heading; `name` is its id."""
    heading = f'<h2 id="{name}-h">{text(title)}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-h">{heading}\n{content}</section>\n'


def figure(name: str, label: str, svg: str, caption: str, more: str = "") -> str:
    """Return an SVG as a figure; `name` prefixes its ids, `more` is HTML after the caption."""
    return (
        f"<figure>{_scrolling(label)}{inline_svg(svg, name, caption)}</div>\n"
        f"<figcaption>{text(caption)}{more}</figcaption></figure>\n"
    )


def paragraphs(sentences: Iterable[str]) -> str:
    """Return one paragraph per sentence."""
    return "".join(f"<p>{text(sentence)}</p>\n" for sentence in sentences)


def items(sentences: Iterable[str]) -> str:
    """Return one list item per sentence."""
    return "".join(f"<li>{text(sentence)}</li>\n" for sentence in sentences)


def table(caption: str, columns: Sequence[str], lines: Iterable[tuple[str, Sequence[str]]], head: int = 0) -> str:
    """Return a table of texts; each line is a CSS class and its cells, of which cell `head` is the row header."""
    header = "".join(
        f'<th scope="col"{" class=name" if index == head else ""}>{text(column)}</th>'
        for index, column in enumerate(columns)
    )
    body = "".join(
        f'<tr class="{css_class}">'
        + "".join(
            f'<th scope="row"><bdi>{text(cell)}</bdi></th>' if index == head else f"<td>{text(cell)}</td>"
            for index, cell in enumerate(cells)
        )
        + "</tr>\n"
        for css_class, cells in lines
    )
    return (
        f"{_scrolling(caption)}<table><caption>{text(caption)}"
        f"</caption>\n<thead><tr>{header}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


@cache
def report_style() -> str:
    """Return the style sheet of all reports."""
    return resources.files("evalign.render").joinpath("report.css").read_text("utf-8")


def _scrolling(label: str) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}">'


def inline_svg(svg: str, name: str, label: str) -> str:
    """Prepare an SVG for a page: `name` prefixes its ids, `label` is its text for screen readers."""
    root = ElementTree.fromstring(svg)
    links = root.findall(".//{*}a")
    root.set("role", "group" if links else "img")  # an image has no links
    for link in links:  # for the pointer only; their targets are reachable without them
        link.attrib.pop("target", None)
        link.attrib |= {"tabindex": "-1", "aria-hidden": "true"}
    root.set("aria-label", showable(label))
    width = float(root.attrib.pop("width").removesuffix("pt")) * 4 / 3
    root.attrib.pop("height")
    root.set("style", f"width:{width:.0f}px")
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) == "metadata"]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        prefix = "" if element.tag == "a" else name  # links point into the page, references into the picture
        attributes = {_local(key): _attribute(_local(key), value, prefix) for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update(attributes)
    background = root.find(".//*[@id='" + name + "-patch_1']")
    if background is not None:
        background.clear()  # the page's own background shows
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href" and name:
        return f"#{name}-{value.removeprefix('#')}"
    if key not in ("style", "clip-path", "fill", "stroke"):
        return value
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    for colour, page_colour in PAGE_COLOURS.items():
        value = value.replace(colour, page_colour)
    return value.replace("'DejaVu Sans'", FONT)
