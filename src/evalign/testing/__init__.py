"""Laws that every metric must obey, for authors of metrics.

    >>> from evalign.testing import check_metric
    >>> check_metric(evalign.metric("bertscore(model=fake)"))

`check_metric` returns None, or raises `LawBroken`, which names the law, the metric and a minimal set of rows.
"""

from evalign.testing.laws import LAWS, check_metric
from evalign.testing.trial import LawBroken

__all__ = ["LAWS", "LawBroken", "check_metric"]
