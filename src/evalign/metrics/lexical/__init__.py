"""Metrics that compare words: ROUGE, METEOR, BLEU and its relatives, simplification and readability."""
