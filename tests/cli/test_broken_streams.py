"""Streams that are closed, full or cut short: a sentence and an exit code, no traceback, no result with a hole."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROWS = 3000
NO_SPACE = "evalign: standard output: cannot be written (No space left on device)\n"
CLOSED = "evalign: standard output: cannot be written (Bad file descriptor)\n"
TOO_LARGE = "cannot be written (File too large)\n"
CLOSED_INPUT = "evalign: standard input: cannot be read (Bad file descriptor)\n"
# What a shell is told, the exit code, and the end of standard error.
COMMANDS = {
    "a full disk": ("evalign score few.jsonl -m chrf > /dev/full", 2, NO_SPACE),
    "a full disk, text": ("evalign score few.jsonl -m chrf --format tsv > /dev/full", 2, NO_SPACE),
    "a full disk, help": ("evalign score --help > /dev/full", 2, NO_SPACE),
    "a full disk for messages": ("evalign score missing.jsonl 2> /dev/full", 2, ""),
    "a full disk for the page": ("evalign score few.jsonl -m chrf --segments /dev/full", 2,
                                 "/dev/full: cannot be written (No space left on device)\n"),
    "closed output": ("evalign score few.jsonl -m chrf >&-", 2, CLOSED),
    "closed output that is not needed": ("evalign score missing.jsonl >&-", 2, "missing.jsonl: no such file\n"),
    "closed input": ("evalign score -r two.txt -m chrf <&-", 2, CLOSED_INPUT),
    "closed input, named": ("evalign score - -m chrf <&-", 2, CLOSED_INPUT),
    "closed input that is not needed": ("evalign score few.jsonl -m chrf <&- > /dev/null", 0, ""),
    "closed messages": ("evalign score missing.jsonl 2>&-", 2, ""),
    "all closed": ("evalign score few.jsonl -m chrf --segments all.jsonl <&- >&- 2>&-", 2, ""),
    "a limit of the output": ("ulimit -f 8; evalign score rows.jsonl -m chrf --format json --segments - > out.json", 2,
                              f"evalign: standard output: {TOO_LARGE}"),
    "a limit of a file": ("ulimit -f 8; evalign score rows.jsonl -m chrf --segments cut.jsonl", 2, TOO_LARGE),
    "a reader that leaves": ("evalign score rows.jsonl -m chrf --format json --segments - | head -c 1 > /dev/null; "
                             "exit ${PIPESTATUS[0]}", 141, ""),
    "a reader of rows that leaves": ("evalign score rows.jsonl -m chrf --segments /dev/stdout | head -c 1 > /dev/null; "
                                     "exit ${PIPESTATUS[0]}", 141, ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("streams")
    lines = [json.dumps({"id": str(row), "candidate": "a b", "references": ["a c"]}) for row in range(ROWS)]
    (made / "rows.jsonl").write_text("\n".join(lines))
    (made / "few.jsonl").write_text("\n".join(lines[:3]))
    (made / "two.txt").write_text("a\nb\n")
    return made


def shell(command, folder, **changes):
    """The command of a shell, in which `evalign` is this Python's."""
    function = f'evalign() {{ "{sys.executable}" -m evalign "$@"; }}\n'
    environment = os.environ | {"PYTHONUNBUFFERED": ""} | changes
    return subprocess.run(
        ["bash", "-c", function + command], cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
    )


@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", COMMANDS)
def test_one_sentence_and_an_exit_code(case, unbuffered, folder):
    command, code, sentence = COMMANDS[case]
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    done = shell(command, folder, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr.count("\n")) == (code, bool(sentence)), done.stderr
    assert done.stderr.endswith(sentence)
    assert not (folder / "cut.jsonl").exists()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", ["--help", "score --help", "--version", "metrics", "metrics bleu"])
