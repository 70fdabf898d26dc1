"""Encoders: text to token vectors. Weights are found, verified, built into a graph and run in batches."""
