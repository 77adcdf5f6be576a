"""The command line `slicewise`: finds the subcommands in commands/, runs one, and alone reports errors.

A command's module is imported when it is asked for, so that `slicewise run` does not wait for what `report` needs. The
list of all commands is made without importing any, and without rich, which takes longer than all else.
"""

from __future__ import annotations

import ast
import atexit
import gc
import importlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from slicewise import __version__, commands
from slicewise.errors import UserError
from slicewise.text.safe_text import say

# New objects between two searches for garbage. Imports alone make more than Python's own number a hundred times over.
GARBAGE_THRESHOLD = 50_000
USER_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130

Command = TyperCommand | TyperGroup


class CommandFiles(TyperGroup):
    """The group of all commands: one for each module of `slicewise.commands`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(_files())

    def get_command(self, ctx: Any, name: str) -> Command | None:
        return _load(name) if name in _files() else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command with all of its summary; typer would import the commands, and cut the summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(name)) for name in self.list_commands(ctx)])


def _files() -> dict[str, Path]:
    """The commands' files by the commands' names: NAME.py, or NAME_.py where the name is a Python keyword. A file whose
    name begins with _ is a part of other commands.
    """
    return {file.stem.rstrip("_").replace("_", "-"): file for file in _modules() if not file.stem.startswith("_")}


def _modules() -> Iterator[Path]:
    for place in commands.__path__:
        yield from Path(place).glob("*.py")


def _summary(name: str) -> str:
    """What the command's own help says, read from its source."""
    module = ast.parse(_files()[name].read_bytes())
    function = name.replace("-", "_")
    bodies = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == function]
    texts = [*(ast.get_docstring(body) for body in bodies), ast.get_docstring(module)]
    text = next((text for text in texts if text), "")
    return " ".join(text.partition("\n\n")[0].split())


def _load(name: str) -> Command:
    """The command in its file."""
    function = name.replace("-", "_")
    module = importlib.import_module(f"{commands.__name__}.{_files()[name].stem}")
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


application = typer.Typer(cls=CommandFiles, add_completion=False, invoke_without_command=True, rich_markup_mode=None)


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
    gc.set_threshold(GARBAGE_THRESHOLD)
    # A process that ends gives its memory back at once. Without this Python looks through all of it first: 0.1 s.
    atexit.register(gc.freeze)
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
