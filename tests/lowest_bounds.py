"""Prints the base dependencies at exactly their lower bounds, as pip takes them: `make test-lowest` installs these."""

import re
import tomllib
from pathlib import Path


def lowest() -> list[str]:
    """`numpy>=1.26` -> `numpy==1.26`."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", dependency) for dependency in project["dependencies"]]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds]


if __name__ == "__main__":
    print(*lowest())
