"""Every matching by name. Modules are named, not imported: listing matchings must not load scipy or POT."""

from __future__ import annotations

from importlib import import_module

from evalign.errors import SpecError, nearest
from evalign.matching.base import Matching

MATCHINGS = {
    "greedy": "evalign.matching.greedy:Greedy",
    "exact": "evalign.matching.assignment.exact:Exact",
    "row-mask": "evalign.matching.assignment.row_mask:RowMask",
    "recursive-argmax": "evalign.matching.assignment.recursion:RecursiveArgmax",
    "recursive-topk": "evalign.matching.assignment.recursion:RecursiveTopk",
    "auction-topk": "evalign.matching.assignment.recursion:AuctionTopk",
    "auction": "evalign.matching.assignment.auction:Auction",
}
TRANSPORT = "transport"  # carries masses instead of selecting cells: moverscore's
HOMES = {TRANSPORT: "evalign.matching.transport:Transport"}
METHODS = ("exact", "row-mask", "recursive-argmax", "recursive-topk", "auction-topk", "auction")  # of lisascore
PAPER_NAMES = {
    "stock": "exact",
    "row-masking": "row-mask",
    "recursive-top-k": "recursive-topk",
    "aggressive-auction": "auction-topk",
    "aggressive-auction-topk": "auction-topk",
    "aggressive-auction-top-k": "auction-topk",
}  # the LiSAScore paper's words -> names here
PRESETS = ("paper", "mean", "authors", "authors-as-published")  # of the recursive methods


def every_name() -> tuple[str, ...]:
    """All matchings of one matrix, transport last."""
    return (*MATCHINGS, *HOMES)


def named(words: str) -> str:
    """A matching's name here, from that or from the paper's words for it: `stock`, `Row masking`."""
    return PAPER_NAMES.get(words.strip().lower().replace(" ", "-").replace("_", "-"), words)


def matching_class(kind: str) -> type[Matching]:
    """The class behind a name."""
    homes = MATCHINGS | HOMES
    kind = named(kind)
    if kind not in homes:
        raise SpecError(f"unknown matching {kind!r}; {nearest(kind, homes)}")
    module, _, attribute = homes[kind].partition(":")
    found: type[Matching] = getattr(import_module(module), attribute)
    return found


def parse(name: str) -> Matching:
    """The matching that prints as `name`: `greedy`, `recursive-argmax,authors,strict`, `transport=partial`."""
    kind, *settings = name.split(",")
    if kind.startswith(f"{TRANSPORT}="):
        kind, settings = TRANSPORT, [kind, *settings]
    try:
        return matching_class(kind).from_settings(settings)
    except ValueError as error:  # a setting that should be a number
        raise SpecError(f"matching {name!r}: {error}") from error
