"""What the docs promise exists: links, commands and metrics."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from evalign.cli.main import COMMANDS
from evalign.metrics.registry import GROUPS, METRICS
from evalign.version import __version__

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command):
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"evalign {command}" in readme


@pytest.mark.parametrize(("file", "line"), [("CITATION.cff", r"^version: (.+)$"), ("CHANGELOG.md", r"^## (\S+)")])
def test_the_packages_version_is_cited_and_heads_the_changelog(file, line):
    assert re.search(line, (ROOT / file).read_text("utf-8"), re.M)[1] == __version__


@pytest.mark.parametrize("name", [*METRICS, *GROUPS])
def test_every_metric_is_documented(name):
    text = " ".join(page.read_text("utf-8") for page in PAGES)
    assert f"`{name}`" in text or re.search(r"rouge[2-8]$", name)  # `rouge1` … `rouge9`


def test_the_walk_through_the_code_names_what_exists():
    """docs/architecture.md follows one pair from the command to the table, in at most 20 files."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    walk = page.partition("## One pair")[2].partition("\n## ")[0]
    steps = re.findall(r"`([\w/]+\.py): ([\w.]+)`", walk)
    assert 10 < len({file for file, _ in steps}) <= 20
    for file, name in steps:
        found = import_module(f"evalign.{file.removesuffix('.py').replace('/', '.')}")
        for part in name.split("."):
            found = getattr(found, part)


def test_the_files_that_architecture_names_exist():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+/)` \|(.*)\|$", page, re.M)
    missing = [
        folder + name
        for folder, text in rows
        for name in re.findall(r"`((?:\w+/)*\w+\.py)`", text)
        if not (ROOT / "src/evalign" / folder / name).exists() and not (ROOT / "src/evalign" / name).exists()
    ]
    assert missing == []
