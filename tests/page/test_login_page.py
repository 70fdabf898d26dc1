"""The form of a server that asks for a token, in a real browser under the server's own policy."""

import pytest
from page_server import running_server

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("guarded"), "--token", TOKEN) as address:
        yield address


def problems(page):
    """What the browser complained about, but for the refusals that it reports by itself."""
    return [problem for problem in page.problems if "401 (Unauthorized)" not in problem]


def test_the_token_opens_the_page_and_is_kept_nowhere(guarded, open_page):
    page = open_page(guarded, alone=True)
    page.fill("#token", "wrong")
    page.keyboard.press("Enter")
    page.locator("#problem:not([hidden])").wait_for()
    assert "not the token" in page.text_content("#problem")
    page.fill("#token", f" {TOKEN} ")
    page.click("button")
    page.locator("#main:not([aria-busy]) .pair-stage").wait_for()
    assert problems(page) == []
    assert page.evaluate("document.cookie + localStorage.length + sessionStorage.length + location.search") == "00"
    page.reload()
    page.locator("#main:not([aria-busy]) .pair-stage").wait_for()
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], TOKEN in cookie["value"]) == (True, "Strict", False)


def test_a_link_survives_the_login(guarded, open_page):
    page = open_page(f"{guarded}#v1=e30", alone=True)
    page.fill("#token", TOKEN)
    page.click("button")
    page.locator("#token").wait_for(state="detached")  # the login page has a #main of its own
    page.locator("#main:not([aria-busy])").wait_for()
    assert page.evaluate("location.hash").startswith("#v1=")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_axe_finds_nothing(guarded, open_page, axe, scheme, width):
    page = open_page(guarded, alone=True, color_scheme=scheme, viewport={"width": width, "height": 700})
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
