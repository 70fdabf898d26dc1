"""requirements/: everything that make and the container install is pinned by sha256, and fits pyproject.toml."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from evalign.encoders.weights import MINILM

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FILES = {file.stem: file for file in sorted((ROOT / "requirements").glob("*.txt"))}
BEFORE = {"dev": ("build", "run", "sdist"), "run": ("build",), "docs": ("build", "run")}  # installed first
TORCH = "torch"  # its build depends on the machine


def pinned(name):
    """Version and hashes by package."""
    text = FILES[name].read_text("utf-8").replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {first.partition("==")[0]: (first.partition("==")[2], hashes) for first, *hashes in lines}


def needed(extra):
    """Names of what evalign requires directly, with an extra and those that it names; torch is not listed."""
    waiting, extras, names = [extra], set(), {}
    while waiting:
        extra = waiting.pop()
        extras.add(extra)
        listed = PROJECT["project"]["optional-dependencies"][extra] if extra else PROJECT["project"]["dependencies"]
        for requirement in map(Requirement, listed):
            if requirement.name == "evalign":
                waiting += requirement.extras - extras
            else:
                names[canonicalize_name(requirement.name)] = requirement
    return {name: requirement for name, requirement in names.items() if name != TORCH}


@pytest.mark.parametrize("name", FILES)
def test_every_package_has_a_version_and_hashes(name):
    packages = pinned(name)
    assert packages
    for package, (version, hashes) in packages.items():
        assert re.fullmatch(r"[\w.]+", version), package
        assert hashes, package
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), package


@pytest.mark.parametrize(("name", "extra"), [("run", ""), ("serve", ""), ("serve", "web"), ("dev", "dev")])
def test_what_evalign_requires_is_pinned_within_its_bounds(name, extra):
    versions = {}
    for file in (name, *BEFORE.get(name, ())):
        versions |= {package: version for package, (version, _) in pinned(file).items()}
    wanted = needed(extra)
    assert wanted.keys() - versions.keys() == set()
    assert [name for name, requirement in wanted.items() if not requirement.specifier.contains(versions[name])] == []


def test_a_package_has_one_version():
    versions: dict[str, set[str]] = {}
    for name in FILES:
        for package, (version, _) in pinned(name).items():
            versions.setdefault(package, set()).add(version)
    assert {package for package, found in versions.items() if len(found) > 1} == set()


def test_the_model_is_the_pinned_one():
    ((package, (version, hashes)),) = pinned("minilm").items()
    assert (f"{package}=={version} {' '.join(hashes)}",) == MINILM.wheels


def test_only_what_has_no_wheel_runs_its_own_code():
    assert set(pinned("sdist")) == {"rouge-score"}


def test_make_installs_what_is_pinned():
    """What is not: torch, the lower bounds, and evalign itself, without fetching anything."""
    text = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    installs = [line for line in text.splitlines() if re.search(r"(\$\(PIP\)|-m pip .*) install ", line)]
    assert len(installs) >= 8
    free = [line for line in installs if "$(PINNED)" not in line and "--require-hashes" not in line]
    assert len(free) == 3
    assert sum("--no-deps --no-build-isolation -e ." in line for line in free) == 1
    assert all("--only-binary=:all:" in line or "--no-build-isolation" in line for line in free)
    assert re.search(r"^PINNED := --no-deps --require-hashes --only-binary=:all:$", text, re.MULTILINE)


def test_what_a_pinned_package_requires_is_pinned():
    """Installed with --no-deps, so a missing one would show only when it is imported."""
    names = {package for name in FILES for package in pinned(name)}
    missing = set()
    for package in names:
        try:
            requires = metadata.requires(package) or ()
        except metadata.PackageNotFoundError:  # of make docs, or of another system
            continue
        active = (one for one in map(Requirement, requires) if one.marker is None or one.marker.evaluate({"extra": ""}))
        missing |= {canonicalize_name(one.name) for one in active} - names - {TORCH}
    assert missing == set()
