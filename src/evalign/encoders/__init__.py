"""Text to token vectors: weights found, verified, built into a graph, run in batches."""
