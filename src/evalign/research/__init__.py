"""Studies, the LSTM baseline and learned combinations: built on the public names, never imported by the core."""
