"""Comparing systems on the same rows."""
