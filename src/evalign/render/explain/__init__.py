"""Explanations of a score: the arithmetic of one pair, step by step, for every built-in metric.

Importing this package registers them with `explain`.
"""

from evalign.render.explain import lexical, matching, rouge, terms
from evalign.render.explain.parts import explain

__all__ = ["explain", "lexical", "matching", "rouge", "terms"]
