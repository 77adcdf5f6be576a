"""What a command is declared with, on click: its text, arguments and options.

A declaration imports nothing that takes long. What a command does stands in `slicewise.commands`, with its imports at
its head as everywhere, and is imported when the command runs: help, completion and complaints do not wait for polars.
"""

import functools
import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from slicewise import settings

PATH = click.Path(path_type=Path)


class Number(click.FloatRange):
    """A number in a range, which nan is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number.", param, ctx) if number != number else number

    def _describe_range(self) -> str:
        """What help says of the range: nothing if there is none, where click says [x<=None]."""
        return "" if self.min is self.max is None else super()._describe_range()


class Group(click.Group):
    """Commands in the order of their declaration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _help_if_alone() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def command(
    name: str,
    body: str,
    help: str,
    example: str,
    *params: click.Parameter,
    allow_interspersed_args: bool = True,
    needs_settings: bool = True,
) -> click.Command:
    """A command. body: MODULE:FUNCTION in slicewise.commands, which takes the parameters by their names."""
    return click.Command(
        name,
        callback=functools.partial(_run, body, needs_settings),
        params=list(params),
        help=help,
        short_help=summary(help),
        epilog=f"Example: {example}",
        context_settings={"allow_interspersed_args": allow_interspersed_args},
    )


def group(name: str, help: str, *commands: click.Command) -> Group:
    """A command of several. Alone it prints its help."""
    return Group(
        name,
        {str(one.name): one for one in commands},
        callback=_help_if_alone,
        invoke_without_command=True,
        help=help,
        short_help=summary(help),
    )


def argument(metavar: str, help: str, type: Any = str, name: str = "", **more: Any) -> click.Argument:
    """An argument. metavar: [NAME] is not needed, NAME... may be several. name: of the function's parameter, where it
    is not that in small letters."""
    name = name or re.findall(r"\w+", metavar)[0].lower()
    is_needed, count = not metavar.startswith("["), -1 if "..." in metavar else 1
    return click.Argument([name], metavar=metavar, type=_type(type), help=help, required=is_needed, nargs=count, **more)


def option(form: str, help: str, type: Any = str, name: str = "", **more: Any) -> click.Option:
    """An option with a value. form: as help shows it, "-o, --output FILE". type: texts are a choice of one. name: of
    the function's parameter, where it differs."""
    words = form.split()
    names = [word.removesuffix(",") for word in words if word.startswith("-")]
    metavar = words[-1] if len(words) > len(names) else None
    return click.Option([*names, *([name] if name else [])], metavar=metavar, type=_type(type), help=help, **more)


def flag(names: str, help: str, name: str = "", default: bool = False, **more: Any) -> click.Option:
    return click.Option([names, *([name] if name else [])], is_flag=True, default=default, help=help, **more)


def summary(help: str) -> str:
    first = " ".join(help.partition("\n\n")[0].split())
    sentence, dot, _ = first.partition(". ")
    return f"{sentence}." if dot else first


def _type(type: Any) -> Any:
    return click.Choice(type) if isinstance(type, Sequence) else type


def _run(body: str, needs_settings: bool, **given: Any) -> Any:
    if needs_settings:
        settings.require()
    module, _, function = body.partition(":")
    called = getattr(importlib.import_module(f"slicewise.commands.{module}"), function)
    return called(**{name: list(value) if isinstance(value, tuple) else value for name, value in given.items()})
