"""Fine-tuning, adapters, losses, layer choice and baselines (extra `torch`), which plug into the core."""
