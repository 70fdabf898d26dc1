"""One command grammar: shared words have one meaning, every command shows an example, the library names no flags."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import click
import pytest

import evalign
from evalign.cli.groups import with_flags
from evalign.cli.main import COMMANDS, cli
from evalign.research.studies.command import GERMAN_ROWS
from evalign.research.studies.german.study import PAPER
from evalign.research.studies.german.systems import ROWS
from evalign.stats.correlation import CORRELATIONS
from evalign.training.fit_commands import STATISTICS

SOURCE = Path(evalign.__file__).parent
COMMAND_MODULES = ("cli/", "compat/")  # and every command.py and *_commands.py
GROUPS = {
    "fit": {"idf", "baseline", "layers"},
    "train": {"encoder", "adapter", "lstm", "combine"},
    "batch": {"run", "status", "verify", "merge"},
    "study": {"lisa", "german"},
}


def commands(command=cli, name="evalign"):
    """Every command and group below a group, by what a user types; `compat` has the peers' own options."""
    context = click.Context(command, info_name=name)
    yield name, command
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            if sub != "compat":
                yield from commands(command.get_command(context, sub), f"{name} {sub}")


ALL = dict(commands())


def options(command):
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def names(command):
    return {name for option in options(command) for name in (*option.opts, *option.secondary_opts)}


def test_the_groups_have_the_commands_of_the_grammar():
    for group, members in GROUPS.items():
        assert set(ALL[f"evalign {group}"].list_commands(click.Context(ALL[f"evalign {group}"]))) == members
    assert {name.split()[1] for name in ALL if " " in name} == {*COMMANDS, "study"} - {"compat"}


@pytest.mark.parametrize("name", [name for name in ALL if name != "evalign"])
def test_every_command_has_help_with_an_example(name):
    with click.Context(ALL[name], info_name=name, help_option_names=["-h", "--help"]) as context:
        shown = context.get_help()
    lines = [line.strip() for line in shown.splitlines()]
    assert any(re.match(rf"(cat .*\| )?{name}( |$)", line) for line in lines[1:]), shown


@pytest.mark.parametrize("name", ALL)
def test_every_option_is_described(name):
    assert [option.opts for option in options(ALL[name]) if not option.help] == []


def test_no_two_options_differ_by_a_final_s():
    every = set().union(*map(names, ALL.values()))
    assert [name for name in every if f"{name}s" in every] == []


def test_an_option_means_the_same_everywhere():
    """Help texts of one name begin alike: what follows a semicolon, colon or full stop is about one command."""
    meanings, short = defaultdict(set), defaultdict(set)
    for command in ALL.values():
        for option in options(command):
            long = max(option.opts, key=len)
            meanings[long].add(re.split(r"[;:.,]", option.help)[0])
            for name in option.opts:
                short[name].add(long)
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}
    assert {name: found for name, found in short.items() if len(found) > 1} == {}


@pytest.mark.parametrize("word", ["-m", "-o", "-c", "-r", "-s"])
def test_short_options_stand_for_one_word(word):
    long = {"-m": "--metric", "-o": "--output", "-c": "--candidates", "-r": "--references", "-s": "--sources"}
    found = {
        max(option.opts, key=len) for command in ALL.values() for option in options(command) if word in option.opts
    }
    assert found == {long[word]}


def test_formats_are_those_of_the_grammar():
    allowed = ["table", "json", "tsv", "latex", "markdown"]
    few = {"evalign align", "evalign explain"}  # pictures, not tables
    for name, command in ALL.items():
        for option in options(command):
            if option.opts == ["--format"]:
                assert list(option.type.choices) == (["table", "json"] if name in few else allowed), name


def test_former_names_are_gone():
    former = {"--json", "--latex", "--tsv", "--samples", "--sample", "--bootstrap", "--out", "--language", "--models"}
    assert {name: names(command) & former for name, command in ALL.items() if names(command) & former} == {}


def literals():
    """Every string outside the modules of commands: its file, its line and its text; f-strings by their parts."""
    for file in sorted(SOURCE.rglob("*.py")):
        path = file.relative_to(SOURCE).as_posix()
        if not path.startswith(COMMAND_MODULES) and not file.name.endswith(("command.py", "_commands.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path, node.lineno, node.value


ARROW, FLAG = re.compile(r"--[^-\n]*-->"), re.compile(r"(^| |`|(?<!var)\()--[a-z]")
OTHERS = ("pip install", "ray start --head", "--hash=sha256:")  # programs of others
PIP = {"--quiet", "--no-deps", "--dest", "--only-binary=:all:", "--require-hashes", "--disable-pip-version-check"}


def test_the_library_names_arguments_not_flags():
    found = [
        f"{path}:{line}: {text[:80]!r}"
        for path, line, text in literals()
        if FLAG.search(ARROW.sub("", text)) and text not in PIP and not any(one in text for one in OTHERS)
    ]
    assert found == []


def test_commands_that_the_library_names_exist():
    typed = [
        (path, line, match[1].split())
        for path, line, text in literals()
        for match in re.finditer(r"\bevalign ((?:fit|train|batch|study|models)(?: [a-z][a-z-]*)?)", text)
    ]
    assert len(typed) > 10
    for path, line, words in typed:
        assert " ".join(["evalign", *words]) in ALL, (path, line, words)


def test_arguments_become_flags_of_the_command_that_runs():
    agree = ALL["evalign agree"]
    assert with_flags("name it with `human_field`", agree) == "name it with --human-field"
    assert with_flags("use `level=system` or `test=none`", agree) == "use --level system or --test none"
    assert with_flags("`shard_rows` and `anything`", agree) == "`shard_rows` and `anything`"
    assert with_flags("`output` exists", ALL["evalign fit idf"]) == "--output exists"
    assert with_flags("`data` is empty", agree) == "DATA is empty"
    assert with_flags("`level`", None) == "`level`"


def test_help_loads_nothing_heavy():
    heavy = ("torch", "transformers", "scipy", "onnxruntime", "onnx", "tokenizers", "matplotlib", "pandas", "ray")
    asked = [["--help"], ["fit", "-h"], ["train", "-h"], ["train", "encoder", "-h"], ["train", "lstm", "-h"],
             ["train", "combine", "-h"], ["train", "adapter", "-h"], ["fit", "idf", "-h"], ["fit", "baseline", "-h"],
             ["fit", "layers", "-h"], ["study", "german", "-h"]]  # fmt: skip
    code = f"""
import sys, contextlib, io
from evalign.cli.main import main
for arguments in {asked}:
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(arguments)
    loaded = sorted(set({heavy}) & set(sys.modules))
    assert not loaded, (arguments, loaded)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def test_the_core_imports_neither_training_nor_research():
    pattern = re.compile(r"^\s*(?:from|import) evalign\.(?:training|research)\b", re.M)
    found = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in ("training", "research") and pattern.search(file.read_text("utf-8"))
    }
    assert found == set()


def test_values_that_are_repeated_to_keep_help_light():
    assert GERMAN_ROWS == ROWS
    (epochs,) = [option for option in options(ALL["evalign study german"]) if option.name == "epochs"]
    assert epochs.default == PAPER.epochs
    assert tuple(CORRELATIONS) == STATISTICS
