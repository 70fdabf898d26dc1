"""SARI: n-grams added, kept and deleted by a simplification."""
