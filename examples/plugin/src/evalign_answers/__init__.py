"""Metrics of short answers for evalign: an example of a package that plugs in."""

from evalign_answers.metric import AnswerF1

__all__ = ["AnswerF1"]
