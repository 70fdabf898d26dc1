"""Statistics: exact sums, correlation, resampling and significance."""
