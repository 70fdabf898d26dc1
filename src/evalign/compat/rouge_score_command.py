"""Emulate `python -m rouge_score.rouge`: write its CSV of mean scores with intervals, or of scores per record.

rouge-score draws unseeded resamples; here the generator has seed 0, as after `np.random.seed(0)`, so runs repeat.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path

import click
import numpy as np

from evalign.compat.arguments import PeerParser
from evalign.core import Floats
from evalign.core.registry import metric
from evalign.errors import FileFormatError, InputError
from evalign.io.files import whole_file
from evalign.render.progress import progress

TYPES = re.compile(r"rouge([1-9]|L|Lsum)")
RESAMPLES = 1000
PERCENTILES = (2.5, 50, 97.5)
BOOLEANS = {"true": True, "t": True, "yes": True, "1": True, "false": False, "f": False, "no": False, "0": False}


def main(arguments: list[str]) -> None:
    """Write the file that `python -m rouge_score.rouge ARGUMENTS` writes."""
    options = _parser().parse_args(arguments)
    types = options.rouge_types.split(",")
    for rouge_type in types:
        if not TYPES.fullmatch(rouge_type):
            raise InputError(f"--rouge_types: {rouge_type!r}; expected rouge1 to rouge9, rougeL or rougeLsum")
    targets, predictions = _texts(options)
    with progress("scoring", len(types)) as advance:
        scores = {}
        for rouge_type in types:
            scores[rouge_type] = _scores(rouge_type, targets, predictions, options)
            advance()
    with whole_file(Path(options.output_filename)) as stream, progress("resampling"):
        stream.writelines(f"{line}\n" for line in (_means(scores) if options.aggregate else _rows(scores)))


def _scores(rouge_type: str, targets: list[str], predictions: list[str], options: Namespace) -> Mapping[str, Floats]:
    """Return recall, precision and F1 of every record."""
    settings = ["tokens=ascii"]
    if options.use_stemmer:
        settings.append("stem=nltk-porter")
    if rouge_type == "rougeLsum" and options.split_summaries:
        settings.append("sentences=split")
        click.echo("evalign: sentences are split by evalign's rules, not by NLTK's", err=True)
    scored = metric(f"{rouge_type}({', '.join(settings)})").score(predictions, targets)
    return {"R": scored["recall"], "P": scored["precision"], "F": scored["f1"]}


def _means(scores: Mapping[str, Mapping[str, Floats]]) -> Iterator[str]:
    """Yield the low, middle and high percentile of resampled means, for recall, precision and F of each type."""
    draws = np.random.RandomState(0)
    yield "score_type,low,mid,high"
    percentiles = {}
    for rouge_type, measured in scores.items():
        values = np.stack([measured["P"], measured["R"], measured["F"]], axis=1)
        means = [values[draws.choice(len(values), size=len(values))].mean(axis=0) for _ in range(RESAMPLES)]
        percentiles[rouge_type] = dict(zip("PRF", np.percentile(means, PERCENTILES, axis=0).T, strict=True))
    for rouge_type in sorted(percentiles):
        for measure in "RPF":
            yield f"{rouge_type}-{measure}," + ",".join(f"{value:f}" for value in percentiles[rouge_type][measure])


def _rows(scores: Mapping[str, Mapping[str, Floats]]) -> Iterator[str]:
    """Yield a line per record: its number, then precision, recall and F of each type."""
    types = sorted(scores)
    yield ",".join(["id", *(f"{rouge_type}-{measure}" for rouge_type in types for measure in "PRF")])
    columns = [scores[rouge_type][measure] for rouge_type in types for measure in "PRF"]
    for number, row in enumerate(zip(*columns, strict=True)):
        yield ",".join([str(number), *(f"{value:f}" for value in row)])


def _texts(options: Namespace) -> tuple[list[str], list[str]]:
    """Return targets and predictions of all files, paired in the order of their names."""
    files = [sorted(glob(pattern)) for pattern in (options.target_filepattern, options.prediction_filepattern)]
    if not files[0] or len(files[0]) != len(files[1]):
        raise InputError(
            f"{options.target_filepattern} names {len(files[0])} files and {options.prediction_filepattern} "
            f"{len(files[1])}: expected the same number of each, at least one"
        )
    targets: list[str] = []
    predictions: list[str] = []
    for target, prediction in zip(*files, strict=True):
        target_records, predicted_records = _records(target, options.delimiter), _records(prediction, options.delimiter)
        if len(target_records) != len(predicted_records):
            raise InputError(f"{target} has {len(target_records)} records, {prediction} has {len(predicted_records)}")
        targets += target_records
        predictions += predicted_records
    if not targets:
        raise InputError(f"{options.target_filepattern}: no records")
    return targets, predictions


def _records(file: str, delimiter: str) -> Sequence[str]:
    try:
        records = Path(file).read_text(encoding="utf-8").split(delimiter)
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{file}: cannot be read ({error})") from error
    return records if records[-1] else records[:-1]


def _flag(value: str) -> bool:
    if value.lower() not in BOOLEANS:
        raise ValueError(value)
    return BOOLEANS[value.lower()]


def _parser() -> PeerParser:
    parser = PeerParser("rouge-score", "rouge-score's command on evalign's ROUGE.")
    parser.add_argument("--target_filepattern", required=True, help="glob pattern of the reference files")
    parser.add_argument("--prediction_filepattern", required=True, help="files of candidates")
    parser.add_argument("--output_filename", required=True, help="where the CSV goes")
    parser.add_argument("--delimiter", default="\n", help="string between records")
    parser.add_argument("--rouge_types", default="rouge1,rouge2,rougeL", help="comma-separated list of ROUGE types")
    for name, default, about in (
        ("use_stemmer", False, "stem as NLTK's Porter stemmer does"),
        ("aggregate", True, "means with intervals instead of a line per record"),
        ("split_summaries", False, "split texts into sentences for rougeLsum"),
    ):
        parser.add_argument(f"--{name}", nargs="?", const=True, default=default, type=_flag, help=about)
        parser.add_argument(f"--no{name}", dest=name, action="store_false", help=f"not --{name}")
    return parser
