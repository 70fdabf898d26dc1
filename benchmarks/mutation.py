"""Mutation testing: change the code of a package in one point, and see whether its tests notice.

    python -m venv build/mutation
    build/mutation/bin/pip install -e ".[dev]" cosmic-ray==8.7.0 coverage
    build/mutation/bin/python benchmarks/mutation.py [matching stats io manifest] [--again | --table]

cosmic-ray lists and applies the changes; a package's sample is seeded and stays the same where the code does. Left out
is what no test can see: annotations, @overload and `__all__`, and what Python's compiler refuses or warns of. Strings
are never changed.
A mutant runs on a copy of the tree, with the tests that execute its line (all tests if none or an import does),
quickest first, until one fails; of tests that take longer than SECONDS together, only the first. A mutant that needs
three times their CPU time counts as killed. Finished mutants are kept in results/mutation.json and are not run again;
`--again` runs the survivors, after tests were added; `--tests FILES`, which is quicker, with these tests alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "mutation.json"
SEED, SAMPLE, PROCESSES = 1, 300, 2
SECONDS = 12.0  # CPU seconds of tests for one mutant, as they take without a mutant
CPU_SECONDS, WALL_SECONDS, START_SECONDS = 900, 900, 10  # a machine that is busy must not kill a mutant
BYTES = 6 << 30  # of memory, for mutants that would take all
QUICK = (0.02, 0.2, 2.0)  # seconds: tests of one class stay in the order of their files, whose fixtures they share
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
PRELOADED = ("numpy", "scipy.stats", "scipy.optimize", "torch", "ot", "pandas", "pyarrow.parquet", "hypothesis")

FROZEN = "tests/test_frozen_values.py"
PACKAGES = {  # the code, and the tests that belong to it
    "matching": ("src/evalign/matching", ["tests/matching", FROZEN]),
    "stats": ("src/evalign/stats", ["tests/stats", FROZEN]),
    "io": (
        "src/evalign/io",
        [
            "tests/data",
            FROZEN,
            "tests/test_atomic_files.py",
            "tests/batch/test_manifest.py",
            "tests/batch/test_damaged_results.py",
        ],
    ),
    "manifest": (
        "src/evalign/batch/job.py",
        [
            "tests/batch/test_manifest.py",
            FROZEN,
            "tests/batch/test_damaged_results.py",
            "tests/batch/test_batch_jobs.py",
        ],
    ),
}


@dataclass(frozen=True)
class Mutant:
    """A change of one point: the n-th one that an operator can make in a file."""

    file: str
    line: int
    operator: str
    occurrence: int
    diff: str
    code: str

    def stored(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "code"}


# ---------------------------------------------------------------------------------------------------- mutants


def sample(package: str) -> list[Mutant]:
    """Return the first mutants by a hash of what they change, so that a change elsewhere does not draw others."""
    path = ROOT / PACKAGES[package][0]
    found = [mutant for file in (sorted(path.glob("*.py")) if path.is_dir() else [path]) for mutant in _points(file)]
    drawn: dict[tuple[str, str], Mutant] = {}
    for _, file, line, operator, occurrence in sorted(found):
        if (mutant := _applied(file, line, operator, occurrence)) is not None:
            drawn.setdefault((mutant.file, mutant.code), mutant)
        if len(drawn) == SAMPLE:
            break
    print(f"{package}: {len(drawn)} of {len(found)} mutants", flush=True)
    return list(drawn.values())


def _points(file: Path) -> Iterator[tuple[str, Path, int, str, int]]:
    """Yield the rank, file, line, operator and number of each mutant."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator, operator_names

    lines, unseen = file.read_text().splitlines(), _unseen(file)
    nodes = list(ast_nodes(get_ast_from_path(file)))
    repeats: Counter[tuple[str, str, int]] = Counter()
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments():
            continue
        for number, (start, _) in enumerate(point for node in nodes for point in operator().mutation_positions(node)):
            key = (name, lines[start[0] - 1], start[1])
            repeats[key] += 1
            if not any(begin <= start < end for begin, end in unseen):
                rank = hashlib.sha256(repr((SEED, file.name, *key, repeats[key])).encode()).hexdigest()
                yield rank, file, start[0], name, number


