"""ROUGE: reading, counting, scoring, and the metrics of the family."""
