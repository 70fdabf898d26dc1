"""Training of adapters: low-rank changes of an encoder, a token importance and an output layer, on rated pairs."""
