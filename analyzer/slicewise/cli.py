"""The command line `slicewise`: finds the subcommands in commands/, runs one, and alone reports errors.

A command's module is imported when it is asked for, so that `slicewise run` does not wait for what `report` needs. The
list of all commands is made without importing any, and without rich, which takes longer than all else.
"""

from __future__ import annotations

import atexit
import functools
import gc
import io
import os
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from slicewise import __version__, commands, overview, settings
from slicewise.errors import UserError
from slicewise.overview import WELCOME, all_commands, files, groups
from slicewise.terminal.complaints import complaint, no_such_command
from slicewise.terminal.deferred import load_declaration
from slicewise.terminal.help_text import help_text
from slicewise.terminal.values import OwnValue
from slicewise.text.safe_text import say

# New objects between two searches for garbage. Imports alone make more than Python's own number a hundred times over.
GARBAGE_THRESHOLD = 50_000
USER_ERROR_STATUS = 2
INTERRUPTED_STATUS = 130
Command = TyperCommand | TyperGroup


class CommandFiles(TyperGroup):
    """The group of all commands: one for each module of `slicewise.commands`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in groups().values() for name in names]

    def get_command(self, ctx: Any, name: str) -> Command | None:
        return _load(name) if name in files() else None

    def summary(self, name: str) -> str:
        """What a command does, without importing it."""
        return overview.summary(name)


def _load(name: str) -> Command:
    """The command in its file."""
    function = name.replace("-", "_")
    file = files()[name]
    module, load_rest = load_declaration(f"{commands.__name__}.{file.stem}", file, function)
    application = getattr(module, "app", None)
    if application is None:
        application = typer.Typer(add_completion=False)
        body = getattr(module, function)
        application.command(name, help=body.__doc__ or module.__doc__)(body)
    command: Command = get_command(application)  # type: ignore[assignment]
    command.name = name
    if not command.help:
        command.help = module.__doc__

    def prepare() -> None:
        if name not in commands.WITHOUT_SETTINGS:
            settings.require()
        load_rest()

    _make_own(command, prepare)
    return command


def _make_own(command: Any, prepare: Callable[[], None]) -> None:
    """Make a command of typer's, and all below it, speak and convert as ours do. prepare: called before it runs."""
    command.get_help = help_text
    command.parse_args = functools.partial(_parse, command.parse_args)
    if isinstance(command, TyperGroup):
        resolve = command.resolve_command
        command.resolve_command = functools.partial(_resolve, resolve)  # type: ignore[method-assign]
        for part in command.commands.values():
            _make_own(part, prepare)
    elif command.callback is not None:
        command.callback = _after(prepare, command.callback)


def _after(prepare: Callable[[], None], body: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(body)
    def loaded(*arguments: Any, **options: Any) -> Any:
        prepare()
        return body(*arguments, **options)

    return loaded


def _parse(parse: Callable[..., Any], context: Any, arguments: list[str]) -> Any:
    """What the arguments mean. A complaint about them knows which command they were for."""
    for param in context.command.get_params(context):
        if not isinstance(param.type, OwnValue):
            param.type = OwnValue(param.type)
    try:
        return parse(context, arguments)
    except typer.TyperException as error:
        if getattr(error, "ctx", None) is None:
            error.ctx = context  # type: ignore[attr-defined]
        raise


def _resolve(resolve: Callable[..., Any], context: Any, arguments: list[str]) -> Any:
    """The subcommand that is named. Raises UserError with what was probably meant."""
    known = context.command.list_commands(context)
    if not context.resilient_parsing and arguments[0] not in known and not arguments[0].startswith("-"):
        raise UserError(no_such_command(arguments[0], context, known))
    return resolve(context, arguments)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slicewise {__version__}")
        raise typer.Exit


def _application() -> TyperGroup:
    """The command line as a whole."""
    application = typer.Typer(
        cls=CommandFiles,
        add_completion=False,
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )

    @application.callback()
    def _slicewise(
        context: typer.Context,
        version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="The version."),
    ) -> None:
        if context.invoked_subcommand is None:
            typer.echo(WELCOME)

    whole: TyperGroup = get_command(application)  # type: ignore[assignment]
    _make_own(whole, lambda: None)
    whole.get_help = lambda _: all_commands()  # type: ignore[assignment, method-assign]
    return whole


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
        settings.apply()
        status = _application().main(prog_name="slicewise", standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except typer.TyperException as error:
        _fail(complaint(error))
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED_STATUS)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not fail once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except BaseException as error:
        line = _damage_behind(error)
        if line is None:
            raise
        _fail(line)
    sys.exit(status if isinstance(status, int) else 0)


def _damage_behind(error: BaseException) -> str | None:
    """The line about a file of a catalog that made another library fail. None: the error is a defect."""
    if "slicewise.catalog.store" not in sys.modules:
        return None
    from slicewise.catalog.check import damage_behind  # no command without a catalog waits for it

    return damage_behind(error)


def _fail(line: str) -> None:
    say(line)
    sys.exit(USER_ERROR_STATUS)
