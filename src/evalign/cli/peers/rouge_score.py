"""`python -m rouge_score.rouge`: files of targets and predictions in, its CSV of means with intervals, or of rows, out.

Its intervals are drawn anew on every run; here the draws are numpy's after `np.random.seed(0)`, so that a run repeats.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path

import click
import numpy as np

from evalign.atomic_files import whole_file
from evalign.cli.peers.arguments import PeerParser
from evalign.errors import FileFormatError, InputError
from evalign.metrics.registry import metric
from evalign.render.progress import progress
from evalign.types import Floats

TYPES = re.compile(r"rouge([1-9]|L|Lsum)")
SAMPLES = 1000
PERCENTILES = (2.5, 50, 97.5)
FLAGS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


def main(arguments: list[str]) -> None:
    """Writes the file that `python -m rouge_score.rouge ARGUMENTS` writes."""
    given = _parser().parse_args(arguments)
    kinds = given.rouge_types.split(",")
    for kind in kinds:
        if not TYPES.fullmatch(kind):
            raise InputError(f"--rouge_types: {kind!r}; expected rouge1 to rouge9, rougeL or rougeLsum")
    targets, predictions = _texts(given)
    with progress("scoring", len(kinds)) as advance:
        scores = {}
        for kind in kinds:
            scores[kind] = _scores(kind, targets, predictions, given)
            advance()
    with whole_file(Path(given.output_filename)) as stream, progress("resampling"):
        stream.writelines(f"{line}\n" for line in (_means(scores) if given.aggregate else _rows(scores)))


def _scores(kind: str, targets: list[str], predictions: list[str], given: Namespace) -> Mapping[str, Floats]:
    """Recall, precision and F1 of every record."""
    options = ["tokens=ascii"]
    if given.use_stemmer:
        options.append("stem=nltk-porter")
    if kind == "rougeLsum" and given.split_summaries:
        options.append("sentences=split")
        click.echo("evalign: sentences are split by evalign's rules, not by NLTK's", err=True)
    scored = metric(f"{kind}({', '.join(options)})").score(predictions, targets)
    return {"R": scored["recall"], "P": scored["precision"], "F": scored["f1"]}


def _means(scores: Mapping[str, Mapping[str, Floats]]) -> Iterator[str]:
    """Of each type recall, precision and F: a low, a middle and a high mean of resampled records."""
    draws = np.random.RandomState(0)
    yield "score_type,low,mid,high"
    found = {}
    for kind, measured in scores.items():
        values = np.stack([measured["P"], measured["R"], measured["F"]], axis=1)
        means = [values[draws.choice(len(values), size=len(values))].mean(axis=0) for _ in range(SAMPLES)]
        found[kind] = dict(zip("PRF", np.percentile(means, PERCENTILES, axis=0).T, strict=True))
    for kind in sorted(found):
        for measure in "RPF":
            yield f"{kind}-{measure}," + ",".join(f"{value:f}" for value in found[kind][measure])


def _rows(scores: Mapping[str, Mapping[str, Floats]]) -> Iterator[str]:
    """A line per record: its number, then precision, recall and F of each type."""
    kinds = sorted(scores)
    yield ",".join(["id", *(f"{kind}-{measure}" for kind in kinds for measure in "PRF")])
    columns = [scores[kind][measure] for kind in kinds for measure in "PRF"]
    for number, row in enumerate(zip(*columns, strict=True)):
        yield ",".join([str(number), *(f"{value:f}" for value in row)])


def _texts(given: Namespace) -> tuple[list[str], list[str]]:
    """Targets and predictions of all files, paired in the order of their names."""
    files = [sorted(glob(pattern)) for pattern in (given.target_filepattern, given.prediction_filepattern)]
    if not files[0] or len(files[0]) != len(files[1]):
        raise InputError(
            f"{given.target_filepattern} names {len(files[0])} files, {given.prediction_filepattern} {len(files[1])}: "
            "expected as many of each, and at least one"
        )
    targets: list[str] = []
    predictions: list[str] = []
    for target, prediction in zip(*files, strict=True):
        wanted, made = _records(target, given.delimiter), _records(prediction, given.delimiter)
        if len(wanted) != len(made):
            raise InputError(f"{target} has {len(wanted)} records, {prediction} has {len(made)}")
        targets += wanted
        predictions += made
    if not targets:
        raise InputError(f"{given.target_filepattern}: no records")
    return targets, predictions


def _records(file: str, delimiter: str) -> Sequence[str]:
    try:
        records = Path(file).read_text(encoding="utf-8").split(delimiter)
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: cannot be read ({error})") from error
    return records if records[-1] else records[:-1]


def _flag(value: str) -> bool:
    if value.lower() not in FLAGS:
        raise ValueError(value)
    return FLAGS[value.lower()]


def _parser() -> PeerParser:
    parser = PeerParser("rouge-score", "rouge-score's command on evalign's ROUGE.")
    parser.add_argument("--target_filepattern", required=True, help="files of references; * and ? are understood")
    parser.add_argument("--prediction_filepattern", required=True, help="files of candidates")
    parser.add_argument("--output_filename", required=True, help="where the CSV goes")
    parser.add_argument("--delimiter", default="\n", help="what ends a record")
    parser.add_argument("--rouge_types", default="rouge1,rouge2,rougeL", help="between commas")
    for name, default, about in (
        ("use_stemmer", False, "stem as NLTK's Porter stemmer does"),
        ("aggregate", True, "means with intervals instead of a line per record"),
        ("split_summaries", False, "split texts into sentences for rougeLsum"),
    ):
        parser.add_argument(f"--{name}", nargs="?", const=True, default=default, type=_flag, help=about)
        parser.add_argument(f"--no{name}", dest=name, action="store_false", help=f"not --{name}")
    return parser
