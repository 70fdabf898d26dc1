"""Emulate the `bert-score` command: print the hash and mean P, R and F1 of files or two texts; -s adds pairs."""

from __future__ import annotations

from pathlib import Path

import click

from evalign.compat.arguments import PeerParser
from evalign.compat.bert_score import score
from evalign.errors import InputError
from evalign.io.records import read_lines
from evalign.render.progress import progress


def main(arguments: list[str]) -> None:
    """Run `evalign compat bert-score` and print in the format of `bert-score`."""
    options = _parser().parse_args(arguments)
    candidates, references = _texts(options.cand, options.ref)
    if options.idf and not Path(options.cand).is_file():
        raise InputError("--idf needs files: document frequencies cannot be computed from one pair of texts")
    with progress("scoring"):
        fields, score_hash = score(
            candidates,
            references,
            model_type=options.model,
            num_layers=options.num_layers,
            idf=options.idf,
            lang=options.lang,
            return_hash=True,
            rescale_with_baseline=options.rescale_with_baseline,
            baseline_path=options.baseline_path,
            use_fast_tokenizer=options.use_fast_tokenizer,
        )
    precision, recall, f1 = (field.mean() for field in fields)
    click.echo(f"{score_hash} P: {precision:.6f} R: {recall:.6f} F1: {f1:.6f}")
    for row in zip(*fields, strict=True) if options.seg_level else ():
        click.echo("\t".join(f"{value:.6f}" for value in row))


def _texts(cand: str, refs: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return candidates and the references of each, from files or from the texts themselves."""
    if not Path(cand).is_file():
        if Path(refs[0]).is_file():
            raise InputError(f"{cand}: no such file, but {refs[0]} is one: pass files only, or texts only")
        return [cand], [refs]
    candidates = _stripped_lines(cand)
    files = [_stripped_lines(file) for file in refs]
    for name, lines in zip(refs, files, strict=True):
        if len(lines) != len(candidates):
            raise InputError(f"{name} has {len(lines)} lines, {cand} has {len(candidates)}")
    return candidates, [list(row) for row in zip(*files, strict=True)]


def _stripped_lines(file: str) -> list[str]:
    return [line.strip() for line in read_lines(file)]


def _parser() -> PeerParser:
    parser = PeerParser("bert-score", "bert-score's command on evalign's encoder.")
    parser.add_argument("--lang", help="language of the texts, which chooses the model")
    parser.add_argument("-m", "--model", help="model, or its directory")
    parser.add_argument("-l", "--num_layers", type=int, help="layer")
    parser.add_argument("-b", "--batch_size", type=int, help="accepted and ignored: batches are planned by token count")
    parser.add_argument("--nthreads", type=int, help="accepted and ignored")
    parser.add_argument("--idf", action="store_true", help="IDF counted over the references")
    parser.add_argument("--rescale_with_baseline", action="store_true", help="rescale by the published baseline")
    parser.add_argument("--baseline_path", help="a baseline of your own (CSV)")
    parser.add_argument(  # bert-score's own quirk: fast is the default, and this option turns it off
        "--use_fast_tokenizer",
        action="store_false",
        help="use the slow tokenizer (despite the name, as in bert-score)",
    )
    parser.add_argument("-s", "--seg_level", action="store_true", help="a line per pair")
    parser.add_argument("-v", "--verbose", action="store_true", help="accepted and ignored")
    parser.add_argument("-r", "--ref", nargs="+", required=True, help="files of references, or a text")
    parser.add_argument("-c", "--cand", required=True, help="file of candidates, or a text")
    return parser
