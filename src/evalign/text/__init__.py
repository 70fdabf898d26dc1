"""Texts: words, sentences, stems and token statistics."""
