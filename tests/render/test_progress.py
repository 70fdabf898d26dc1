"""The progress bar: after a second, on a terminal, whether or not a step is finished; never anywhere else."""

import io
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
