"""Sums, correlation and significance."""
