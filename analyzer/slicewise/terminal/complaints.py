"""What is said of a command line that is not understood: one line, in our own words, with what is right."""

from __future__ import annotations

from typing import Any

from typer._click.exceptions import BadOptionUsage, MissingParameter, NoSuchOption

from slicewise.terminal.help_text import form_of
from slicewise.terminal.values import option_of, value_name
from slicewise.text.suggestions import nearest


def complaint(error: Any) -> str:
    """The line about an exception of typer's."""
    context = getattr(error, "ctx", None)
    if context is None:
        return f"{error.format_message().rstrip('.')}; see: slicewise --help"
    command = context.command_path.partition(" ")[2]
    at = f"{command}: " if command else ""
    text = f"{at}{_what(error, context)}"
    return text if "; " in text else f"{text}; see: {context.command_path} --help"


def no_such_command(typed: str, context: Any, known: list[str]) -> str:
    """The line about a command that there is not. known: the names that there are."""
    meant = nearest(typed, known)
    if meant:
        return f"{typed}: no such command; did you mean: {context.command_path} {meant}"
    listed = "" if context.parent is None else f"; choose one of {', '.join(known)}"
    return f"{typed}: no such command{listed or f'; see: {context.command_path} --help'}"


def _what(error: Any, context: Any) -> str:
    if isinstance(error, NoSuchOption):
        options = [
            name for param in context.command.get_params(context) for name in (*param.opts, *param.secondary_opts)
        ]
        meant = nearest(error.option_name, [name for name in options if name.startswith("--")])
        return f"{error.option_name}: no such option" + (f"; did you mean {meant}?" if meant else "")
    if isinstance(error, MissingParameter) and error.param is not None:
        return f"{option_of(error.param)} is missing; the form is: {form_of(context)}"
    if isinstance(error, BadOptionUsage):
        params = [param for param in context.command.get_params(context) if error.option_name in param.opts]
        if params and params[0].is_flag:
            return f"{error.option_name}: takes no value; give {error.option_name} alone"
        value = value_name(params[0]) if params else "VALUE"
        return f"{error.option_name}: has no value; give {error.option_name} {value}"
    if "unexpected extra argument" in error.message:
        left = error.message.partition("(s) (")[2].removesuffix(")")
        return f"{left}: is one argument too many; the form is: {form_of(context)}"
    if "Missing command" in error.message:
        return f"a command is missing; choose one of {', '.join(context.command.list_commands(context))}"
    return str(error.format_message().rstrip("."))
