"""`evalign serve`: the page and its API on this machine."""

from __future__ import annotations

import dataclasses
import os
import webbrowser

import click

from evalign.encoders.lstm.file import load_lstm
from evalign.errors import MissingExtraError
from evalign.server.settings import Limits, Settings, installed_models

LOOPBACK = ("127.0.0.1", "localhost", "::1")
DEFAULTS = Settings(models=())
LIMITS = Limits()


@click.command()
@click.option("--host", default=DEFAULTS.host, show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any that is free.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="A model that may be asked for, as in "
              "model=NAME; repeat for several. If not given: those of minilm and mpnet that are here.")  # fmt: skip
@click.option("--bartscore", "generators", multiple=True, metavar="NAME", help="A model that the view of "
              "log-probabilities may be asked with, as in bartscore(model=NAME); repeatable; needs torch.")  # fmt: skip
@click.option("--lstm", default="", metavar="FILE", help="What `evalign train --lstm` wrote, for the view of gates. If "
              "not given: the small cell that comes along.")  # fmt: skip
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name besides localhost and --host that "
              "browsers may reach this server by; repeatable.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 256), default=DEFAULTS.workers, show_default="one per core, up to 4",
              help="Requests that are computed at once.")  # fmt: skip
@click.option("--queue", type=click.IntRange(0, 100_000), default=DEFAULTS.queue, show_default=True,
              help="Requests that may wait; more are answered 429.")  # fmt: skip
@click.option("--deadline", type=click.FloatRange(0, 86_400, min_open=True), default=DEFAULTS.deadline,
              show_default=True, help="Seconds that a request may take.")  # fmt: skip
@click.option("--grace", type=click.IntRange(0, 3600), default=DEFAULTS.shutdown_seconds, show_default=True,
              help="Seconds that running requests get when the server is told to end.")  # fmt: skip
@click.option("--max-body", type=click.IntRange(1), default=LIMITS.body, show_default=True, help="Bytes of a request.")
@click.option("--max-tokens", type=click.IntRange(1), default=LIMITS.tokens, show_default=True, help="Of one text.")
@click.option("--max-pairs", type=click.IntRange(1), default=LIMITS.pairs, show_default=True,
              help="Candidates and references of one request.")  # fmt: skip
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.option("--verbose", is_flag=True, help="One line per request on standard error; no texts.")
def serve(host: str, port: int, models: tuple[str, ...], generators: tuple[str, ...], lstm: str,
          hosts: tuple[str, ...], workers: int, queue: int, deadline: float, grace: int, max_body: int,
          max_tokens: int, max_pairs: int, browse: bool, verbose: bool) -> None:  # fmt: skip
    """Serve the page and the HTTP API.

    \b
    evalign serve --open
    evalign serve --model minilm --port 8000 --workers 2

    It listens on this machine only, unless --host says otherwise. Ctrl-C ends it; running requests are finished.
    """
    try:
        from evalign.server.run import serve as run
    except ImportError as error:
        raise MissingExtraError("evalign serve", "web") from error
    os.environ["HF_HUB_OFFLINE"] = "1"  # a request must never make this machine fetch anything
    limits = dataclasses.replace(
        LIMITS, body=max_body, tokens=max_tokens, pairs=max_pairs, rows=max(max_pairs, LIMITS.rows)
    )
    if lstm:
        load_lstm(lstm)  # a file that cannot be read is said now, not to the first who asks
    settings = Settings(models or installed_models(), generators, lstm, host, hosts, workers, queue, deadline,
                        shutdown_seconds=grace, limits=limits, verbose=verbose)  # fmt: skip
    if host not in LOOPBACK:
        click.echo(f"evalign: {host} can be reached by others, and there is no login: see docs/server.md", err=True)

    def started(address: str) -> None:
        click.echo(f"evalign serves {', '.join(settings.models)} at {address} (Ctrl-C ends it)")
        if browse:
            webbrowser.open(address)

    run(settings, port, started)
