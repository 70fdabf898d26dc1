"""Studies, the LSTM baseline and learned combinations, which plug in; the core never imports them."""
