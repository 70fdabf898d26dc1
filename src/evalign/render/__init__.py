"""Rendering of results: terminal, tables, HTML pages, figures, documents and explanations."""
