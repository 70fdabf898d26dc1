"""The progress bar: after a second, on a terminal, whether or not a step is finished; never anywhere else."""

import io
import re
import threading

import pytest
from rich.console import Console

from evalign.render import progress as module
from evalign.render.progress import progress


class Screen(io.StringIO):
    """Says when something is drawn."""

    def __init__(self):
        super().__init__()
        self.drawn = threading.Event()

    def write(self, text):
        if "encoding" in text:  # what comes first hides the cursor
            self.drawn.set()
        return super().write(text)


def terminal(screen, is_terminal=True):
    return Console(file=screen, force_terminal=is_terminal, width=100)


@pytest.mark.parametrize("total", [None, 10])
def test_the_bar_comes_before_the_first_step_is_finished(monkeypatch, total):
    monkeypatch.setattr(module, "DELAY_SECONDS", 0)
    screen = Screen()
    with progress("encoding", total, terminal(screen)) as advance:
        assert screen.drawn.wait(300)
        advance(3)
    said = screen.getvalue()
    assert "encoding" in said
    assert ("0/10" in said) == (total is not None)
    assert "0/?" not in said


def test_quick_work_and_work_off_a_terminal_show_nothing(monkeypatch):
    screen = Screen()
    with progress("encoding", 1, terminal(screen)) as advance:
        advance()
    monkeypatch.setattr(module, "DELAY_SECONDS", 0)
    with progress("encoding", 1, terminal(screen, is_terminal=False)) as advance:
        advance()
    assert screen.getvalue() == ""


def test_off_a_terminal_lines_are_printed_on_request(monkeypatch):
    seconds = iter(range(0, 1000, 10))
    clock = {"now": 0.0}
    monkeypatch.setattr(module.time, "monotonic", lambda: clock["now"])
    screen = Screen()
    with progress("training", 40, terminal(screen, is_terminal=False), log_seconds=30) as advance:
        advance(20, earlier=True)
        for number, clock["now"] in zip(range(10), seconds, strict=False):
            advance(note=f"loss {number}")
    lines = screen.getvalue().splitlines()
    assert [re.sub(r"[\d,.]+/s, [\d:]+ left", "RATE", line) for line in lines] == [
        "training: 24/40, RATE, loss 3",
        "training: 27/40, RATE, loss 6",
        "training: 30/40, RATE, loss 9",
    ]


@pytest.mark.parametrize(
    ("done", "seconds", "left", "expected"),
    [(30, 60, 90, "0.5/s, 0:03:00 left"), (3000, 1, 6000, "3,000/s, 0:00:02 left"), (1, 4, None, "0.2/s")],
)
def test_the_rate_and_the_time_left(done, seconds, left, expected):
    assert module._rate(done, seconds, left) == expected


def test_steps_of_an_earlier_run_have_no_rate(monkeypatch):
    """A resumed training starts at step 900 of 1,000, and does not say that it did 900 steps in a second."""
    monkeypatch.setattr(module, "DELAY_SECONDS", 0)
    screen = Screen()
    with progress("encoding", 1000, terminal(screen)) as advance:
        advance(900, earlier=True)
        assert screen.drawn.wait(300)
    assert "900/1000" in screen.getvalue()
    assert "/s" not in screen.getvalue()


def test_an_error_ends_the_bar(monkeypatch):
    monkeypatch.setattr(module, "DELAY_SECONDS", 0)
    screen = Screen()

    def fails():
        with progress("encoding", 1, terminal(screen)):
            screen.drawn.wait(300)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert screen.getvalue().count("\x1b[?25h") == 1  # the cursor is back
