"""The shape of the package: which way imports point, what is public, what `import evalign` loads."""

import ast
import dataclasses
import inspect
import os
import pickle
import subprocess
import sys
import tomllib
import types
import typing
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import evalign
import evalign.core
from evalign.core.registry import metric_class, metric_names

ROOT = Path(evalign.__file__).parent
LEVELS = [
    ("core", "errors", "version"),
    ("io", "text", "matching", "stats"),
    ("encoders",),
    ("metrics",),
    ("analysis", "render"),
    ("batch",),
    ("testing",),
    ("server", "cli", "compat", "integrations", "training", "research", "__main__"),
]
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}
TORCH_FILES = (
    "encoders/torch_hf.py",
    "encoders/torch_likelihood.py",
    "matching/soft.py",
    "matching/soft_topk.py",
    "training/losses.py",
)
TORCH_FOLDERS = ("training/", "research/", "integrations/")
DRAWN = {
    "core/alignment.py": ("Alignment",),
    "core/report.py": ("Report",),
    "metrics/bartscore.py": ("Likelihoods",),
    "compat/bert_score.py": ("BERTScorer",),
}
TYPED = ("core/registry.py",)  # its overloads name classes, for type checkers only
HEAVY = ("onnxruntime", "onnx", "scipy", "ot", "torch", "transformers", "tokenizers", "pandas", "sacrebleu", "rich")


@cache
def modules() -> dict[str, ast.Module]:
    """Path below src/evalign and syntax tree of every module but the lazy `__init__`."""
    files = (file for file in sorted(ROOT.rglob("*.py")) if file != ROOT / "__init__.py")
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_text("utf-8")) for file in files}


@cache
def imports() -> list[tuple[str, str]]:
    """(path, full name of a module that it imports)."""
    return [(path, name) for path, tree in modules().items() for name in imported(tree)]


def importing(*packages: str) -> set[str]:
    """The paths of modules that import one of other people's packages."""
    return {path for path, name in imports() if name.split(".")[0] in packages}


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of all modules that a tree imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(path: str) -> str:
    """`encoders/graph.py` -> `encoders`, `types.py` -> `types`."""
    return path.split("/")[0].removesuffix(".py")


@cache
def drawing(path: str) -> list[str]:
    """What the values of a module import to draw themselves, the one exception to the direction of imports."""
    shown = [n for n in modules()[path].body if isinstance(n, ast.ClassDef) and n.name in DRAWN.get(path, ())]
    methods = (n for value in shown for n in value.body if isinstance(n, ast.FunctionDef))
    names = [name for method in methods for name in imported(method) if name.startswith("evalign.")]
    assert all(name.startswith("evalign.render.") for name in names)
    return names


def own_imports() -> Iterator[tuple[str, str]]:
    """(path, part of evalign that it imports)."""
    for path, name in imports():
        if name.startswith("evalign.") and name not in drawing(path) and path not in TYPED:
            yield path, name.split(".")[1]


def test_every_part_has_a_level():
    assert {part(path) for path in modules()} <= set(LEVEL)


def test_imports_point_down():
    upward = [(path, target) for path, target in own_imports() if LEVEL.get(target, 99) > LEVEL[part(path)]]
    assert upward == []


def test_no_two_parts_import_each_other():
    graph: dict[str, set[str]] = {}
    for path, target in own_imports():
        if target != part(path):
            graph.setdefault(part(path), set()).add(target)
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_torch_is_imported_only_where_it_is_meant_to_be():
    found = importing("torch", "transformers")
    assert "encoders/torch_hf.py" in found
    assert {path for path in found if path not in TORCH_FILES and not path.startswith(TORCH_FOLDERS)} == set()


def test_the_web_framework_is_imported_only_in_the_server():
    found = importing("fastapi", "starlette", "uvicorn", "pydantic")
    assert {part(path) for path in found} == {"server"}


def test_ray_is_imported_only_in_its_engine():
    assert importing("ray") == {"batch/ray_engine.py"}


@pytest.mark.parametrize("name", evalign.__all__)
def test_public_names_resolve(name):
    assert getattr(evalign, name) is not None
    if name != "__version__":
        assert getattr(evalign, name).__doc__


def test_what_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        evalign.nothing  # noqa: B018


