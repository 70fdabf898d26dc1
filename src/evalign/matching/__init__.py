"""Pure functions of a similarity matrix; they know nothing of text."""
