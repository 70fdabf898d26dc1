"""What the shell is told when the tab key is pressed: commands, options, metrics, files."""

from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from evalign.cli.main import COMMANDS, cli
from evalign.core.registry import metric_names

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"


def completed(line: str) -> list[tuple[str, str]]:
    *words, start = line.split(" ")
    shell = BashComplete(cli, {}, "evalign", "_EVALIGN_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(words[1:], start)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("evalign sc", [("plain", "score")]),
        ("evalign batch r", [("plain", "run")]),
        ("evalign fit la", [("plain", "layers")]),
        ("evalign train enc", [("plain", "encoder")]),
        ("evalign score --resa", [("plain", "--resamples")]),
        ("evalign score -m berts", [("plain", "bertscore")]),
        ("evalign align -m lisa", [("plain", "lisascore")]),
        ("evalign metrics mover", [("plain", "moverscore")]),
        ("evalign score --format js", [("plain", "json")]),
        ("evalign nothing x", []),
        *(
            (line, [("file", "da")])
            for line in ("evalign score da", "evalign score -c da", "evalign agree da", "evalign batch run da",
                         "evalign train encoder da", "evalign fit idf da", "evalign fit baseline da",
                         "evalign audit da")
        ),
    ],
)  # fmt: skip
def test_completions(line, expected):
    found = completed(line)
    assert all(item in found for item in expected)
    assert len(found) == len(expected)


def test_every_command_is_offered_and_every_metric():
    assert {value for _, value in completed("evalign ")} == {*COMMANDS, "study"}
    assert {value for _, value in completed("evalign agree x -m ")} >= set(metric_names())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_that_the_documentation_names(run_process, shell):
    assert f"_EVALIGN_COMPLETE={shell}_source evalign" in PAGE.read_text("utf-8")
    done = run_process(env={"_EVALIGN_COMPLETE": f"{shell}_source"})
    if shell == "bash" and "Couldn't detect Bash" in done.stderr:
        pytest.skip("there is no bash here")
    assert done.returncode == 0, done.stderr
    assert f"_EVALIGN_COMPLETE={shell}_complete" in done.stdout
