"""textstat's own tests of its Flesch-Kincaid and SMOG grades, run against evalign's fkgl and smog.

Syllables are counted by evalign's rules, since textstat's dictionary comes with no package.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

from peers.suites import Suite
from peers.test_files import Known, run_test_files, source_distribution, with_stand_in

import evalign

NAME = "evalign_as_textstat"
FILES = ("test_flesch_kincaid_grade", "test_smog_index")
KNOWN = Known(
    differ={
        "*::test_*[-en_US-0.0]": "a text without words is worth the worst grade here, 100, and flagged",
        "test_flesch*en_US-4.574]": "syllables by rule: 5.019 instead of 4.574",
        "test_flesch*en_US-10.359]": "syllables by rule: 10.327 instead of 10.359",
    },
    left_out={"*hu_HU*": "Hungarian; the grades are of English text"},
)


def run(folder: Path) -> Suite:
    """Fetches the source distribution of the installed version into the folder, and runs its tests."""
    root = source_distribution("textstat", version("textstat"), folder) / "tests" / "backend"
    copied = folder / "tests_of_textstat"
    copied.mkdir()
    _install(root / "resources.py")
    copies = with_stand_in([root / "metrics" / f"{name}.py" for name in FILES], copied, "textstat", NAME)
    for copy in copies:
        text = copy.read_text("utf-8")
        copy.write_text(text.replace("from .. import resources", f"from {NAME} import resources"), "utf-8")
    cases = run_test_files(copies, KNOWN)
    return Suite("textstat", version("textstat"), "its source distribution (grades)", cases)


def _install(resources: Path) -> None:
    spec = spec_from_file_location("resources", resources)
    assert spec is not None
    assert spec.loader is not None
    texts = module_from_spec(spec)
    spec.loader.exec_module(texts)
    stand_in, backend = ModuleType(NAME), ModuleType(f"{NAME}.backend")
    grades = {"flesch_kincaid_grade": "fkgl", "smog_index": "smog"}
    functions = {name: lambda text, lang, spec=spec: _grade(spec, text) for name, spec in grades.items()}
    backend.__dict__["metrics"] = SimpleNamespace(**functions)
    stand_in.__dict__.update(backend=backend, resources=texts)
    sys.modules |= {NAME: stand_in, f"{NAME}.backend": backend}


def _grade(spec: str, text: str) -> float:
    return float(evalign.metric(spec).score([text])["score"][0])
