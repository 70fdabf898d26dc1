"""`evalign serve`: the page and its API on this machine."""

from __future__ import annotations

import dataclasses
import os
import re
import webbrowser

import click

from evalign.cli.messages import echo_message
from evalign.cli.options import models_option
from evalign.core.registry import metric
from evalign.core.spec import format_spec
from evalign.encoders.loading import EncoderSpec, keep_encoders, open_encoder
from evalign.errors import MissingExtraError
from evalign.server.settings import RequestLimits, Settings, installed_models

TOKEN = re.compile(r"[!-~]+")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
DEFAULTS = Settings(models=())
LIMITS = RequestLimits()


@click.command()
@click.option("--host", default=DEFAULTS.host, show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any free port.")
@models_option("requests may name it; repeat for several. [default: minilm and mpnet, if installed]")
@click.option("--bartscore", multiple=True, metavar="NAME", help="Model of bartscore(model=NAME) "
              "that requests may use, for the log-probability view; repeatable; needs torch.")  # fmt: skip
@click.option("--lstm", default="", metavar="FILE", help="Result of `evalign train lstm`, for the view of gates. "
              "[default: the small cell that is included]")  # fmt: skip
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name besides localhost and --host that "
              "browsers may reach this server by; repeatable.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 256), default=DEFAULTS.workers, show_default="one per core, up to 4",
              help="Number of parallel workers; requests computed at once.")  # fmt: skip
@click.option("--queue", type=click.IntRange(0, 100_000), default=DEFAULTS.queue, show_default=True,
              help="Requests that may wait; more are answered 429.")  # fmt: skip
@click.option("--deadline", type=click.FloatRange(0, 86_400, min_open=True), default=DEFAULTS.deadline,
              show_default=True, help="Seconds that a request may take.")  # fmt: skip
@click.option("--grace", type=click.IntRange(0, 3600), default=DEFAULTS.shutdown_seconds, show_default=True,
              help="Seconds that running requests may take to finish at shutdown.")  # fmt: skip
@click.option("--token", metavar="TOKEN", envvar="EVALIGN_TOKEN", help="Token that every request must carry, and with "
              "which people log in to the page. Other users of this machine can read command lines: prefer the "
              "variable EVALIGN_TOKEN. [default: none]")  # fmt: skip
@click.option("--tls-certificate", metavar="FILE", default="", help="PEM file of a certificate with its chain, "
              "to serve https.")  # fmt: skip
@click.option("--tls-key", metavar="FILE", default="", help="PEM file of its key, without a password. [default: in the "
              "file of the certificate]")  # fmt: skip
@click.option("--client-requests", type=click.IntRange(0), default=DEFAULTS.client_requests, show_default="0, no limit",
              help="POST requests that one address may have running or waiting; more are answered 429.")  # fmt: skip
@click.option("--client-rate", type=click.IntRange(0), default=DEFAULTS.client_rate, show_default="0, no limit",
              help="POST requests of one address in a minute; more are answered 429.")  # fmt: skip
@click.option("--max-body", type=click.IntRange(1), default=LIMITS.body, show_default=True, help="Bytes of a request.")
@click.option("--max-tokens", type=click.IntRange(1), default=LIMITS.tokens, show_default=True, help="Of one text.")
@click.option("--max-pairs", type=click.IntRange(1), default=LIMITS.pairs, show_default=True,
              help="Candidates and references of one request.")  # fmt: skip
@click.option("--plugins", is_flag=True, help="Serve metrics and matchings of other installed packages too.")
@click.option("--open", "browse", is_flag=True, help="Open the page in a browser.")
@click.option("--verbose", is_flag=True, help="One line per request on standard error; no texts.")
def serve(host: str, port: int, models: tuple[str, ...], bartscore: tuple[str, ...], lstm: str,
          hosts: tuple[str, ...], workers: int, queue: int, deadline: float, grace: int, token: str | None,
          tls_certificate: str, tls_key: str, client_requests: int, client_rate: int, max_body: int, max_tokens: int,
          max_pairs: int, plugins: bool, browse: bool, verbose: bool) -> None:  # fmt: skip
    """Serve the page and the HTTP API.

    \b
    evalign serve --open
    evalign serve --model minilm --port 8000 --workers 2

    Only this machine can connect, unless --host is another address. Ctrl-C stops it after the running requests.
    """
    try:
        from evalign.server.run import serve as run
    except ImportError as error:
        raise MissingExtraError("evalign serve", "web") from error
    os.environ["HF_HUB_OFFLINE"] = "1"  # a request must never make this machine fetch anything
    limits = dataclasses.replace(
        LIMITS, body=max_body, tokens=max_tokens, pairs=max_pairs, rows=max(max_pairs, LIMITS.rows)
    )
    _check_access(token, tls_certificate, tls_key)
    if models:
        keep_encoders(len(models))
    for name in models:
        open_encoder(EncoderSpec(name))  # a model that is missing is an error now, not at the first request
    if lstm:
        metric(format_spec("lstm", {"file": lstm})).scorer()  # so is a broken file
    settings = Settings(models or installed_models(), bartscore, lstm, host, hosts, workers, queue, deadline,
                        shutdown_seconds=grace, limits=limits, plugins=plugins, verbose=verbose, token=token or "",
                        tls_certificate=tls_certificate, tls_key=tls_key, client_requests=client_requests,
                        client_rate=client_rate)  # fmt: skip
    if host not in LOOPBACK and not (token and tls_certificate):
        missing = "the token is sent unencrypted" if token else "there is no login"
        echo_message(f"{host} is open to other machines, and {missing}: see docs/server.md")

    def started(address: str) -> None:
        click.echo(f"evalign serves {', '.join(settings.models)} at {address} (Ctrl-C ends it)")
        if browse:
            webbrowser.open(address)

    run(settings, port, started)


def _check_access(token: str | None, tls_certificate: str, tls_key: str) -> None:
    """Raise if the token cannot be sent in a header, or a key has no certificate; the message never has the token."""
    empty = token is None and "EVALIGN_TOKEN" in os.environ  # a variable that was forgotten opens the server to all
    if empty or (token is not None and not TOKEN.fullmatch(token)):
        raise click.UsageError("--token: expected ASCII letters, digits and signs, without blanks")
    if tls_key and not tls_certificate:
        raise click.UsageError("--tls-key needs --tls-certificate FILE")
