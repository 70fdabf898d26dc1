"""Peers' programming interfaces and commands, with their arguments and numbers: bert-score, rouge-score, sacrebleu."""
