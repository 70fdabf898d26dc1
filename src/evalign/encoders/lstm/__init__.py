"""A bidirectional LSTM sentence encoder: words, cell, file."""
