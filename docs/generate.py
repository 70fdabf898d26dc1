"""Write the generated pages: reference, metric cards, code figures. A test fails when they are stale."""

from __future__ import annotations

from pathlib import Path

from code_figures import architecture_page
from metric_cards import card_pages
from reference_pages import cli_page, http_page, python_page

DOCS = Path(__file__).resolve().parent


def pages() -> dict[str, str]:
    """Return path below docs/ -> text."""
    reference = {"cli.md": cli_page(), "http.md": http_page(), "python.md": python_page()}
    generated = {f"reference/{name}": text for name, text in reference.items()} | card_pages()
    return generated | {"architecture.md": architecture_page()}


if __name__ == "__main__":
    for path, text in pages().items():
        (DOCS / path).write_text(text, "utf-8")
    print(f"{len(pages())} pages written")
