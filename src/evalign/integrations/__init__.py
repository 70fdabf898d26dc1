"""evalign inside other libraries: one file for each, imported by nothing else here."""
