"""Measure the size and the structure of the code: the table in docs/architecture.md.

python docs/code_figures.py    # print the table; docs/generate.py puts it into the page
"""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "evalign"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- figures: docs/code_figures.py -->\n", "<!-- end of figures -->\n"
TRACER = """
import sys
files = set()
def importing(frame):
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename != "<string>"
def watch(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith({package!r}) and not importing(frame):
        files.add(frame.f_code.co_filename)
import evalign.cli.main as program
sys.argv = ["evalign", "score", "-c", sys.argv[1], "-r", sys.argv[2], "-m", "bertscore(model=fake)"]
sys.setprofile(watch)
try:
    program.main()
except SystemExit:
    pass
sys.setprofile(None)
print("\\n" + "\\n".join(sorted(files)))
"""


@cache
def trees() -> dict[Path, ast.Module]:
    """Syntax tree of every module of the package."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def lines(folder: Path, ending: str = ".py") -> int:
    """Number of lines of all files below a folder."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob(f"*{ending}"))


def bases() -> dict[str, list[str]]:
    """Class name -> names of its base classes inside the package."""
    classes = {
        node.name: node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }
    names = {
        name: [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases] for name, node in classes.items()
    }
    return {name: [base for base in found if base in classes and base != name] for name, found in names.items()}


def ladder(name: str, graph: dict[str, list[str]]) -> int:
    """Number of classes of the package from a class up to its most distant base, itself included."""
    return 1 + max((ladder(base, graph) for base in graph[name]), default=0)


def is_metric(name: str, graph: dict[str, list[str]]) -> bool:
    """Whether a class is a metric."""
    return name == "Metric" or any(is_metric(base, graph) for base in graph.get(name, ()))


def metric_ladder() -> int:
    """Deepest ladder of classes below `Metric`."""
    graph = bases()
    return max(ladder(name, graph) for name in graph if is_metric(name, graph))


def isinstance_tests() -> int:
    """Calls of isinstance or issubclass on concrete metric classes."""
    graph = bases()
    concrete = {name for name in graph if is_metric(name, graph)} - {"Metric", "RowMetric", "TokenMetric"}
    return sum(
        bool({part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)} & concrete)
        for tree in trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass") and len(node.args) == 2
    )


def functions() -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of the package."""
    for tree in trees().values():
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its decorators and its docstring."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        total -= (first.end_lineno or first.lineno) - first.lineno + 1
    return total


BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.With, ast.Assert, ast.comprehension,
            ast.IfExp, ast.match_case)  # fmt: skip


def complexity(function: ast.AST) -> int:
    """One more than the branches of a function (McCabe)."""
    nodes = list(ast.walk(function))
    logical = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + logical + sum(isinstance(node, BRANCHES) for node in nodes)


def files_for_one_pair() -> int:
    """Number of the package's files with a function that runs while `evalign score` scores one pair."""
    with tempfile.TemporaryDirectory() as folder:
        texts = [Path(folder) / name for name in ("candidate.txt", "reference.txt")]
        for path, text in zip(texts, ("the cat sat\n", "a cat was sitting\n"), strict=True):
            path.write_text(text, "utf-8")
        code = TRACER.replace("{package!r}", repr(str(PACKAGE)))
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, texts)], capture_output=True, text=True, check=True, cwd=folder
        )
    return sum(line.startswith(str(PACKAGE)) for line in done.stdout.splitlines())


def rows() -> list[tuple[str, str]]:
    """What is measured, and the number."""
    every = lines(PACKAGE)
    training, research = lines(PACKAGE / "training"), lines(PACKAGE / "research")
    page = PACKAGE / "render" / "page"
    measured = list(functions())
    return [
        ("Python files", f"{len(trees())}"),
        ("lines of Python: core", _rounded(every - training - research)),
        ("lines of Python: training", _rounded(training)),
        ("lines of Python: research", _rounded(research)),
        ("modules of the page", f"{len(list(page.rglob('*.js')))}"),
        ("lines of the page's JavaScript", _rounded(lines(page, ".js"))),
        ("deepest ladder of metric classes", f"{metric_ladder()}"),
        ("`isinstance` on concrete metric classes", f"{isinstance_tests()}"),
        ("types of totals, loops over rows, readers of files", "1, 1, 1 (tests/test_one_path.py)"),
        ("files with a function that runs for one pair", f"{files_for_one_pair()}"),
        ("median function, lines", f"{statistics.median(map(length, measured)):g}"),
        ("mean complexity", f"{statistics.mean(map(complexity, measured)):.1f}"),
    ]


def _rounded(count: int) -> str:
    return f"{round(count, -2):,}"


def table() -> str:
    """The table in Markdown."""
    return "".join(["| | |\n|---|---|\n", *(f"| {name} | {number} |\n" for name, number in rows())])


def architecture_page() -> str:
    """Return docs/architecture.md with a new table."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    print(table(), end="")
