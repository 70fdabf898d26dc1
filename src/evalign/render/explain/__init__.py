"""A metric's arithmetic for one pair, step by step."""
