"""Groups of commands: a mistyped name gets the nearest ones, and installed packages may add subcommands.

A package adds `evalign fit norms` by an entry point named `fit.norms` in the group `evalign.commands`. Its module is
imported when the group's help is printed or the command is run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import click

from evalign.core.plugins import COMMANDS_GROUP, load_plugin, plugins
from evalign.errors import SpecError, nearest

RUNNING = "evalign.running_command"  # key of the context's `meta`
ARGUMENT = re.compile(r"`(\w+)(?:=([^`]*))?`")


class CommandGroup(click.Group):
    """A group whose subcommands are its own, then those of plugins named `PREFIX.NAME`."""

    def __init__(self, *args: Any, plugin_prefix: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.plugin_prefix = plugin_prefix

    def plugin_names(self) -> dict[str, str]:
        """Return the entry point of each plugged-in subcommand by the subcommand's name."""
        if self.plugin_prefix is None:
            return {}
        names = (name.rpartition(".") for name in plugins(COMMANDS_GROUP))
        return {name: f"{group}.{name}".lstrip(".") for group, _, name in names if group == self.plugin_prefix}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands: the group's own, then those of plugins."""
        commands = super().list_commands(ctx)
        return [*commands, *(name for name in self.plugin_names() if name not in commands)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a subcommand by name, or raise a usage error with the nearest names."""
        try:
            command = self.find_command(ctx, cmd_name)
        except SpecError:
            if not ctx.resilient_parsing:
                raise
            command = None
        if command is None and not ctx.resilient_parsing:  # a shell that asks for completions gets None
            raise click.UsageError(f"no command {cmd_name!r}; {nearest(cmd_name, self.list_commands(ctx))}", ctx)
        return command

    def find_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a subcommand by name, or None."""
        command = super().get_command(ctx, name)
        if command is None and name in self.plugin_names():
            entry = plugins(COMMANDS_GROUP)[self.plugin_names()[name]]
            command = load_plugin(entry, "a click.Command", lambda loaded: isinstance(loaded, click.Command))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of every subcommand's help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary(ctx, name)) for name in self.list_commands(ctx)])

    def summary(self, ctx: click.Context, name: str) -> str:
        """Return the first sentence of a subcommand's help, or why it cannot be imported."""
        try:
            command = self.find_command(ctx, name)
        except SpecError as error:
            return str(error)
        return "" if command is None else command.get_short_help_str(limit=120)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Remember the command that runs, whose flags error messages are translated into."""
        name, command, rest = super().resolve_command(ctx, args)
        ctx.meta[RUNNING] = command
        return name, command, rest


def with_flags(message: str, command: click.Command | None) -> str:
    """Return an error message of the library with its arguments as options of a command.

    The library writes `human_field` or `level=system` in backticks; the command line has --human-field and
    --level system. Names that are no parameter of the command stay as they are.
    """
    flags = {parameter.name: _flag(parameter) for parameter in ([] if command is None else command.params)}

    def translated(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in flags:
            return match[0]
        return flags[name] if value is None else f"{flags[name]} {value}"

    return ARGUMENT.sub(translated, message)


def _flag(parameter: click.Parameter) -> str:
    names: Sequence[str] = [name for name in parameter.opts if name.startswith("-")]
    return max(names, key=len) if names else parameter.human_readable_name
