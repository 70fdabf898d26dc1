"""`evalign compat PEER ARGUMENTS...`: a script written for another program changes one word."""

from __future__ import annotations

from importlib import import_module

import click

PEERS = {
    "bert-score": "bert_score",
    "rouge-score": "rouge_score",
    "sacrebleu": "sacrebleu",
}
PASS_THROUGH = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@click.command(context_settings=PASS_THROUGH)
@click.argument("peer", metavar="PEER", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def compat(peer: str | None, arguments: tuple[str, ...]) -> None:
    """Take another program's arguments and print what it prints.

    \b
    evalign compat bert-score -r references.txt -c system.txt --lang en
    evalign compat rouge-score --target_filepattern=refs.txt --prediction_filepattern=sys.txt --output_filename=out.csv
    evalign compat sacrebleu references.txt -i system.txt -m bleu chrf
    """
    if peer in (None, "-h", "--help"):
        click.echo(click.get_current_context().get_help())
    elif peer not in PEERS:
        raise click.UsageError(f"no program {peer!r}; expected one of {', '.join(PEERS)}")
    else:
        import_module(f"evalign.compat.{PEERS[peer]}_command").main(list(arguments))
