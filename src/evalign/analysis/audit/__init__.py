"""What a metric's evaluation should report: the data and their raters, agreement, cost, robustness, reliability."""
