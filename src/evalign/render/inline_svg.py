"""An SVG made by matplotlib, as a part of an HTML page: with a label for screen readers, in the page's colours.

In: SVG text. Out: an `<svg>` element without namespaces, whose ids cannot meet those of other pictures on the page.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from evalign.render.figures import GRID, INK
from evalign.render.labels import showable

PAGE_COLOURS = {INK: "currentColor", GRID: "var(--grid)"}  # they change with the page between light and dark
FONT = "DejaVu Sans, Verdana, sans-serif"  # Verdana is as wide, so labels keep their places where DejaVu is missing


def inline_svg(svg: str, name: str, label: str) -> str:
    """`name` begins all ids; `label` is read out instead of the picture."""
    root = ElementTree.fromstring(svg)
    root.set("role", "img")
    root.set("aria-label", showable(label))
    width = float(root.attrib.pop("width").removesuffix("pt")) * 4 / 3
    root.attrib.pop("height")
    root.set("style", f"width:{width:.0f}px")
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) == "metadata"]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        attributes = {_local(key): _attribute(_local(key), value, name) for key, value in element.attrib.items()}
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
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    if key not in ("style", "clip-path", "fill", "stroke"):
        return value
    value = re.sub(r"url\(#", f"url(#{name}-", value)
    for colour, page_colour in PAGE_COLOURS.items():
        value = value.replace(colour, page_colour)
    return value.replace("'DejaVu Sans'", FONT)
