"""`explain_rouge` ends at the metric's own number, for every metric, mode and size of text."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

import evalign
from evalign.render.explain.rouge import explain_rouge
from evalign.testing.trial import make_text

SPECS = [
    *(f"rouge{order}" for order in range(1, 10)), "rougeL", "rougeL(mode=rouge155)", "rougeLsum", "rougeMEAD", "rougeW",
    "rougeW(weight=2)", "rougeW(mode=rouge155)", "rougeS", "rougeS(skip=2)", "rougeSU",
    "rougeSU(mode=rouge155, skip=4)", "rouge1(alpha=0.8, stem=true)", "rouge2(beta=P/R)",
    "rouge1(mode=rouge155, alpha=0)", "rougeLsum(words=9)",
]  # fmt: skip
TEXTS = {
    "short": ("police kill the gunman", "police killed the gunman"),
    "lines": ("the cat sat\non the mat\nthe end", "a cat sat down\non the mat"),
    "long": (make_text(200, 1), make_text(150, 2)),
    "nothing in common": ("alpha beta", "gamma delta"),
    "one word": ("alpha", "alpha"),
    "empty": ("", "alpha"),
    "hostile": ("[bold]a[/] \x1b[31m b\u202e", "[bold]a[/] b"),
}


def shown(spec: str, candidate: str, reference: str) -> str:
    out = io.StringIO()
    Console(file=out, width=120, color_system=None).print(explain_rouge(evalign.metric(spec), candidate, reference))
    return out.getvalue()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("spec", SPECS)
def test_ends_at_the_metrics_number(spec: str, name: str) -> None:
    text = shown(spec, *TEXTS[name])
    report = evalign.metric(spec).score([TEXTS[name][0]], [TEXTS[name][1]])
    wanted = [f"{values[0]:.5f}" for values in report]
    assert re.findall(r"(?:precision|recall|f1) (\d\.\d{5})", text) == wanted
    if name != "empty":
        steps = [re.search(rf"   {letter} = .*= (\d\.\d{{5}})$", text, re.MULTILINE) for letter in "PRF"]
        assert [step[1] for step in steps if step] == wanted
    assert report.signature in text.replace("\n", "")
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_lcs_table_and_its_path() -> None:
    text = shown("rougeL", *TEXTS["short"])
    assert re.search(r"police +\[1\] +1 +1 +1", text)
    assert re.search(r"the +1 +1 +\[2\] +2", text)
    assert "path: police, the, gunman" in text


def test_the_arithmetic_is_written_out() -> None:
    assert "P = 3 / 7 = 0.42857" in shown("rouge2", "the cat sat on the mat the cat", "the cat was on the mat")
    assert "4.0000 / 7^2" in shown("rougeW(weight=2)", "a h b k c i d", "a b c d e f g")
    assert "[w1] [w2] [w3] w4 [w5]" in shown("rougeLsum", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5")
    assert "2 of 3: a b c  ~  a c b" in shown("rougeMEAD", "a c b\ne\nx", "a b c\nd e")
    assert "police the, police gunman, the gunman" in shown("rougeS", *TEXTS["short"])
