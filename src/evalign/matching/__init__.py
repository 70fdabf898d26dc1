"""Matching: pure functions of a similarity matrix, independent of text."""
