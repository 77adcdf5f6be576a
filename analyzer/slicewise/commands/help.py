"""Help of a command, or of the settings."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slicewise.errors import UserError
from slicewise.terminal.complaints import no_such_command
from slicewise.terminal.settings_text import settings_text
from slicewise.text.suggestions import nearest

SETTINGS = "settings"


def help(
    context: typer.Context,
    topic: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command, or: settings. Else all commands.")
    ] = None,
) -> None:
    """Print the help of a command, or what each setting means: slicewise help settings.

    Example: slicewise help catalog list
    """
    if topic == [SETTINGS]:
        typer.echo(settings_text())
        return
    found: Any = context.find_root()
    names = found.command.list_commands(found)
    if topic and topic[0] not in names and nearest(topic[0], [*names, SETTINGS]) == SETTINGS:
        raise UserError(f"{' '.join(topic)}: no such topic; did you mean: slicewise help {SETTINGS}")
    for name in topic or ():
        names = found.command.list_commands(found) if hasattr(found.command, "list_commands") else []
        if name not in names:
            raise UserError(no_such_command(name, found, names))
        found = typer.Context(found.command.get_command(found, name), parent=found, info_name=name)
    typer.echo(found.get_help())
