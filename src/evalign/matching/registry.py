"""Matchings by name: those of evalign, registered ones, and those of installed packages (entry points).

Modules are named, not imported: listing matchings must not load scipy or POT.
"""

from __future__ import annotations

from importlib import import_module

from evalign.core.plugins import MATCHINGS_GROUP, is_subclass, load_plugin, plugins
from evalign.errors import SpecError, nearest
from evalign.matching.base import Matching

MATCHINGS = {  # those that select cells: name -> module:class
    "greedy": "evalign.matching.greedy:Greedy",
    "exact": "evalign.matching.exact:Exact",
    "row-mask": "evalign.matching.assignment:RowMask",
    "recursive-argmax": "evalign.matching.recursion:RecursiveArgmax",
    "recursive-topk": "evalign.matching.recursion:RecursiveTopk",
    "auction-topk": "evalign.matching.recursion:AuctionTopk",
    "auction": "evalign.matching.auction:Auction",
}
TRANSPORT = "transport"  # of moverscore: it carries masses instead of selecting cells
TRANSPORT_CLASS = "evalign.matching.transport:Transport"
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


_registered: dict[str, type[Matching]] = {}


def register_matching(matching_class: type[Matching]) -> type[Matching]:
    """Make a matching usable as `bertscore(matching=KEY)`; may decorate the class.

    An installed package can name its class in the entry-point group `evalign.matchings` instead.

    Args:
        matching_class: Subclass of `Matching` that needs no arguments, with a `key` that no other matching has.

    Returns:
        The class itself.
    """
    if not (isinstance(matching_class, type) and issubclass(matching_class, Matching)):
        raise SpecError(f"register_matching expects a subclass of Matching, got {matching_class!r}")
    key = matching_class.key
    earlier = _registered.get(key, matching_class)
    if key in (*MATCHINGS, TRANSPORT) or earlier.__qualname__ != matching_class.__qualname__:
        raise SpecError(f"there is a matching {key!r} already; give {matching_class.__name__} another key")
    _registered[key] = matching_class
    return matching_class


def cell_matchings(third_party: bool = True) -> tuple[str, ...]:
    """Return the names of all matchings that select cells; without `third_party`, only those of evalign."""
    added = [*plugins(MATCHINGS_GROUP), *_registered] if third_party else []
    return tuple(dict.fromkeys([*MATCHINGS, *added]))


def all_matchings() -> tuple[str, ...]:
    """Return the names of all matchings of one matrix, transport last."""
    return (*cell_matchings(), TRANSPORT)


def current_name(words: str) -> str:
    """Return a matching's name, from that or from the paper's words for it: `stock`, `Row masking`."""
    return PAPER_NAMES.get(words.strip().lower().replace(" ", "-").replace("_", "-"), words)


def matching_class(key: str) -> type[Matching]:
    """Return the class of a matching by name; imports its module."""
    key = current_name(key)
    if key in _registered:
        return _registered[key]
    if key in plugins(MATCHINGS_GROUP):
        entry = plugins(MATCHINGS_GROUP)[key]
        plugged: type[Matching] = load_plugin(entry, "a subclass of evalign.Matching", is_subclass(Matching))
        return plugged
    paths = MATCHINGS | {TRANSPORT: TRANSPORT_CLASS}
    if key not in paths:
        raise SpecError(f"unknown matching {key!r}; {nearest(key, all_matchings())}")
    module, _, attribute = paths[key].partition(":")
    loaded: type[Matching] = getattr(import_module(module), attribute)
    return loaded


def parse(name: str) -> Matching:
    """Return the matching that prints as `name`: `greedy`, `recursive-argmax,authors,strict`, `transport=partial`."""
    key, *settings = name.split(",")
    if key.startswith(f"{TRANSPORT}="):
        key, settings = TRANSPORT, [key, *settings]
    try:
        return matching_class(key).from_settings(settings)
    except ValueError as error:  # a setting that should be a number
        raise SpecError(f"matching {name!r}: {error}") from error
