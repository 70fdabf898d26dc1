"""Values cannot be changed: every dataclass of these packages is frozen, but for those that add something up."""

import dataclasses
import inspect
import pkgutil
from importlib import import_module

import pytest

import evalign

CHANGEABLE = {  # package -> classes that add up rows, or hold processes
    "matching": set(),
    "stats": set(),
    "io": {"_System"},
    "batch": {"ResampledTotals", "ShardTotals", "ShardScores", "RayEngine", "_Busy"},
}


def dataclasses_of(package):
    folder = f"{evalign.__path__[0]}/{package}"
    for module in pkgutil.iter_modules([folder], f"evalign.{package}."):
        for value in vars(import_module(module.name)).values():
            if inspect.isclass(value) and dataclasses.is_dataclass(value) and value.__module__ == module.name:
                yield value


@pytest.mark.parametrize("package", CHANGEABLE)
def test_values_are_frozen(package):
    changeable = {value.__name__ for value in dataclasses_of(package) if not value.__dataclass_params__.frozen}
    assert changeable == CHANGEABLE[package]
