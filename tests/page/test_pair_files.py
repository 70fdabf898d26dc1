"""Files saved from the pair view: SVG that is XML, PNG of the right size, CSV that has the document's numbers."""

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest
from pair_samples import LINES, choose, pair_file, settle, unfold, unit, words
from screens import on_every_screen

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = 'a <b> & "c" </svg> ]]> \x07 =1+1 , end'


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("short"), idf=True)


def saved(page, kind):
    with page.expect_download() as waiting:
        page.locator(f'[data-export="{kind}"]').click()
    assert waiting.value.suggested_filename.endswith(f".{kind}")
    with open(waiting.value.path(), "rb") as stream:
        return stream.read()


def picture(page):
    return ElementTree.fromstring(saved(page, "svg"))


def words_of(root):
    return [one.text for one in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("matching", ["greedy", pytest.param("transport", marks=pytest.mark.slow)])
def test_svg_has_texts_lines_scores_and_recipe(short, open_page, matching):
    file, alignments, document = short
    page = open_page(file)
    choose(page, matching)
    settle(page)
    root = picture(page)
    written = words_of(root)
    for side in ("candidate", "reference"):
        assert set(document[side]["text"].split()) <= set(written)
    recipe = alignments[matching].signature
    assert root.find(f"{SVG}desc").text == recipe
    assert recipe in "".join(written)
    assert f"{next(iter(alignments[matching].scores.values())):.4f}" in " ".join(written)
    curves = [one for one in root.iter(f"{SVG}path") if "C" in one.get("d")]
    assert len(curves) == len(page.evaluate(LINES))
    dashed = [one for one in curves if one.get("stroke-dasharray")]
    assert len(dashed) == sum(one["kind"] == "recall" for one in page.evaluate(LINES))


def test_svg_shows_a_pinned_word_and_the_whole_of_long_texts(tmp_path, open_page):
    text = words(120, 1)
    page = open_page(pair_file(tmp_path, text, words(110, 3))[0])
    settle(page)
    whole = picture(page)
    assert [one for one in words_of(whole) if one in set(text.split())][:120] == text.split()
    every = sum("C" in one.get("d") for one in whole.iter(f"{SVG}path"))
    unit(page, "candidate", 4).click()
    settle(page)
    pinned = sum("C" in one.get("d") for one in picture(page).iter(f"{SVG}path"))
    assert 0 < pinned == len(page.evaluate(LINES)) < every


@pytest.mark.slow
@on_every_screen
def test_png_is_the_same_picture_twice_as_large(short, open_page):
    pictures = pytest.importorskip("PIL.Image")
    page = open_page(short[0])
    settle(page)
    root = picture(page)
    png = pictures.open(io.BytesIO(saved(page, "png"))).convert("RGB")
    assert png.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
    tinted = [box for box in root.iter(f"{SVG}rect") if box.get("rx") == "3" and box.get("fill") != "none"]
    seen = [png.getpixel(above_the_letters(box, 2)) == rgb(box.get("fill")) for box in tinted]
    assert sum(seen) > len(seen) / 2 > 5  # a letter of the line above may reach into some


def above_the_letters(box, scale):
    """A pixel two units below the upper edge of a box, where a word has its padding."""
    x, y, width = (float(box.get(name)) for name in ("x", "y", "width"))
    return int(scale * (x + width / 2)), int(scale * (y + 2))


def rgb(colour):
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


@pytest.mark.parametrize(
    "matching",
    ["greedy", pytest.param("exact", marks=pytest.mark.slow), pytest.param("transport", marks=pytest.mark.slow)],
)
def test_csv_has_the_documents_numbers(short, open_page, matching):
    file, alignments, document = short
    page = open_page(file)
    choose(page, matching)
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv").decode("utf-8"), newline="")))
    alignment = alignments[matching]
    assert {row["signature"] for row in rows} == {alignment.signature}
    described = next(one for one in document["matchings"] if one["name"] == matching)
    for side in ("candidate", "reference"):
        own = [row for row in rows if row["text"] == side]
        data = document[side]
        assert [row["piece"] for row in own] == data["pieces"]
        assert [[int(row["start"]), int(row["stop"])] for row in own] == data["offsets"]
        assert [float(row["similarity"]) for row in own] == described[f"{side}_values"]
        assert [int(row["partner"] or -1) for row in own] == described[f"{side}_partners"]
        assert [float(row["weight"]) for row in own] == data["weights"]
        never = {place for place in described["never_chosen"][side] if not data["special"][place]}
        assert {int(row["token"]) for row in own if row["never_chosen"] == "true"} == never
        if matching != "transport":
            total = sum(data["weights"])
            shares = [w * v / total for w, v in zip(data["weights"], described[f"{side}_values"], strict=True)]
            assert [float(row["share"]) for row in own] == pytest.approx(shares)


def test_hostile_texts_are_safe_in_every_file(tmp_path, open_page):
    file, _, document = pair_file(tmp_path, HOSTILE, "b c d")
    page = open_page(file)
    settle(page)
    assert "\ufffd" in "".join(words_of(picture(page)))  # XML cannot hold U+0007
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv").decode("utf-8"), newline="")))
    assert [row["piece"] for row in rows if row["text"] == "candidate"] == [
        f"'{piece}" if piece[0] in "=+-@" else piece for piece in document["candidate"]["pieces"]
    ]
    assert saved(page, "png").startswith(b"\x89PNG")
    assert page.problems == []


def test_arabic_words_are_whole_in_pictures_of_pieces(tmp_path, open_page, minilm):
    text = "ذهبت القطة إلى السوق"
    page = open_page(pair_file(tmp_path, text, "القطة في السوق", spec="bertscore")[0])
    unfold(page)
    page.get_by_label("Subword pieces").check()
    settle(page)
    assert set(text.split()) <= set(words_of(picture(page)))
