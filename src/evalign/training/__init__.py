"""Fine-tuning, adapters, losses, layer choice and baselines (extra `torch`): built on the public names."""
