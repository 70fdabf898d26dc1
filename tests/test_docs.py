"""What the docs promise exists: links, commands and metrics."""

import re
from pathlib import Path

import pytest

from evalign.cli.main import COMMANDS
from evalign.metrics.registry import GROUPS, METRICS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"evalign {command}" in readme


@pytest.mark.parametrize("name", [*METRICS, *GROUPS])
def test_every_metric_is_documented(name):
    text = " ".join(page.read_text("utf-8") for page in PAGES)
    assert f"`{name}`" in text or re.search(r"rouge[2-8]$", name)  # `rouge1` … `rouge9`
