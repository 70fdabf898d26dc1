"""Makes the pictures of README and docs from the real page: `make screenshots`.

Starts `evalign serve`, drives Chromium through the page as a reader would, and writes docs/images/*.png. Nothing is
drawn or edited by hand; a picture that no longer fits the page is made anew by running this again.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip
FIRST_SCREENS = {"first-wide": (1366, 768), "first-phone": (375, 667)}
LONG = " ".join(
    f"On day {day} the crew of the research ship measured the temperature of the water, took samples from a depth of "
    f"{day * 50} metres, and wrote down which of the instruments had to be repaired before the next station."
    for day in range(1, 13)
)
SHORTER = " ".join(
    f"On day {day} the crew measured the water, took samples from {day * 50} metres and repaired instruments."
    for day in range(1, 13)
)


def main() -> None:
    """Every picture, one after the other."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("no Chromium here: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with _server() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        for name, size in FIRST_SCREENS.items():  # what a visitor sees, without any click
            page = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
            page.goto(address)
            page.locator(".pair-stage").wait_for()
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / f"{name}.png")
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1200, "height": 860}, color_scheme=scheme)
            page.goto(address)
            _example(page, "Two sentences in one")
            page.locator("#pair-result [data-token], #pair-result span").get_by_text("seventy").first.hover()
            page.wait_for_timeout(300)
            _save(page, f"pair-{scheme}")
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(address)
        for name, picture in (("Right to left", "rtl"), ("Without spaces", "cjk"), ("A word repeated", "repeated")):
            _example(page, name)
            if picture == "repeated":
                page.locator(".pair-choice", has_text="assignment").locator("input").check()
                page.locator("#options summary").click()
                page.get_by_label("Show what changed against").select_option(label="greedy")
                page.locator("#options summary").click()
            page.wait_for_timeout(300)
            _save(page, picture)
        _matchings(page)
        page.fill("#candidate", SHORTER)
        page.fill("#reference", LONG)
        _aligned(page)
        _save(page, "long")
        _corpus(page)
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(address)
        page.locator("#main:not([aria-busy])").wait_for()
        page.locator("#tab-inside").click()
        page.get_by_role("button", name="Trace the gates").click()
        page.locator(".lstm-words thead button", has_text="not").click()
        _save(page, "lstm")
        narrow = browser.new_page(viewport={"width": 320, "height": 860})
        narrow.goto(address)
        _example(narrow, "A paraphrase")
        _save(narrow, "narrow")
        browser.close()


def _example(page, name: str) -> None:
    page.locator("#example option", has_text=name).wait_for(state="attached")
    page.select_option("#example", label=name)
    page.locator("#pair-result h2, #pair-result h1").first.wait_for()
    page.wait_for_timeout(1500)


def _aligned(page) -> None:
    page.click("#align")
    page.wait_for_timeout(500)
    page.locator("#pair-result:not([aria-busy])").wait_for()
    page.wait_for_timeout(1000)


def _matchings(page) -> None:
    """The same pair under the three kinds of matching, the picture alone."""
    _example(page, "A word repeated")
    page.locator("#options summary").click()
    page.get_by_label("Show what changed against").select_option(index=0)
    page.locator("#options summary").click()
    for choice, name in (("greedy", "greedy"), ("assignment", "exact"), ("transport", "transport")):
        page.locator(".pair-choice", has_text=choice).locator("input").check()
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        page.locator(".pair-stage").screenshot(path=IMAGES / f"matching-{name}.png")


def _corpus(page) -> None:
    """Two systems on the bundled rows, as the page scores them."""
    page.click("#tab-corpus")
    page.set_input_files("input[type=file]", ROOT / "examples" / "simplification.jsonl")
    page.get_by_role("button", name=re.compile("^Score")).click()
    page.locator("#corpus-result").get_by_text("bertscore|model", exact=False).first.wait_for()
    page.locator("#corpus-result").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#corpus-result').scrollIntoView()")
    page.wait_for_timeout(1000)
    _save(page, "corpus")
    page.get_by_label("Sort by", exact=True).select_option("side-apart")
    page.evaluate("document.querySelector('#c-rows').scrollIntoView()")
    page.wait_for_timeout(500)
    _save(page, "side-by-side")
    page.get_by_label("Sort by", exact=True).select_option("worst")
    page.locator(".c-open").first.click()
    page.wait_for_timeout(500)
    page.locator("#pair-result:not([aria-busy])").wait_for()
    page.wait_for_timeout(1000)
    _save(page, "row")


def _save(page, name: str) -> None:
    page.screenshot(path=IMAGES / f"{name}.png")
    print(f"docs/images/{name}.png", (IMAGES / f"{name}.png").stat().st_size, "bytes")


@contextmanager
def _server():
    with tempfile.TemporaryFile("w+") as log:
        command = [sys.executable, "-m", "evalign", "serve", "--port", "0", "--model", "minilm"]
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield re.search(r"http://\S+/", started.stdout.readline())[0]
        finally:
            started.terminate()
            started.wait(timeout=30)


if __name__ == "__main__":
    main()
