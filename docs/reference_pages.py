"""Writes the reference: commands from click, the HTTP API from its OpenAPI document, Python from its docstrings."""

from __future__ import annotations

import html
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import evalign
from evalign.cli.main import cli
from evalign.core.metric import Metric
from evalign.core.registry import metric_class, metric_names
from evalign.server.app import create_app
from evalign.server.openapi import type_text
from evalign.server.settings import Settings

MADE = "<!-- made by docs/generate.py -->"
CAPABILITIES = ("align", "pairwise", "score_layers", "likelihoods")
LISTS = Path(evalign.__file__).with_suffix(".pyi")  # every public name, and after the first empty lines former ones


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; a bar inside a cell is written so that it stays one."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in line) + " |" for line in lines)


def cli_page() -> str:
    """Every command with its arguments and options."""
    parts = ["# Commands", MADE, "`evalign COMMAND --help` says the same on the terminal."]
    context = click.Context(cli, info_name="evalign")
    names = cli.list_commands(context)
    parts.append(table(["command", "what it does"], [[_link(name), cli.summary(context, name)] for name in names]))
    parts.append(
        "Exit codes and environment variables: [settings](settings.md). Commands to copy: [cookbook](../cookbook.md)."
    )
    parts.append(table(["option of evalign itself", "what it says"], [_option_row(option) for option in _shown(cli)]))
    for name in names:
        command = cli.get_command(context, name)
        assert command is not None
        parts.extend(_command(command, f"evalign {name}"))
    return "\n\n".join(parts) + "\n"


def _link(name: str) -> str:
    return f"[`{name}`](#evalign-{name})"


def _command(command: click.Command, path: str, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} `{path}`"
    yield _help(command.help or "")
    arguments = [item for item in command.params if isinstance(item, click.Argument)]
    if arguments:
        yield "Arguments: " + ", ".join(f"`{item.metavar or (item.name or '').upper()}`" for item in arguments) + "."
    if options := _shown(command):
        yield table(["option", "what it says"], [_option_row(option) for option in options])
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, f"{path} {name}", level + 1)


def _help(text: str) -> str:
    """A command's help: paragraphs stay, examples (after a backspace, as click wants it) become code."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            parts.append("```\n" + inspect.cleandoc(paragraph[1:].strip("\n")) + "\n```")
        else:
            parts.append(_plain(paragraph))
    return "\n\n".join(parts)


def _plain(text: str) -> str:
    """Text that Markdown must not read: `*` and `<` stay what they are."""
    return re.sub(r"(?<![`\w])([*<])", r"\\\1", text)


def _shown(command: click.Command) -> list[click.Option]:
    return [item for item in command.params if isinstance(item, click.Option) and not item.hidden]


def _option_row(option: click.Option) -> list[str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        value = " ".join(f"`{choice}`" for choice in option.type.choices)
    elif option.is_flag or option.count:
        value = ""
    else:
        value = f"`{option.metavar or option.type.name.upper().replace(' RANGE', '')}`"
    about = [_plain(option.help or "")]
    if option.show_default and option.default not in (None, False) and not callable(option.default):
        default = option.default if isinstance(option.default, (list, tuple)) else [option.default]
        about.append(f"Default: {' '.join(f'`{item}`' for item in default)}.")
    if option.required:
        about.append("Required.")
    if option.multiple:
        about.append("May be repeated.")
    return [f"{names} {value}".strip(), " ".join(filter(None, about))]


def http_page() -> str:
    """Every request of the server, with its fields, an example and its answers."""
    served: Any = create_app(Settings(models=("fake",)))
    while not hasattr(served, "routes"):  # the application lies inside its guards
        served = served.app
    document = served.openapi()
    parts = ["# The HTTP API", MADE, document["info"]["description"]]
    parts.append("Served by [`evalign serve`](cli.md#evalign-serve); how it behaves: [the server](../server.md).")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.extend(_operation(document, path, method, operation))
    return "\n\n".join(parts) + "\n"


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"## `{method.upper()} {path}`"
    yield f"**{operation['summary']}.** {operation.get('description', '')}".rstrip()
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        yield "Body:"
        yield "\n".join(_fields(document, content["schema"]))
        yield f"```json\n{json.dumps(content['example'])}\n```"
    answers: dict[str, list[str]] = {}
    for status, answer in operation["responses"].items():
        answers.setdefault(_kind(_schema_of(answer)), []).append(f"`{status}`")
    yield "Answers: " + "; ".join(f"{' '.join(codes)} {kind}".strip() for kind, codes in answers.items()) + "."


def _schema_of(answer: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _kind(schema: dict[str, Any]) -> str:
    return html.unescape(type_text(schema)) if schema else ""


def _fields(document: dict[str, Any], schema: dict[str, Any], level: int = 0) -> Iterator[str]:
    """A nested list of an object's fields."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for name, inner in schema.get("properties", {}).items():
        need = "" if name in schema.get("required", ()) else ", optional"
        about = f": {_plain(inner['description'])}" if inner.get("description") else ""
        yield f"{'    ' * level}- `{name}` ({_kind(inner)}{need}){about}"
        if level < 2:
            for part in (inner, *inner.get("anyOf", ())):
                yield from _fields(document, part.get("items", part), level + 1)


