"""Rated German rows, the example's study and the command, for the tests of the German summaries study."""

from dataclasses import replace

import pytest

from evalign.cli.main import main
from evalign.core import Row
from evalign.io.rows import Columns
from evalign.research.studies.german.data import RowChoice, read_judged
from evalign.research.studies.german.study import GermanPlan
from evalign.stats.bootstrap import Resampling

RESAMPLING = Resampling(samples=50)
PLAN = GermanPlan(resampling=RESAMPLING)


def example(**asked):
    return read_judged(None, Columns(), None, RowChoice(**asked))


def rows(count=6, **changes):
    made = [Row(str(n), f"Der Fluss stieg {n} Meter.", (f"Der Fluss stieg um {n * n} Meter.",), f"Der Fluss {n}.",
                human=float(n)) for n in range(count)]  # fmt: skip
    return [replace(row, **changes) for row in made]


def system(study, name):
    return next(one for one in study.verdict.systems if one.name == name)


def library(metric, judged):
    texts = [row.candidate for row in judged.rows], [list(row.references) for row in judged.rows]
    report = metric.score(*texts, sources=[row.source for row in judged.rows])
    return report[metric.fields[-1]]


def command(capsys, folder, *arguments):
    with pytest.raises(SystemExit) as done:
        main(["study", "german", "-o", str(folder), "--threads", "1", *arguments])
    shown = capsys.readouterr()
    return done.value.code, shown.out, shown.err
