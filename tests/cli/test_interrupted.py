"""Long commands on a terminal: each shows a bar on standard error, and Ctrl-C ends it with one line and code 130."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
ROWS = 40_000
PATIENCE = 300  # seconds: out of reach of a busy machine

COMMANDS = {  # what the bar says
    "score rows.jsonl -m chrf": "scoring",
    "compare -c a.txt -c b.txt -r b.txt -m chrf": "scoring",
    "agree rows.jsonl -m chrf": "scoring",
    "audit rows.jsonl -m chrf --sample-rows 30000": r"\w+",
    "batch run rows.jsonl -o job -m chrf --workers 1": r"\w+",
    "fit layers rows.jsonl -m bertscore(model=fake)": "scoring every layer",
    "fit baseline a.txt -o table.tsv -m bertscore(model=fake) --random-pairs 40000": "scoring unrelated pairs",
    "fit idf a.txt b.txt a.txt b.txt -o idf.json --model fake": "counting",
    "train combine rows.jsonl -m chrf -m rouge1 -o learned.json": "computing features",
    # Scoring ends within a second on a fast processor, before the bar is shown; the resamples take longer.
    "compat rouge-score --target_filepattern=a.txt --prediction_filepattern=b.txt --output_filename=o.csv": r"\w+",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("long")
    texts = [" ".join(f"w{(place * step) % 9973}" for step in range(1, 40)) for place in range(1, ROWS + 1)]
    (made / "a.txt").write_text("\n".join(texts))
    (made / "b.txt").write_text("\n".join(reversed(texts)))
    rows = (
        {"candidate": text, "references": [text[::-1]], "human": len(text) % 7, "id": str(place)}
        for place, text in enumerate(texts)
    )
    (made / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return made


def shown_until(terminal, pattern, process):
    """What the terminal shows, up to a match of `pattern` or the end."""
    said, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end and not (pattern and re.search(pattern, said)):
        if select.select([terminal], [], [], 1)[0]:
            try:
                said += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError:  # the other side is closed
                return said
        elif process.poll() is not None:
            return said
    return said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_bar_and_one_line_after_ctrl_c(folder, command):
    terminal, other = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "evalign", *command.split()],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other, text=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "120"}, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore Ctrl-C
    ) as process:  # fmt: skip
        os.close(other)
        try:
            bar = shown_until(terminal, rf"{COMMANDS[command]} .*━.*\d:\d\d:\d\d", process)
            assert re.search(COMMANDS[command], bar), bar
            os.killpg(process.pid, signal.SIGINT)
            after = shown_until(terminal, None, process)
            assert process.wait(PATIENCE) == 130, bar + after
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            os.close(terminal)
        printed = process.stdout.read()
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", after).replace("\r", "\n")
    said = [line for line in plain.splitlines() if line.strip() and "━" not in line]
    assert len(said) == 1, plain
    assert said[0].startswith(("evalign: interrupted", "evalign: stopped;"))
    assert printed == ""
