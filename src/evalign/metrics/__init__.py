"""Metrics: one file per metric, over the shared pipeline of `token_metric.py`."""
