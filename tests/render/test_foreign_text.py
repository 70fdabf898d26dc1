"""Text that a model cannot read: the sentence about it, and the places that say it."""

import pytest

import evalign
from evalign.render.alignment_reading import foreign_text
from evalign.render.static_html import GREY

ARABIC = "زار الطلاب المتحف الجديد"
CHINESE = "孩子们昨天参观了新的图书馆。"


@pytest.fixture(scope="module")
def bertscore():
    return evalign.metric("bertscore")


@pytest.mark.parametrize(
    ("text", "why", "model"),
    [
        (ARABIC, "written in Arabic", "bert-base-multilingual-cased"),
        (CHINESE, "9 of the 14 tokens", "bert-base-chinese"),
        ("猫が窓のそばで寝ている。", "Japanese", "bert-base-multilingual-cased"),
        ("Привет, мир", "written in Cyrillic", "bert-base-multilingual-cased"),
    ],
    ids=["arabic", "chinese", "japanese", "russian"],
)
def test_the_reason_and_a_better_model_are_named(bertscore, text, why, model):
    for candidate, reference in ((text, "the old bridge"), ("the old bridge", text)):
        said = foreign_text(bertscore.align(candidate, reference))
        assert why in said
        assert "meaningless with this model" in said
        assert said.endswith(f"model={model}.")
        assert said.count(". ") == 0  # one sentence


@pytest.mark.parametrize("text", ["the old bridge", "naïve café, déjà vu", "12 + 30 = 42", "", "the word مرحبا alone"])
def test_texts_that_the_model_can_read_are_left_alone(bertscore, text):
    assert foreign_text(bertscore.align(text, "the old bridge")) == ""
    assert bertscore.align(text, "the old bridge").to_dict()["meaningless"] is None


def test_another_model_is_judged_by_whether_it_spells_words_out():
    fake = evalign.metric("bertscore(model=fake)")  # every word is one token of it
    assert foreign_text(fake.align(ARABIC, ARABIC)) == ""


def test_document_notebook_and_terminal_say_it(bertscore):
    alignment = bertscore.align(ARABIC, ARABIC)
    said = foreign_text(alignment)
    assert alignment.to_dict()["meaningless"] == said
    assert said[:60] in " ".join(str(alignment).split())
    static = alignment._repr_html_().partition("<iframe")[0]
    assert said in static
    assert static.count("background:") == static.count(f"background:{GREY}") > 3
