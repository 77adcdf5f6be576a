"""The command line `slicewise`: finds the subcommands in commands/, runs one, and alone reports errors.

A command's module is imported when it is asked for, so that `slicewise run` does not wait for what `report` needs.
"""

from __future__ import annotations

import importlib
import io
import os
import pkgutil
import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from slicewise import __version__, commands
from slicewise.errors import UserError
from slicewise.text.safe_text import say

USER_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130

Command = TyperCommand | TyperGroup


class CommandFiles(TyperGroup):
    """The group of all commands: one for each module of `slicewise.commands`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(module.name.rstrip("_").replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: Any, name: str) -> Command | None:
        if name not in self.list_commands(ctx):
            return None
        return _load(name)


def _load(name: str) -> Command:
    """The command in commands/NAME.py, or NAME_.py where the name is a Python keyword."""
    function = name.replace("-", "_")
    module_names = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    module = importlib.import_module(f"{commands.__name__}.{function if function in module_names else function + '_'}")
    application = getattr(module, "app", None)
    if application is None:
        application = typer.Typer(add_completion=False)
        body = getattr(module, function)
        application.command(name, help=body.__doc__ or module.__doc__)(body)
    command: Command = get_command(application)  # type: ignore[assignment]
    command.name = name
    if not command.help:
        command.help = module.__doc__
    return command


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slicewise {__version__}")
        raise typer.Exit


application = typer.Typer(
    cls=CommandFiles, add_completion=False, invoke_without_command=True, rich_markup_mode="markdown"
)


@application.callback()
def _slicewise(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Who slowed my job down, by how much, and what would it have taken alone?"""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run this process's command line and exit: 0, 2 with one line for a user's error, or what the command says."""
    for stream in (sys.stdout, sys.stderr):
        # Paths may hold bytes that are no text, and a terminal may lack letters; neither is worth a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    status: object = None
    try:
        status = get_command(application).main(prog_name="slicewise", standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        _fail(f"{error.format_message().rstrip('.')} (see {context.command_path if context else 'slicewise'} --help)")
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not fail once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(line: str) -> None:
    say(line)
    sys.exit(USER_ERROR_STATUS)
