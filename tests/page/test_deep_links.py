"""Links into the page: whole ones show what they say, broken ones say that they are broken; and what examples claim."""

import base64
import json
from importlib import resources

import pytest

import evalign
from evalign.metrics.all_matchings import align_all

EXAMPLES = json.loads(resources.files("evalign.render").joinpath("page", "examples.json").read_text("utf-8"))
PAIR = {
    "candidate": "a cat sat",
    "reference": "the cat sat",
    "model": "minilm",
    "layer": "",
    "specials": True,
    "idf": False,
}


def fragment(state):
    return "#v1=" + base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


WHOLE = fragment({"tab": "pair", "pair": PAIR, "view": {}})


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (WHOLE[:-9], "This link is damaged or incomplete"),
        pytest.param("#v1=", "This link is damaged", marks=pytest.mark.slow),
        pytest.param("#v1=%%%", "This link is damaged", marks=pytest.mark.slow),
        pytest.param(fragment([1, 2]), "This link is damaged", marks=pytest.mark.slow),
        pytest.param("#v7=abc", "made by another version of evalign (v7)", marks=pytest.mark.slow),
        (fragment({"pair": PAIR | {"layer": "99"}}), "This link asks for layer 99, which this server does not have"),
        (fragment({"pair": PAIR | {"model": "other"}}), "This link asks for model other, which this server does not"),
        (fragment({"tab": "corpus", "corpus": {"sort": "best"}}), "a link does not hold the file"),
        (WHOLE, ""),
        pytest.param("#main", "", marks=pytest.mark.slow),
        pytest.param("", "", marks=pytest.mark.slow),
    ],
)
def test_a_link_is_followed_or_says_what_is_wrong(server, open_page, axe, link, said):
    page = open_page(f"{server}{link}")
    page.locator("#main:not([aria-busy])").wait_for()
    problem = page.locator("#link-problem")
    assert problem.is_visible() == bool(said)
    assert said in problem.inner_text()
    if said:
        assert problem.get_attribute("role") == "alert"
        assert axe(page) == []
    if "pair" not in link and "corpus" not in said and "file" not in said:
        page.locator(".pair-stage").wait_for()  # an example, or the pair, is there all the same
    assert page.problems == []


def test_a_link_that_is_opened_later_takes_the_message_away(server, open_page):
    page = open_page(f"{server}#v1=broken")
    page.locator("#main:not([aria-busy])").wait_for()
    assert page.locator("#link-problem").is_visible()
    page.evaluate(f"location.hash = '{WHOLE}'")
    page.locator("#link-problem").wait_for(state="hidden")
    assert page.locator("#candidate").input_value() == PAIR["candidate"]


@pytest.mark.parametrize("model", ["minilm", pytest.param("mpnet", marks=pytest.mark.slow)])
def test_what_the_example_of_a_negation_says_is_so(request, model):
    request.getfixturevalue(model)
    (example,) = [one for one in EXAMPLES if one["name"] == "A negation"]
    assert "greedy matching hardly notices: only recall falls a little" in example["about"]
    assert "in a frame: no word of the candidate chose it" in example["about"]
    texts = example["candidate"], example["reference"]
    greedy = align_all(evalign.metric(f"bertscore(model={model})"), *texts).first
    same = align_all(evalign.metric(f"bertscore(model={model})"), texts[1], texts[1]).first
    assert [greedy.reference.pieces[token].strip("\u0120") for token in greedy.unmatched_reference] == ["not"]
    assert not greedy.unmatched_candidate
    assert greedy.scores["f1"] > 0.9 * same.scores["f1"]
    assert greedy.scores["precision"] > greedy.scores["recall"]
