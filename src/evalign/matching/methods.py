"""Names of the matchings, apart from their code: listing options must not load scipy."""

METHODS = ("exact", "row-mask", "recursive-argmax", "recursive-topk", "auction-topk", "auction")
PRESETS = ("paper", "mean", "authors", "authors-as-published")
MATCHINGS = ("greedy", *METHODS)
