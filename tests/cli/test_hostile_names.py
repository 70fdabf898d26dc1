"""Every command on a terminal, with control sequences in names, fields, file names and texts: all arrive escaped."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import unicodedata

import click
import pytest

from evalign.cli.main import cli

PATIENCE = 600  # seconds: out of reach of a busy machine
# A link (OSC 8), a colour that nothing here uses (CSI), BEL, C1's CSI and NEL, reading directions, a carriage return.
HOSTILE = "\x1b]8;;http://x.example\x07\x1b[38;5;199m\x07\x9b7m\x85\u202egnp\u200f\u2066\r"
DIRECTIONAL = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
STYLE = re.compile(rb"\x1b\[[0-9;]*m")
BAR = re.compile(rb"\x1b\[(\?25[lh]|2K|1A)|\r")
SHOWN = ("gnp", "\ufffd")  # a part of the text, or the sign that replaces hidden characters
TABLES = ("table", "json", "tsv", "latex", "markdown")
CHRF = ["-m", "chrf"]
FAKE = ["-m", "bertscore(model=fake)"]
# Command: lists of arguments. Of a command that prints nothing from data, an error that quotes an argument.
COMMANDS = {
    "score": [
        *(["{rows}", *CHRF, "--format", name] for name in TABLES),
        ["{rows}", *CHRF, "--segments", "/dev/stdout"],
        ["{rows}", *CHRF, "--html", "/dev/stdout"],
        ["{rows}", *CHRF, "--segments", "-", "--format", "tsv"],
        ["-c", "{a}", "-c", "{b}", "-r", "{b}", *CHRF],
        ["-c", "{raw}", "-r", "{b}", *CHRF],
        ["{broken}", *CHRF],
        ["{rows}", *CHRF, "--candidate-field", "{text}"],
        ["{rows}", "-m", "{text}"],
        ["--{text}"],
    ],
    "compare": [
        *(["{rows}", *CHRF, "--resamples", "20", "--format", name] for name in TABLES),
        ["{rows}", *CHRF, "--baseline", "{text}"],
    ],
    "align": [["{text}", "{text} a", *FAKE], ["{text}", "{text} a", *FAKE, "--matching", "all"],
              ["{text}", "b", *FAKE, "--format", "json"]],
    "explain": [["{text} a", "{text} b", *FAKE], ["{text} a", "{text} b", "-m", "rougeL"],
                ["{text} a", "{text} b", "-m", "meteor"], ["{text} a", "-m", "lstm"]],
    "agree": [
        *(["{rows}", *CHRF, "--within", "{field}", "--resamples", "20", "--format", name] for name in TABLES),
        ["{rows}", *CHRF, "--scores", "{text}={missing}"],
    ],
    "audit": [["{rows}", *CHRF, "--resamples", "20"], ["{rows}", *CHRF, "--resamples", "20", "--format", "markdown"],
              ["{broken}", *CHRF]],
    "fit idf": [["{a}", "-o", "{out}", "--model", "fake"]],
    "fit baseline": [["{a}", "-o", "{out}.tsv", *FAKE, "--random-pairs", "20"]],
    "fit layers": [["{rows}", *FAKE, "--within", "{text}"], ["{broken}", *FAKE]],
    "train encoder": [["{broken}", "-o", "{out}"]],
    "train adapter": [["{broken}", "-o", "{out}"]],
    "train lstm": [["{broken}", "-o", "{out}"]],
    "train combine": [["{rows}", *CHRF, "-m", "rouge1", "-o", "{out}"], ["{broken}", *CHRF, "-o", "{out}"]],
    "batch run": [["{rows}", "-o", "{out}", *CHRF, "--workers", "1"],
                  ["{broken}", "-o", "{out}", *CHRF, "--workers", "1"]],
    "batch status": [["{missing}"]],
    "batch verify": [["{missing}"]],
    "batch merge": [["{job}"], ["{job}", "-o", "/dev/stdout"], ["{job}", "--format", "tsv"], ["{missing}"]],
    "serve": [["--lstm", "{missing}"]],
    "models": [["{text}"]],
    "models get": [["{text}"]],
    "models get-baselines": [["{text}"]],
    "models layers": [["{text}"]],
    "metrics": [["{text}"]],
    "embeddings info": [["{missing}"]],
    "embeddings verify": [["{missing}"]],
    "embeddings clear": [["{missing}"]],
    "doctor": [["{text}"]],
    "compat": [["{text}"], ["bert-score", "-r", "{b}", "-c", "{missing}"],
               ["rouge-score", "--target_filepattern={missing}", "--prediction_filepattern={a}",
                "--output_filename={out}"],
               ["sacrebleu", "{missing}", "-i", "{a}"], ["sacrebleu", "--{text}"]],
    "study german": [["--{text}"]],
    "study lisa": [["--{text}"]],
}  # fmt: skip
CASES = [(name, arguments) for name, lists in COMMANDS.items() for arguments in lists]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("hostile")
    rows = [
        {"id": f"{HOSTILE}{number}", "system": f"{'=ab'[number % 3]}{HOSTILE}", "candidate": f"the cat {HOSTILE} sat",
         "references": [f"a cat {HOSTILE} sat on {number // 3}"], "source": HOSTILE,
         "human": {HOSTILE: number, "fluency": number % 5}, f"lp{HOSTILE}": f"de{HOSTILE}{number % 2}"}
        for number in range(36)
    ]  # fmt: skip
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in rows]
    (made / f"rows{HOSTILE.replace('/', '')}.jsonl").write_bytes(b"\n".join(lines))
    (made / f"broken{HOSTILE.replace('/', '')}.jsonl").write_bytes(lines[0] + b"\n" + lines[1] + b" {\n")
    for name in ("a", "b"):
        text = "\n".join(f"{name} cat {HOSTILE} sat {number}" for number in range(12)).replace("\x85", "").encode()
        (made / f"{name}{HOSTILE.replace('/', '')}.txt").write_bytes(text)
    return made


@pytest.fixture(scope="module")
def job(folder, names):
    command = ["batch", "run", names["rows"], "-o", names["job"], *CHRF, "--workers", "1"]
    subprocess.run([sys.executable, "-m", "evalign", *command], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def names():
    part = HOSTILE.replace("/", "")
    raw = os.fsdecode(b"raw\x9b7m" + part.encode())  # no UTF-8
    return {
        "rows": f"rows{part}.jsonl", "broken": f"broken{part}.jsonl", "a": f"a{part}.txt", "b": f"b{part}.txt",
        "missing": f"missing{part}", "job": f"job{part}", "text": HOSTILE, "field": f"lp{HOSTILE}", "raw": raw,
    }  # fmt: skip


def leaves(command, path=()):
    """Names of all commands that print something of their own, plugged-in ones included."""
    context = click.Context(command)
    if not isinstance(command, click.Group) or (path and command.invoke_without_command):
        yield " ".join(path)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from leaves(command.get_command(context, name), (*path, name))


def printed(arguments, folder):
    """Everything that a command sends to a terminal, and its exit code."""
    terminal, other = pty.openpty()
    settings = {"TERM": "xterm-256color", "COLUMNS": "1000"}
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | settings
    with subprocess.Popen(
        [sys.executable, "-m", "evalign", *arguments],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=environment,
    ) as process:  # fmt: skip
        os.close(other)
        received = b""
        while select.select([terminal], [], [], PATIENCE)[0]:
            try:
                received += os.read(terminal, 65536)
            except OSError:  # the other side is closed
                break
        os.close(terminal)
        return received, process.wait(PATIENCE)


def test_every_command_has_a_case():
    assert set(COMMANDS) == set(leaves(cli))


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[f"{n} {' '.join(a)}"[:80] for n, a in CASES])
def test_nothing_from_data_acts_on_the_terminal(name, arguments, folder, names, job, tmp_path):
    filled = [text.format(out=tmp_path / names["missing"], **names) for text in arguments]
    received, code = printed([*name.split(), *filled], folder)
    assert code in (0, 2, 3), received
    assert b"Traceback" not in received
    assert b"\x1b[38;5;199m" not in received
    text = BAR.sub(b"", STYLE.sub(b"", received)).decode("utf-8", "strict")
    acting = {char for char in text if unicodedata.category(char) in ("Cc", "Cs") and char not in "\t\n"}
    assert not acting | (DIRECTIONAL & set(text)), text
    assert any(shown in text for shown in SHOWN), f"nothing of the data: {text}"


@pytest.mark.parametrize("format_name", ["json", "tsv"])
def test_machine_readable_output_has_the_same_data(format_name, folder, names, run):
    done = run("score", names["rows"], *CHRF, "--format", format_name, "--segments", "-", cwd=folder)
    systems, ids = {f"{first}{HOSTILE}" for first in "=ab"}, {f"{HOSTILE}{number}" for number in range(36)}
    if format_name == "json":
        results = json.loads(done.stdout)["results"]
        assert {result["system"] for result in results} == systems
        assert {segment["id"] for result in results for segment in result["segments"]} == ids
    else:
        lines = [line.split("\t") for line in done.stdout.split("\n")[1:-1]]
        assert len({line[0] for line in lines}) == 3
        assert {line[0][:2] for line in lines} == {"'=", "a\\", "b\\"}
        assert len({line[2] for line in lines}) == len(ids)


def test_segments_parse_back(folder, names, run, tmp_path):
    run("score", names["rows"], *CHRF, "--segments", str(tmp_path / "rows.jsonl"), cwd=folder)
    text = (tmp_path / "rows.jsonl").read_text("utf-8")
    assert "\u202e" not in text
    assert {json.loads(line)["id"] for line in text.splitlines()} == {f"{HOSTILE}{number}" for number in range(36)}


def test_a_file_name_with_a_line_break_is_one_line_of_the_message(run):
    done = run("score", "no\nevalign: all rows scored.jsonl", *CHRF)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_colours_stay(folder, names):
    received, code = printed(["compare", names["rows"], *CHRF, "--resamples", "20"], folder)
    assert code == 0
    assert STYLE.search(received)
