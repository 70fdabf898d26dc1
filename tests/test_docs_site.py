"""`make docs`: the site builds without a warning and without the network, and asks nothing of anybody's server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. mkdocs gets an environment of its own: nothing else here needs it."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", "mkdocs-material"], check=True)
    closed = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    build = [folder / "venv/bin/mkdocs", "build", "--strict", "--site-dir", folder / "built"]
    environment = os.environ | closed | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder / "built"


def test_every_page_is_there(site):
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not (site / page).exists()] == []


def test_nothing_is_fetched_from_outside(site):
    fetched = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^\" >]+")
    found = [match for page in site.rglob("*.html") for match in fetched.findall(page.read_text("utf-8"))]
    assert [match for match in found if 'rel="canonical"' not in match] == []
    styles = [
        match
        for file in site.rglob("*.css")
        for match in re.findall(r"url\(https?:[^)]+|@import[^;]+", file.read_text("utf-8"))
    ]
    assert styles == []


def test_no_source_of_the_docs_is_published(site):
    assert [file.name for file in site.rglob("*") if file.suffix in (".py", ".toml", ".md")] == []