def python_page() -> str:
    """Every public name of `evalign`: functions, classes with their methods, metrics, errors."""
    names = re.findall(r" as (\w+)$", LISTS.read_text("utf-8"), re.M)
    public = {name: getattr(evalign, name) for name in names if name != "__version__"}
    metrics = {name: kind for name, kind in public.items() if inspect.isclass(kind) and issubclass(kind, Metric)}
    errors = {name: kind for name, kind in public.items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    rest = {name: thing for name, thing in public.items() if name not in metrics and name not in errors}
    parts = ["# Python", MADE, "Everything that `import evalign` gives. Names are loaded when they are used."]
    for name, thing in rest.items():
        parts.extend(_class(name, thing) if inspect.isclass(thing) else _function(name, thing))
    parts += ["## Metrics", "Options are keywords: `evalign.BERTScore(layer=5)`; they stand on the metrics' cards."]
    parts.extend(_methods("Metric", Metric))
    parts.append(_capabilities(metrics))
    rows = [
        [f"`{name}`", f"{_paragraph(metrics[name])} {_cards(name)}".strip()] for name in metrics if name != "Metric"
    ]
    parts.append(table(["class", "what it is"], rows))
    parts += ["## Errors", "All are `evalign.EvalignError`; the command line prints their sentence and ends with 2."]
    parts.append(table(["error", "when", "is a"], [
        [f"`{name}`", _paragraph(kind), f"`{kind.__base__.__name__}`"] for name, kind in errors.items()
    ]))  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _cards(class_name: str) -> str:
    listed = [name for name in metric_names() if metric_class(name).__name__ == class_name]
    return ", ".join(f"[`{name}`](../cards/{card_name(name)}.md)" for name in listed)


def card_name(metric: str) -> str:
    """The card that a metric is on: rouge1 to rouge9 share one."""
    return re.sub(r"^rouge\d$", "rougeN", metric)


def _paragraph(thing: Any) -> str:
    return _plain(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))


def _signature(thing: Any) -> str:
    try:
        written = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(thing)))  # annotations are text
    except ValueError:
        return "()"
    return re.sub(r"<(class '[\w.]+\.(\w+)'|.*? at 0x\w+)>", lambda default: default[2] or "...", written)


def _function(name: str, thing: Any) -> Iterator[str]:
    yield f"## `{name}`"
    yield f"```python\nevalign.{name}{_signature(thing)}\n```"
    yield _plain(inspect.getdoc(thing) or "")


def _class(name: str, kind: Any) -> Iterator[str]:
    yield f"## `{name}`"
    yield _plain(inspect.getdoc(kind) or "")
    yield from _methods(name, kind)


def _capabilities(metrics: dict[str, Any]) -> str:
    """What only some metrics can do, such as aligning, and which."""
    having: dict[str, tuple[Any, list[str]]] = {}
    for name, kind in metrics.items():
        for attribute in CAPABILITIES:
            if hasattr(kind, attribute):
                having.setdefault(attribute, (inspect.getattr_static(kind, attribute), []))[1].append(f"`{name}`")
    rows = [[_method(name, thing), _paragraph(thing), " ".join(kinds)] for name, (thing, kinds) in having.items()]
    return table(["of some metrics", "what it gives", "which"], rows)


def _method(name: str, thing: Any) -> str:
    written = re.sub(r"^\((self|cls)(, )?", "(", _signature(getattr(thing, "__func__", thing)))
    return f"`.{name}{written}`"


def _methods(name: str, kind: Any) -> Iterator[str]:
    rows = []
    for attribute, thing in vars(kind).items():
        if attribute.startswith("_") or not inspect.getdoc(thing):
            continue
        if isinstance(thing, property):
            rows.append([f"`.{attribute}`", _paragraph(thing)])
        elif inspect.isfunction(thing) or isinstance(thing, (classmethod, staticmethod)):
            rows.append([_method(attribute, thing), _paragraph(thing)])
    if rows:
        yield table([f"of `{name}`", "what it gives"], rows)
