"""The German summaries study after GermEval-2020 task 3."""
