"""Models that say how likely a text is after another one."""
