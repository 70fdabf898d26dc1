"""Laws that every metric must obey."""
