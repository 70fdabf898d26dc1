"""ROUGE explained: one metric on one pair, or every variant beside the others."""
