"""One file per metric, on a shared base and a registry."""
