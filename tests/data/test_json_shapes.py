"""Values of another shape are refused, and those of the shape are not."""

import pytest

from evalign.io.json_shapes import OptionalKey, has_shape

CASES = [
    (1, int, True),
    (1.0, int, False),
    (True, int, False),
    (1, float, False),
    (1, (float, int), True),
    ("1", (float, int), False),
    (None, str, False),
    ([], [str], True),
    (["a", "b"], [str], True),
    (["a", 1], [str], False),
    ("ab", [str], False),
    ({"a": 1}, [str], False),
    ({}, {str: int}, True),
    ({"a": 1, "b": 2}, {str: int}, True),
    ({"a": 1, "b": "2"}, {str: int}, False),
    ([], {str: int}, False),
    ({"a": 1}, {"a": int}, True),
    ({}, {"a": int}, False),
    ({"a": "1"}, {"a": int}, False),
    ({"a": 1, "b": 1}, {"a": int}, False),
    ({"a": 1}, {"a": int, "b": OptionalKey(str)}, True),
    ({"a": 1, "b": "x"}, {"a": int, "b": OptionalKey(str)}, True),
    ({"a": 1, "b": None}, {"a": int, "b": OptionalKey(str)}, False),
    ({"b": "x"}, {"a": int, "b": OptionalKey(str)}, False),
    ({"a": [{"b": 1}]}, {"a": [{"b": int}]}, True),
    ({"a": [{"b": 1}, {"b": None}]}, {"a": [{"b": int}]}, False),
]


@pytest.mark.parametrize(("value", "shape", "fits"), CASES)
def test_shapes(value, shape, fits):
    assert has_shape(value, shape) is fits
