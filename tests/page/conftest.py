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


@pytest.fixture(scope="session")
def spare_pages(browser_with):
    """Blank pages that no test has now, by what cannot be changed of a page; each has a context of its own."""
    return {}


@pytest.fixture
def open_page(request, browser_with, spare_pages, screen):
    """Opens a file or an address in a context of its own; `page.problems` has console errors and foreign requests.

    A browser takes four times as long to make a context as to show a page in it. Pages of tests that passed are
    therefore emptied and given to later tests, unless opened with `alone=True`: for tests that change what is not
    put back by `_emptied`, as listeners of dialogs or sessions of the browser's protocol do.
    """
    opened_pages = []
    failed_before = request.session.testsfailed

    def opened(place, alone=False, viewport=None, device_scale_factor=screen.scale, **media):
        address = place.as_uri() if isinstance(place, Path) else place
        kind = (screen.fonts, device_scale_factor, address.partition(":")[0])
        spare = [] if alone else spare_pages.setdefault(kind, [])
        page = spare.pop() if spare else _new_page(browser_with(screen.fonts), device_scale_factor)
        opened_pages.append((page, None if alone else kind))
        page.set_viewport_size(viewport or {"width": 1280, "height": 900})
        page.emulate_media(**{"color_scheme": "light"} | media)
        page.problems = []
        page.goto(address)
        return page

    yield opened
    passed = request.session.testsfailed == failed_before
    for page, kind in opened_pages:
        if passed and kind is not None and not page.is_closed():
            spare_pages[kind].append(_emptied(page))
        else:
            page.context.close()


def _new_page(browser, scale):
    context = browser.new_context(device_scale_factor=scale, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.protocol = context.new_cdp_session(page)
    page.on("pageerror", lambda error: page.problems.append(f"error: {error}"))
    page.on("console", lambda said: page.problems.append(f"console: {said.text}") if said.type == "error" else None)
    page.on("request", lambda asked: None if _own(asked.url) else page.problems.append(f"request: {asked.url}"))
    return page


def _emptied(page):
    """The page as a new one is: nothing shown, stored, answered for the server or emulated, no mouse over it."""
    page.unroute_all(behavior="ignoreErrors")
    stored = "/".join(page.url.split("/")[:3])  # scheme and host
    page.goto("about:blank")
    page.protocol.send("Storage.clearDataForOrigin", {"origin": stored, "storageTypes": "all"})
    page.mouse.move(-1, -1)
    page.emulate_media(media="null", forced_colors="null", reduced_motion="null", contrast="null")
    return page


@pytest.fixture
def axe():
    """Accessibility rules of WCAG 2.2 AA; the violations as readable lines."""
    runner = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    # All rules are run. What they found in order is not described by element, which takes longer than the rules.
    options = {"runOnly": {"type": "tag", "values": tags}, "resultTypes": ["violations"]}

    def violations(page):
        found = runner.run(page, options=options).response["violations"]
        return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]

    return violations


def _own(address):
    return address.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a real `evalign serve`."""
    with running_server(tmp_path_factory.mktemp("server"), "--max-tokens", "2000") as address:
        yield address
