"""Resumable scoring of many rows: shards of the input, worker processes, a manifest, one summary."""
