"""Fitting what can be fitted: layers, baselines, encoders; numbers in, small files out."""
