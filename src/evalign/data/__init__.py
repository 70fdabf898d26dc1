"""Rows of text: readers of files and streams, pairing of systems, rated tables."""
