"""A real browser for the page's tests: Debian's Chromium through playwright, one per set of fonts and session."""

import os
import shutil
from pathlib import Path

import pytest
from page_server import running_server
from screens import PLAIN, font_environment

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
PATIENCE = 120_000  # milliseconds; a busy machine is not a failure


@pytest.fixture(scope="session")
def browser_with(tmp_path_factory):
    """`browser_with("serif")`: the browser that finds this set of fonts (see screens.py), started once per session."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium on this machine; `make test` installs it where it may (root on Debian)")
    playwright = pytest.importorskip("playwright.sync_api")
    started = {}
    with playwright.sync_playwright() as driver:

        def launched(fonts):
            if fonts not in started:
                environment = os.environ | font_environment(fonts, tmp_path_factory.mktemp(fonts))
                started[fonts] = driver.chromium.launch(executable_path=program, args=FLAGS, env=environment)
            return started[fonts]

        yield launched
        for browser in started.values():
            browser.close()


@pytest.fixture(scope="session")
def browser(browser_with):
    return browser_with(PLAIN.fonts)


@pytest.fixture
def screen(request):
    """What `open_page` shows its pages on; the decorators of screens.py set it for tests of pictures."""
    return getattr(request, "param", PLAIN)


@pytest.fixture
def open_page(browser_with, screen):
    """Opens a file or an address in a context of its own; `page.problems` has console errors and foreign requests."""
    contexts = []
    usual = {
        "viewport": {"width": 1280, "height": 900}, "device_scale_factor": screen.scale, "accept_downloads": True,
    }  # fmt: skip

    def opened(place, **options):
        context = browser_with(screen.fonts).new_context(**usual | options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(f"error: {error}"))
        page.on("console", lambda said: page.problems.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("request", lambda asked: None if _own(asked.url) else page.problems.append(f"request: {asked.url}"))
        page.goto(place.as_uri() if isinstance(place, Path) else place)
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def axe():
    """Accessibility rules of WCAG 2.2 AA; the violations as readable lines."""
    runner = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    def violations(page):
        found = runner.run(page, options={"runOnly": {"type": "tag", "values": tags}}).response["violations"]
        return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]

    return violations


def _own(address):
    return address.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a real `evalign serve`."""
    with running_server(tmp_path_factory.mktemp("server"), "--max-tokens", "2000") as address:
        yield address
