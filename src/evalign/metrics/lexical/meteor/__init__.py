"""METEOR 1.5 without Java."""