def test_all_lists_exactly_what_is_offered():
    """What type checkers see is what can be loaded."""
    stub = ast.parse((ROOT / "__init__.pyi").read_text("utf-8"))
    typed = {alias.name for node in ast.walk(stub) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert evalign.__all__ == dir(evalign) == sorted(evalign.__all__)
    assert set(evalign.__all__) == typed


def test_every_error_is_public():
    errors = {name for name, kind in inspect.getmembers(evalign.errors, inspect.isclass)
              if issubclass(kind, evalign.EvalignError)}  # fmt: skip
    assert errors <= set(evalign.__all__)


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(evalign.MissingExtraError("this", "torch")))
    assert str(error) == "this needs the extra 'torch': pip install 'evalign[torch]'"


def test_nothing_public_is_missing():
    """Every value that flows and every metric class has its name at the top."""
    values = {name for name, kind in inspect.getmembers(evalign.core, inspect.isclass)
              if kind.__module__.startswith("evalign.core") and not name.startswith("_")}  # fmt: skip
    classes = {metric_class(name).__name__ for name in metric_names()}
    assert values | classes <= set(evalign.__all__)


def test_every_type_of_a_public_function_is_public():
    """What functions and results at the top take, hold and return has its name at the top, too."""
    public = {getattr(evalign, name) for name in evalign.__all__ if name != "__version__"}
    metrics = {metric_class(name) for name in metric_names()}
    missing = {
        f"{found.__name__} of {name}"
        for name in evalign.__all__
        if name != "__version__" and getattr(evalign, name) not in metrics
        for found in types_of(getattr(evalign, name)) - public
    }
    assert missing == set()


def types_of(item: object) -> set[type]:
    """The classes of evalign in the annotations of a function, or of a class's fields and public methods."""
    if not inspect.isclass(item):
        return leaves(list(hints(item).values())) if callable(item) else set()
    members = [getattr(member, "fget", None) or getattr(member, "__func__", member)
               for name, member in vars(item).items() if not name.startswith("_")]  # fmt: skip
    annotations = [hint for member in members if inspect.isfunction(member) for hint in hints(member).values()]
    return leaves([*annotations, *(hints(item).values() if dataclasses.is_dataclass(item) else ())])


def hints(item: object) -> dict[str, object]:
    """Annotations of a function or class; names that only type checkers import are looked up at the top."""
    names = {name: getattr(evalign, name) for name in evalign.__all__}
    try:
        return typing.get_type_hints(item, localns=names | {"pandas": types.SimpleNamespace(DataFrame=object)})
    except TypeError:  # a class of the standard library without annotations
        return {}


def leaves(annotations: list[object]) -> set[type]:
    """The classes of evalign in annotations, type arguments included."""
    found: set[type] = set()
    for annotation in annotations:
        parts = annotation if isinstance(annotation, list) else [*typing.get_args(annotation)]
        found |= leaves([part for part in parts if not isinstance(part, str)])
        origin = typing.get_origin(annotation) or annotation
        if inspect.isclass(origin) and origin.__module__.startswith("evalign"):
            found.add(origin)
    return found


def loaded_by(code: str) -> set[str]:
    """Which heavy libraries a fresh interpreter holds after running `code`."""
    ask = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_import_loads_nothing_but_the_standard_library():
    code = """import sys; before = set(sys.modules); import evalign
print(*{name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert set(done.stdout.split()) == {"evalign", "lazy_loader"}, done.stderr


def test_the_base_install_needs_what_it_always_needed():
    """A new dependency of everybody is a decision, not a side effect."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert {dependency.partition(">=")[0] for dependency in project["dependencies"]} == {
        "numpy", "scipy", "POT", "onnxruntime", "onnx", "tokenizers", "safetensors", "huggingface_hub", "sacrebleu",
        "rapidfuzz", "snowballstemmer", "threadpoolctl", "click", "rich", "lazy_loader",
    }  # fmt: skip


def test_scoring_without_a_model_loads_no_runtime():
    code = "import evalign; evalign.metric('bertscore(model=fake)').score(['a'], ['b'])"
    assert loaded_by(code).isdisjoint({"onnxruntime", "onnx", "torch", "transformers", "pandas"})


def test_scoring_with_the_default_model_loads_no_torch(minilm):
    code = "import evalign; evalign.metric('bertscore').score(['a'], ['b'])"
    loaded = loaded_by(code)
    assert "onnxruntime" in loaded
    assert loaded.isdisjoint({"torch", "transformers", "pandas", "scipy"})
