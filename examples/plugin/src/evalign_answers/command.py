"""`evalign answers`: how many answers are exactly right, partly right and wrong."""

from __future__ import annotations

from pathlib import Path

import click

import evalign


@click.command()
@click.option("-c", "candidates", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True,
              help="Answers, one per line.")  # fmt: skip
@click.option("-r", "references", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=True,
              help="Gold answers, one per line.")  # fmt: skip
def answers(candidates: Path, references: Path) -> None:
    """Count answers that are exactly right, partly right and wrong."""
    texts, gold = (path.read_text("utf-8").splitlines() for path in (candidates, references))
    scores = evalign.score(texts, gold, metric="answerf1")["f1"]
    exact, wrong = int((scores == 1).sum()), int((scores == 0).sum())
    click.echo(f"exact {exact}  partial {len(scores) - exact - wrong}  wrong {wrong}")
