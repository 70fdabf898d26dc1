"""Metric `learned`: a weighted combination of other metrics, fitted to ratings."""
