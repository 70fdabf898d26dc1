"""Rows in and results out: readers, writers, streams."""
