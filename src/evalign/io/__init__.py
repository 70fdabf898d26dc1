"""Rows and files: every input format, row pairing, score files, durable writing and locks."""
