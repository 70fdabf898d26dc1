"""Words, sentences and token statistics."""
