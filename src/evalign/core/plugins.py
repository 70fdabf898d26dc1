"""Objects that installed packages add to evalign by entry points: metrics, matchings, commands and others.

A package declares them in its pyproject.toml, for example

    [project.entry-points."evalign.metrics"]
    mymetric = "my_package.my_module:MyMetric"

Nothing is imported until an object is used. `evalign.training` and `evalign.research` plug in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from evalign.errors import SpecError

METRICS_GROUP = "evalign.metrics"
MATCHINGS_GROUP = "evalign.matchings"
COMMANDS_GROUP = "evalign.commands"  # `fit.norms` is the subcommand `evalign fit norms`
EXPLANATIONS_GROUP = "evalign.explanations"
VIEWS_GROUP = "evalign.views"  # types of documents, with their views on the page
ROUTES_GROUP = "evalign.routes"  # requests of the HTTP API, /api/NAME


@cache
def plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; `load_plugin` imports the object."""
    return {
        entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))
    }


def is_third_party(entry: EntryPoint) -> bool:
    """Return whether an entry point belongs to another package than evalign."""
    return entry.dist is None or entry.dist.name != "evalign"


def load_plugin(entry: EntryPoint, expected: str, fits: Callable[[Any], bool]) -> Any:
    """Import the object of an entry point.

    Args:
        entry: One of those that `plugins` returns.
        expected: What the object has to be, for the error: `a subclass of evalign.Metric`.
        fits: Returns whether an object is that.

    Raises:
        SpecError: It cannot be imported, or is something else; the sentence names the package.
    """
    package = entry.dist.name if entry.dist is not None else entry.value
    what = f"{entry.group.removeprefix('evalign.').removesuffix('s')} {entry.name} of {package}"
    try:
        loaded = entry.load()
    except Exception as error:
        raise SpecError(f"{what} cannot be imported: {type(error).__name__}: {error}") from error
    if not fits(loaded):
        raise SpecError(f"{what}: {entry.value} is not {expected}")
    return loaded


def is_subclass(base: type) -> Callable[[Any], bool]:
    """Return a function that tells whether an object is a subclass of `base`."""
    return lambda loaded: isinstance(loaded, type) and issubclass(loaded, base)
