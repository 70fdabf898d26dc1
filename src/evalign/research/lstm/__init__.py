"""Metric `lstm`: a bidirectional LSTM sentence encoder, its training, explanation and server route."""
