"""A package whose entry points cannot be loaded: what needs them says so in a sentence, all else works."""

import os
import subprocess
import sys

import pytest

ALL = ("metrics", "matchings", "commands", "explanations", "views", "routes")
MISSING, WRONG = "not_there:thing", "json:dumps"  # a module that does not exist, an object of another kind
SERVE = ("serve", "--plugins", "--port", "0")
MATCHING = "bertscore(model=fake, matching=torn)"


@pytest.fixture
def run(tmp_path):
    """A function that runs `evalign` where a package declares `value` in groups of entry points."""
    metadata = tmp_path / "torn-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torn\nVersion: 1.0\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"}

    def run(*arguments, value=MISSING, groups=ALL):
        (metadata / "entry_points.txt").write_text("\n".join(f"[evalign.{group}]\ntorn = {value}" for group in groups))
        command = [sys.executable, "-m", "evalign", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")

    return run


@pytest.mark.parametrize("value", [MISSING, WRONG])
@pytest.mark.parametrize(
    ("arguments", "group", "expected"),
    [
        (("explain", "a", "b", "-m", "torn"), "metrics", "a subclass of evalign.Metric"),
        (("align", "a", "b", "-m", MATCHING), "matchings", "a subclass of evalign.Matching"),
        (("torn",), "commands", "a click.Command"),
        (SERVE, "routes", "a Route"),
        (SERVE, "views", "a View"),
    ],
)
def test_what_needs_it_says_so_in_a_sentence(run, value, arguments, group, expected):
    done = run(*arguments, value=value, groups=[group])
    reasons = {
        MISSING: " cannot be imported: ModuleNotFoundError: No module named 'not_there'",
        WRONG: f": json:dumps is not {expected}",
    }
    assert done.returncode == 2, done.stderr
    assert done.stderr == f"evalign: {group.removesuffix('s')} torn of torn{reasons[value]}\n"


@pytest.mark.parametrize(("arguments", "kind"), [(["--help"], "command"), (["metrics", "--format", "tsv"], "metric")])
def test_lists_have_it_with_the_reason(run, arguments, kind):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert f"{kind} torn of torn cannot be imported" in done.stdout


def test_pages_are_written_without_it(run, tmp_path):
    done = run("align", "a b", "b c", "-m", "bertscore(model=fake)", "--html", "pair.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pair.html").stat().st_size > 10_000
