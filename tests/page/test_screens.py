"""The screens of the picture tests are what they say: other fonts, other antialiasing, other device pixels."""

import io

import pytest
from screens import PLAIN, SERIF, on_every_screen

from evalign.render.export import page_file

SIZE = """(element) => { const { width, height } = element.getBoundingClientRect(); return [width, height]; }"""


@pytest.fixture(scope="module")
def letters(tmp_path_factory):
    """A page in the fonts of the real one, with nothing on it but letters."""
    style = page_file("shared/base.css").decode() + "body { background: white; color: black } span { font-size: 2rem }"
    words = "<p><span>The old bridge</span></p><p><code>was|closed</code></p>"
    file = tmp_path_factory.mktemp("letters") / "letters.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>t</title><style>{style}</style>{words}", "utf-8")
    return file


def opened(browser, file):
    page = browser.new_page(viewport={"width": 400, "height": 200})
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("element", ["span", pytest.param("code", marks=pytest.mark.slow)])
def test_words_of_the_two_sets_of_fonts_have_unlike_sizes(browser_with, letters, element):
    sizes = {}
    for fonts in (PLAIN.fonts, SERIF.fonts):
        page = opened(browser_with(fonts), letters)
        sizes[fonts] = page.locator(element).evaluate(SIZE)
        page.close()
    ratios = [own / second for own, second in zip(*sizes.values(), strict=True)]
    assert max(abs(ratio - 1) for ratio in ratios) > 0.05, sizes


def test_letters_of_the_second_set_are_not_blended_with_the_paper(browser_with, letters):
    pictures = pytest.importorskip("PIL.Image")
    page = opened(browser_with(SERIF.fonts), letters)
    page.locator("code").evaluate("(element) => { element.style.color = 'inherit'; }")
    picture = pictures.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    assert {colour for _, colour in picture.getcolors(1 << 24)} == {(0, 0, 0), (255, 255, 255)}


@on_every_screen
def test_a_picture_has_the_device_pixels_of_its_screen(letters, open_page, screen):
    pictures = pytest.importorskip("PIL.Image")
    page = open_page(letters, viewport={"width": 400, "height": 200})
    assert pictures.open(io.BytesIO(page.screenshot())).size == (400 * screen.scale, 200 * screen.scale)
