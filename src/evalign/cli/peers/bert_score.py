"""`bert-score`'s command: files or two texts in; its hash and the mean P, R and F1 out, with -s a line per pair."""

from __future__ import annotations

from pathlib import Path

import click

from evalign.cli.peers.arguments import PeerParser
from evalign.data.text_lines import read_lines
from evalign.errors import InputError
from evalign.metrics.bert_scorer import score
from evalign.render.progress import progress


def main(arguments: list[str]) -> None:
    """What `bert-score ARGUMENTS` prints."""
    given = _parser().parse_args(arguments)
    candidates, references = _texts(given.cand, given.ref)
    if given.idf and not Path(given.cand).is_file():
        raise InputError("--idf needs files: there is nothing to count in a single pair of texts")
    with progress("scoring"):
        fields, made_by = score(
            candidates,
            references,
            model_type=given.model,
            num_layers=given.num_layers,
            idf=given.idf,
            lang=given.lang,
            return_hash=True,
            rescale_with_baseline=given.rescale_with_baseline,
            baseline_path=given.baseline_path,
            use_fast_tokenizer=given.use_fast_tokenizer,
        )
    precision, recall, f1 = (field.mean() for field in fields)
    click.echo(f"{made_by} P: {precision:.6f} R: {recall:.6f} F1: {f1:.6f}")
    for row in zip(*fields, strict=True) if given.seg_level else ():
        click.echo("\t".join(f"{value:.6f}" for value in row))


def _texts(cand: str, refs: list[str]) -> tuple[list[str], list[list[str]]]:
    """Candidates, and the references of each; names of files, or the texts themselves."""
    if not Path(cand).is_file():
        if Path(refs[0]).is_file():
            raise InputError(f"{cand}: no such file, though the reference is one")
        return [cand], [refs]
    candidates = _stripped(cand)
    files = [_stripped(file) for file in refs]
    for name, lines in zip(refs, files, strict=True):
        if len(lines) != len(candidates):
            raise InputError(f"{name} has {len(lines)} lines, {cand} has {len(candidates)}")
    return candidates, [list(row) for row in zip(*files, strict=True)]


def _stripped(file: str) -> list[str]:
    return [line.strip() for line in read_lines(file)]


def _parser() -> PeerParser:
    parser = PeerParser("bert-score", "bert-score's command on evalign's encoder.")
    parser.add_argument("--lang", help="language of the texts, which chooses the model")
    parser.add_argument("-m", "--model", help="model, or its directory")
    parser.add_argument("-l", "--num_layers", type=int, help="layer")
    parser.add_argument("-b", "--batch_size", type=int, help="read, changes nothing: batches are planned by tokens")
    parser.add_argument("--nthreads", type=int, help="read, changes nothing")
    parser.add_argument("--idf", action="store_true", help="IDF counted over the references")
    parser.add_argument("--rescale_with_baseline", action="store_true", help="rescale by the published baseline")
    parser.add_argument("--baseline_path", help="a baseline of your own (CSV)")
    parser.add_argument(  # as there: the fast tokenizer is the command's default, and the option turns it off
        "--use_fast_tokenizer",
        action="store_false",
        help="take the slow tokenizer, as bert-score then does",
    )
    parser.add_argument("-s", "--seg_level", action="store_true", help="a line per pair")
    parser.add_argument("-v", "--verbose", action="store_true", help="read, changes nothing")
    parser.add_argument("-r", "--ref", nargs="+", required=True, help="files of references, or a text")
    parser.add_argument("-c", "--cand", required=True, help="file of candidates, or a text")
    return parser
