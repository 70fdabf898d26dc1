"""The version, alone, so that nothing needs to be imported to know it."""

__version__ = "0.2.0"
