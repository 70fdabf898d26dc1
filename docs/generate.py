"""Writes the pages that list what is there: reference and metric cards. A test fails when they are stale."""

from __future__ import annotations

from pathlib import Path

from metric_cards import card_pages
from reference_pages import cli_page, http_page, python_page

DOCS = Path(__file__).resolve().parent


def pages() -> dict[str, str]:
    """Path below docs/ -> text."""
    reference = {"cli.md": cli_page(), "http.md": http_page(), "python.md": python_page()}
    return {f"reference/{name}": text for name, text in reference.items()} | card_pages()


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, "utf-8")
    print(f"{len(pages())} pages written")
