"""Clauses by punctuation: where they end, and what is too short to be one."""

import pytest

from evalign.encoders.fake import FakeEncoder
from evalign.text.sentences import clauses

CASES = {
    "The cat sat on the mat, and the dog slept.": ["The cat sat on the mat,", "and the dog slept."],
    "One two three; four five six: seven eight nine - ten eleven twelve.": [
        "One two three;", "four five six:", "seven eight nine -", "ten eleven twelve.",
    ],
    "It cost 5,000 euros at 9:30 in a well-known shop.": ["It cost 5,000 euros at 9:30 in a well-known shop."],
    "Yesterday, the old bridge fell.": ["Yesterday, the old bridge fell."],
    "The old bridge fell, again.": ["The old bridge fell, again."],
    "The old bridge fell. Nobody died. Engineers had warned the town.": [
        "The old bridge fell. Nobody died.", "Engineers had warned the town.",
    ],
    "The bridge – an old one of stone – fell down yesterday.": [
        "The bridge – an old one of stone –", "fell down yesterday.",
    ],
    "Storm!": ["Storm!"],
    "": [],
    " , . ": [],
    "今天天气很好,我们去公园散步。": ["今天天气很好,我们去公园散步。"],
    "ذهبت القطة إلى السوق، ثم عادت إلى البيت.": ["ذهبت القطة إلى السوق،", "ثم عادت إلى البيت."],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.items(), ids=range(len(CASES)))
def test_clauses_end_at_marks_and_have_three_words(text, expected):
    [tokens] = FakeEncoder().tokenize([text])
    assert [text[start:stop] for start, stop in clauses(tokens)] == expected
