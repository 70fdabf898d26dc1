"""Integrations of evalign into other libraries: one file each, which no other part of evalign imports."""
