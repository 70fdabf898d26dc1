"""What runs the tasks of a job: an `Engine` takes the work and the tasks, and gives their entries as they finish.

`local_engine.py` runs them in processes of this machine, `ray_engine.py` on a Ray cluster.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Protocol

from evalign.batch.manifest import Entry
from evalign.batch.worker import Task, Work
from evalign.errors import InputError

DEATHS = 3  # workers that may die at the same task


class Engine(Protocol):
    """Runs tasks somewhere. Every task's entry is given once, in any order; an error of a task is raised here."""

    def run(self, work: Work, tasks: Sequence[Task]) -> Generator[Entry]:
        """The entries of all tasks; closing it ends the work at once."""
        ...

    def close(self) -> None:
        """Ends what the runs of a job share."""
        ...


def deadly(task: Task, how: str = "") -> InputError:
    """What to say of a task at which `DEATHS` workers died."""
    return InputError(
        f"{task.shard}: {DEATHS} workers died of them{how}; perhaps memory ran out, or a text there breaks a library; "
        "run the same command with fewer --workers or more --memory, or score those rows alone: it goes on from here"
    )
