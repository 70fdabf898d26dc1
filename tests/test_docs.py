"""What the docs promise exists, and what exists is in the docs: links, commands, options, metrics, errors, settings."""

import doctest
import re
import sys
import tomllib
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import click
import pytest

import evalign
from evalign.cli.main import COMMANDS, cli
from evalign.core.registry import GROUPS, expand, metric_names
from evalign.version import __version__

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
    *sorted(DOCS.rglob("*.md")),
]
SPEC = re.compile(rf"(?<![\w.\"])((?:{'|'.join([*metric_names(), *GROUPS])})\([a-z_]+=[^()`\n]*\))")
PLACEHOLDER = re.compile(
    r"\.\.\.|=[A-Z]+\b|\||=\.?/?[\w-]*(?:mine|ours|tuned|my-model|between-spaces|base\.tsv|idf\.json)"
)  # files and folders of the reader's
ENVIRONMENT = re.compile(r"\bEVALIGN_[A-Z_]+\b")
FOREIGN = ("ValueError", "KeyError", "TypeError", "AttributeError", "DeepEvalError", "MissingTestCaseParamsError")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)\)", page.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_cookbook(command):
    assert f"evalign {command}" in (DOCS / "cookbook.md").read_text("utf-8")


@pytest.mark.parametrize(("file", "line"), [("CITATION.cff", r"^version: (.+)$"), ("CHANGELOG.md", r"^## (\S+)")])
def test_the_packages_version_is_cited_and_heads_the_changelog(file, line):
    assert re.search(line, (ROOT / file).read_text("utf-8"), re.M)[1] == __version__


@pytest.fixture(scope="module")
def generated():
    """What docs/generate.py writes: every command, option, metric, error and request, from the code itself."""
    sys.path.insert(0, str(DOCS))
    try:
        return import_module("generate").pages()
    finally:
        sys.path.remove(str(DOCS))


def test_the_generated_pages_are_current(generated):
    stale = [path for path, text in generated.items() if (DOCS / path).read_text("utf-8") != text]
    assert stale == [], "run `python docs/generate.py`"
    written = {f"{folder}/{page.name}" for folder in ("cards", "reference") for page in (DOCS / folder).glob("*.md")}
    assert {*written, "architecture.md"} == {*generated, "reference/settings.md"}


def test_the_reference_has_every_option_and_name(generated):
    """Were the generator to leave something out, nothing above would notice."""
    for path, command in _commands(cli, "evalign"):
        section = re.search(rf"^#+ `{path}`$(.*?)(?=^#+ `|\Z)", generated["reference/cli.md"], re.M | re.S)[1]
        flags = {flag for option in command.params if isinstance(option, click.Option) for flag in option.opts}
        assert {flag for flag in flags if f"`{flag}`" not in section} == set(), path
    for name in [*metric_names(), *GROUPS]:
        assert f"`{name}`" in generated["cards/index.md"] or re.search(r"rouge[2-8]$", name)  # `rouge1` to `rouge9`
    for name in evalign.__all__:
        former = re.fullmatch(r"__version__", name)
        assert former or f"`{name}`" in generated["reference/python.md"], name


def _commands(group, path):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


@lru_cache
def _known_commands():
    return dict(_commands(cli, "evalign"))


def _listed(heading):
    """The first column of a table of reference/settings.md."""
    section = (DOCS / "reference/settings.md").read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.M))


def test_extras_are_documented():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert _listed("Extras") == set(project["optional-dependencies"])


def test_environment_variables_are_documented():
    assert _listed("Environment variables") == _environment("src")


@lru_cache
def _environment(*folders):
    files = [file for folder in folders for file in (ROOT / folder).rglob("*.py")]
    return {name for file in files for name in re.findall(ENVIRONMENT, file.read_text("utf-8"))}


def test_flags_of_rows_are_documented():
    """A flag is set as `flags["empty"] = ...`, `{"empty": 1}` or in the table of `Tokens`; METEOR's is a constant."""
    set_in = [*(ROOT / "src/evalign/metrics").rglob("*.py"), *(ROOT / "src/evalign/encoders").glob("*likelihood.py")]
    source = " ".join(file.read_text("utf-8") for file in [*set_in, ROOT / "src/evalign/core/tokens.py"])
    named = r"\"([a-z]+(?:-[a-z]+)*)\""
    found = re.findall(rf"(?:flags|counts)\[{named}\] = |\{{{named}: (?:1|impossible|count)\b", source)
    found += re.findall(rf"{named}: (?:int\(|self\.dropped|self\.windows|len\(self\.unknown)()", source)
    found += re.findall(rf"^NO_DATA = {named}()", source, re.M)
    assert _listed("Flags of rows") == {name for pair in found for name in pair if name}


def _pages_by_name():
    return [page for page in PAGES if page.name != "CHANGELOG.md"]  # which may speak of what was


@pytest.mark.parametrize("page", _pages_by_name(), ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page):
    text = page.read_text("utf-8")
    known = _known_commands()
    blocks = "".join(re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S))
    typed_in_blocks = re.findall(r"^(?:\$ )?(evalign (?!serves )[a-z].*)", blocks, re.M)
    for typed in [*typed_in_blocks, *re.findall(r"`(evalign [a-z][^`]*)`", text)]:
        _check_command(typed, known)
    for spec in SPEC.findall(text):
        if not PLACEHOLDER.search(spec):
            expand(spec)
    errors = re.findall(r"\b[A-Z][A-Za-z]+Error\b", text)
    assert [name for name in errors if name not in FOREIGN and not hasattr(evalign, name)] == []
    assert [name for name in re.findall(ENVIRONMENT, text) if name not in _environment("src", "tests")] == []
    extras = re.findall(r"evalign\[([a-z][\w-]*)\]|extras? `([\w-]+)`", text)
    assert {name for pair in extras for name in pair if name} <= _listed("Extras")


def _check_command(typed, known):
    """The command exists, and so does every option of it that is written."""
    words = typed.split("  #")[0].split()
    path = next((path for size in (3, 2) if (path := " ".join(words[:size])) in known), None)
    assert path, f"no such command: {typed}"
    if path == "evalign compat":  # the arguments are another program's
        return
    command = known[path]
    options = {flag for item in command.params if isinstance(item, click.Option) for flag in item.opts}
    inner = getattr(command, "commands", {}).values()
    options |= {flag for one in inner for item in one.params if isinstance(item, click.Option) for flag in item.opts}
    used = re.findall(r"(?<!\S)(--[a-z][a-z-]*)", typed.split("  #")[0])
    assert {flag for flag in used if flag != "--help"} <= options, typed


def test_the_tutorial_runs(minilm, tmp_path, monkeypatch):
    """Its Python; the slow tests run its commands too (test_first_five_minutes.py)."""
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(DOCS / "tutorial.md"), module_relative=False)
    assert (failed, tried > 8) == (0, True)


def test_the_site_lists_every_page():
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


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