def test_a_reader_that_has_left_before(arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "evalign", *arguments.split()], stdout=writer, stderr=subprocess.PIPE,
                          env=os.environ | {"PYTHONUNBUFFERED": unbuffered}, timeout=1200)  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_no_file_of_the_command_takes_the_number_of_a_closed_stream(folder):
    """Messages of libraries would go into it."""
    shell("evalign score few.jsonl -m chrf --segments all.jsonl <&- >&- 2>&-", folder)
    assert [json.loads(line)["id"] for line in (folder / "all.jsonl").read_text().splitlines()] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("evalign score few.jsonl -m chrf --format tsv --segments /dev/stdout", 5),
        ("evalign score few.jsonl -m chrf --format tsv --segments /dev/stdout | cat", 5),
        ("evalign score few.jsonl -m chrf --format tsv --segments /dev/stdout > both; cat both", 5),
        ("evalign score few.jsonl -m chrf --segments /dev/stderr 2>&1 >/dev/null", 3),
        ("evalign score few.jsonl -m chrf --segments /dev/fd/3 3>rows >/dev/null; cat rows", 3),
        ("evalign score few.jsonl -m chrf --segments >(cat > rows) > /dev/null; "
         "for try in $(seq 600); do [ $(wc -l < rows) = 3 ] && break; sleep .1; done; cat rows", 3),
        ("mkfifo pipe; cat pipe & evalign score few.jsonl -m chrf --segments pipe > /dev/null; wait", 3),
    ],
)  # fmt: skip
def test_rows_go_into_open_files_and_pipes(command, lines, folder):
    done = shell(command, folder)
    assert done.stderr == ""
    written = done.stdout.splitlines()
    assert len(written) == lines
    assert [json.loads(line)["id"] for line in written[:3]] == ["0", "1", "2"]


def test_a_descriptor_that_is_not_open_is_a_sentence(folder):
    done = shell("evalign score few.jsonl -m chrf --segments /dev/fd/77", folder)
    assert (done.returncode, done.stderr) == (2, "evalign: /dev/fd/77: cannot be written (Bad file descriptor)\n")


# Modules that send themselves Ctrl-C while they are imported, and whether the import is finished then.
IMPORTS = {"once": ("os.kill(os.getpid(), signal.SIGINT)\n", "True"),
           "twice": ("os.kill(os.getpid(), signal.SIGINT)\n" * 2, "False")}  # fmt: skip
WAITING = """
import sys, time
from evalign.cli.interrupts import defer_during_imports
defer_during_imports()
try:
    import interrupted
    time.sleep(600)
except KeyboardInterrupt:
    print(hasattr(sys.modules.get("interrupted"), "finished"))
"""


@pytest.mark.parametrize("times", IMPORTS)
def test_ctrl_c_waits_for_the_end_of_an_import(times, tmp_path):
    kills, finished = IMPORTS[times]
    (tmp_path / "interrupted.py").write_text(f"import os, signal, time\n{kills}time.sleep(.3)\nfinished = True\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", WAITING], env=os.environ | {"PYTHONPATH": paths}, text=True,
                          capture_output=True, timeout=300)  # fmt: skip
    assert (done.stdout, done.stderr) == (f"{finished}\n", "")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the loaded libraries of a process are not visible")
@pytest.mark.parametrize("library", ["_multiarray", "_highs", "scipy/stats"])
def test_ctrl_c_while_libraries_are_loaded(library, folder):
    with subprocess.Popen(
        [sys.executable, "-m", "evalign", "score", "-r", "two.txt", "-m", "bertscore(model=fake)"], cwd=folder,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        end = time.monotonic() + 300
        while library not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        assert process.stderr.read().strip() == "evalign: interrupted"


def test_an_unexpected_error_shows_its_traceback_escaped(folder):
    code = "import evalign.cli.main as m\ndef main(): raise ZeroDivisionError('\\x1b[2J')\nm.main = main\n"
    code += "from evalign.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: \\u001b[2J\n")


def test_running_out_of_memory_is_a_sentence(folder, run, monkeypatch):
    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr("evalign.cli.score.score_source", exhausted)
    done = run("score", "few.jsonl", "-m", "chrf", cwd=folder)
    assert (done.returncode, done.stderr) == (2, "evalign: out of memory: score fewer or shorter texts at a time\n")