def _unseen(file: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the ranges of the source that do nothing when it runs: annotations, @overload and `__all__`."""
    ranges = []
    for node in ast.walk(ast.parse(file.read_text())):
        inside = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for item in getattr(node, "decorator_list", ()):
            if ast.unparse(item) == "overload":
                ranges.append(((item.lineno, item.col_offset - 1), (item.end_lineno, item.end_col_offset)))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            inside.append(node.value)
        ranges += [((i.lineno, i.col_offset), (i.end_lineno, i.end_col_offset)) for i in inside if i is not None]
    return ranges


def _applied(file: Path, line: int, operator: str, occurrence: int) -> Mutant | None:
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    before = file.read_text()
    after = mutate_code(before, get_operator(operator)(), occurrence)
    try:
        with warnings.catch_warnings(action="error"):
            compile(after, str(file), "exec")
    except SyntaxError:
        return None
    changes = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    diff = "\n".join(f"{change[0]} {change[1:].strip()}" for change in list(changes)[2:] if change[0] in "+-")
    return (
        Mutant(str(file.relative_to(ROOT)), line, operator.partition("/")[2], occurrence, diff, after) if diff else None
    )


# ---------------------------------------------------------------------------------------------------- tests


class Chosen:
    """pytest plugin: runs the chosen tests in their order; writes what failed, and the CPU seconds of each test."""

    def __init__(self, order: list[str] | None, report: Path) -> None:
        self.order, self.report = order, report
        self.seconds: dict[str, float] = {}
        self.failed = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = sum(os.times()[:4])
        result = yield
        self.seconds[item.nodeid] = sum(os.times()[:4]) - before
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.order is not None:
            position = {name: number for number, name in enumerate(self.order)}
            items[:] = sorted((i for i in items if i.nodeid in position), key=lambda item: position[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_sessionfinish(self) -> None:
        self.report.write_text(json.dumps({"failed": self.failed, "seconds": self.seconds}))


class Traced(Chosen):
    """The same with coverage: writes also which tests execute which lines."""

    def __init__(self, report: Path, source: Path) -> None:
        super().__init__(None, report)
        import coverage

        include = str(source / "*") if source.is_dir() else str(source)
        self.coverage = coverage.Coverage(data_file=None, include=[include], config_file=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.coverage.switch_context(item.nodeid)
        result = yield from super().pytest_runtest_protocol(item)
        self.coverage.switch_context("")
        return result

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        data = self.coverage.get_data()
        lines = {Path(file).name: data.contexts_by_lineno(file) for file in data.measured_files()}
        self.report.write_text(json.dumps({"failed": self.failed, "seconds": self.seconds, "lines": lines}))


def in_copy(copy: Path, tests: list[str], plugin: Callable[[Path], Chosen], limit: int = CPU_SECONDS) -> dict[str, Any]:
    """Run tests in a process of their own, in a copy of the tree; return the plugin's report and the exit code."""
    report = copy / "build" / "report.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    if (process := os.fork()) == 0:
        _run_tests(copy, tests, lambda: plugin(report), limit)
    end = time.monotonic() + WALL_SECONDS
    while (state := os.waitpid(process, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what its tests started and left behind
    written = json.loads(report.read_text()) if report.exists() else {"failed": "", "seconds": {}}
    return written | {"exit": os.waitstatus_to_exitcode(state[1])}


def _run_tests(copy: Path, tests: list[str], plugin: Callable[[], Chosen], limit: int) -> None:
    """Become the process that runs the tests; never return."""
    code: int = 4
    try:
        os.setpgid(0, 0)
        os.chdir(copy)
        output = os.open(copy / "build" / "output.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
        os.environ["EVALIGN_CACHE"] = str(copy / "build" / "cache")
        os.environ |= {"EVALIGN_SHARED": "none", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(copy / "src")}
        sys.path.insert(0, str(copy / "src"))
        chosen = plugin()
        options = [
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
            f"--basetemp={copy / 'build' / 'tmp'}",
        ]
        code = int(pytest.main([*options, *tests], plugins=[chosen]))
        import evalign

        assert str(copy) in str(evalign.__file__), "the tests did not use the copy"
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        code = code or 4
    finally:
        os._exit(code)


def preload() -> None:
    """Import what all tests need, so that the processes forked from this one need not."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert "evalign" not in sys.modules


def copy_of_tree(source: Path, target: Path) -> Path:
    """Copy the tree without what is made in it."""
    ignored = shutil.ignore_patterns(".git", ".venv", "node_modules", "build", "site", ".*_cache", ".hypothesis")
    return Path(shutil.copytree(source, target, ignore=ignored, symlinks=True))


# ---------------------------------------------------------------------------------------------------- a package


@dataclass(frozen=True)
class Coverage:
    """Which tests execute which lines of which file, and the seconds that they take."""

    lines: dict[str, dict[str, list[str]]]
    seconds: dict[str, float]

    def order(self, names: Iterator[str] | set[str]) -> list[str]:
        """Return tests, quickest first, that take no more than SECONDS together."""
        number = {name: index for index, name in enumerate(self.seconds)}
        speed = {name: sum(self.seconds[name] > limit for limit in QUICK) for name in names}
        chosen, total = [], 0.0
        for name in sorted(speed, key=lambda name: (speed[name], number[name])):
            total += self.seconds[name]
            if total <= SECONDS:
                chosen.append(name)
        return chosen

    def tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that execute a line; all tests for a line that an import executes."""
        lines = self.lines.get(Path(mutant.file).name, {})
        names = set(lines.get(str(mutant.line), ())) - {""} if _in_function(mutant) else set()
        return self.order(names or set(self.seconds))


def _in_function(mutant: Mutant) -> bool:
    """Return whether the line runs when a function is called, not when the file is imported."""
    functions = [node for node in ast.walk(ast.parse((ROOT / mutant.file).read_text())) if isinstance(node, FUNCTION)]
    return any(node.body[0].lineno <= mutant.line <= (node.end_lineno or 0) for node in functions)


def measured(package: str, tests: list[str], copy: Path) -> Coverage:
    """Run tests twice: for their coverage of a package, and backwards, for their time without it."""
    source = PACKAGES[package][0]
    found = in_copy(copy, tests, lambda report: Traced(report, copy / source))
    if found["exit"]:
        raise SystemExit(f"{package}: the tests fail without a mutant: {found['failed']}\n{_output(copy)}")
    order = list(found["seconds"])[::-1]
    again = in_copy(copy, tests, lambda report: Chosen(order, report))
    if again["exit"]:
        raise SystemExit(f"{package}: the tests fail in another order: {again['failed']}\n{_output(copy)}")
    coverage = Coverage(found["lines"], {name: again["seconds"][name] for name in found["seconds"]})
    print(f"{package}: {len(coverage.seconds)} tests, {sum(coverage.seconds.values()):.0f} s", flush=True)
    return coverage


def _output(copy: Path) -> str:
    return (copy / "build" / "output.txt").read_text(errors="replace")[-3000:]


COPY: list[Path] = []  # of this process of the pool


def _take_copy(copies: Any) -> None:
    COPY.append(copies.get())


def outcome(mutant: Mutant, order: list[str], seconds: float) -> dict[str, Any]:
    """Run a mutant; return it with its outcome and the test that failed."""
    target = COPY[0] / mutant.file
    original = target.read_text()
    target.write_text(mutant.code)
    files = list(dict.fromkeys(name.partition("::")[0] for name in order))
    try:
        found = in_copy(COPY[0], files, lambda report: Chosen(order, report), START_SECONDS + round(3 * seconds))
    finally:
        target.write_text(original)
    by = found["failed"] or (f"exit code {found['exit']}" if found["exit"] else "")
    return mutant.stored() | {"outcome": "killed" if found["exit"] else "survived", "by": by, "tests": len(order)}


def run(package: str, again: bool, tests: list[str]) -> None:
    """Run what is missing of a package's sample, and store each outcome as it comes."""
    mutants = sample(package)
    stored = {_key(found): found for found in _stored().get(package, ())}
    stored = {_key(mutant.stored()): stored.get(_key(mutant.stored()), {}) for mutant in mutants}
    rest = [m for m in mutants if not (old := stored[_key(m.stored())]) or (again and old["outcome"] == "survived")]
    if not rest:
        return _store(package, stored)
    with tempfile.TemporaryDirectory(prefix="evalign-mutation-") as folder:
        first = copy_of_tree(ROOT, Path(folder) / "0")
        coverage = measured(package, tests or PACKAGES[package][1], first)
        context = multiprocessing.get_context("fork")
        copies = context.Queue()
        for number in range(PROCESSES):
            copies.put(copy_of_tree(first, Path(folder) / f"copy{number}"))
        with ProcessPoolExecutor(PROCESSES, context, _take_copy, (copies,)) as pool:
            orders = [coverage.tests(mutant) for mutant in rest]
            seconds = [sum(coverage.seconds[name] for name in order) for order in orders]
            runs = [pool.submit(outcome, *arguments) for arguments in zip(rest, orders, seconds, strict=True)]
            for number, finished in enumerate(as_completed(runs), 1):
                found = finished.result()
                if not tests or found["outcome"] == "killed":  # what survives a part of the tests says nothing
                    stored[_key(found)] = found
                _store(package, stored)
                print(
                    f"{number}/{len(rest)} {found['outcome']} {found['file']}:{found['line']} {found['by']}", flush=True
                )


def _key(found: dict[str, Any]) -> str:
    return repr((found["file"], found["operator"], found["occurrence"], found["diff"]))


def _stored() -> dict[str, list[dict[str, Any]]]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def _store(package: str, found: dict[str, dict[str, Any]]) -> None:
    """Write the outcomes, one line each, sorted by file and line."""
    packages = _stored() | {package: [outcome for outcome in found.values() if outcome]}
    parts = []
    for name, outcomes in sorted(packages.items()):
        rows = sorted(outcomes, key=lambda row: (row["file"], row["line"], row["operator"], row["occurrence"]))
        parts.append(
            f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
        )
    RESULTS.parent.mkdir(exist_ok=True)
    part = RESULTS.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    part.replace(RESULTS)


def table() -> str:
    """Return the figures of each package, and the survivors."""
    lines = ["| package | mutants | killed | survived | share |", "|---|---|---|---|---|"]
    survivors = defaultdict(list)
    for package, outcomes in _stored().items():
        survivors[package] = [found for found in outcomes if found["outcome"] == "survived"]
        killed = len(outcomes) - len(survivors[package])
        lines.append(
            f"| {package} | {len(outcomes)} | {killed} | {len(survivors[package])} | {killed / len(outcomes):.1%} |"
        )
    for package, outcomes in survivors.items():
        lines += ["", f"{package}: survivors"]
        lines += [f"{o['file']}:{o['line']} {o['operator']} ({o['tests']} tests)\n{o['diff']}" for o in outcomes]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help=f"of {', '.join(PACKAGES)}; default: all")
    parser.add_argument("--table", action="store_true", help="run nothing: print the stored results")
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--tests", nargs="+", default=[], help="run the survivors with these test files only")
    arguments = parser.parse_args()
    packages = arguments.packages or [*PACKAGES]
    if unknown := set(packages) - set(PACKAGES):
        parser.error(f"unknown packages: {', '.join(unknown)}")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    preload()
    for package in () if arguments.table else packages:
        run(package, bool(arguments.again or arguments.tests), arguments.tests)
    print(table())


if __name__ == "__main__":
    main()
