"""ROUGE explained: one metric on one pair, or every variant beside the others."""

from evalign.render.explain.rouge.one_metric import explain_lcsr, explain_rouge

__all__ = ["explain_lcsr", "explain_rouge"]
