"""`evalign serve`: the page and its HTTP API. The web framework is imported nowhere else."""
