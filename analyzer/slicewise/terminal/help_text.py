"""What `--help` says: the form, what the command does, its arguments and options, and an example.

Made of what the command's function declares, by nothing that takes long to import. What follows "Example:" in a
docstring, to the end of its paragraph, is the example. Lines fit the terminal, and words are never broken.
"""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

from slicewise.terminal.values import range_of, value_name

NARROWEST, WIDEST = 40, 100
# No name is so wide that what it means would begin further right.
MOST_NAME = 28
EXAMPLE = "Example:"


def width() -> int:
    """Columns that help may take."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))


def help_text(context: Any) -> str:
    """The help of the command that the context is of."""
    command = context.command
    told, examples = parts_of(command.help or "")
    parts = [filled(f"Usage: {form_of(context)}", 7), *(filled(part) for part in told)]
    for title, rows in zip(("Arguments", "Options", "Commands"), rows_of(context), strict=True):
        if rows:
            parts.append(section(title, rows))
    if examples:
        parts.append("\n".join([EXAMPLE, *(filled(f"  {example}", 6) for example in examples)]))
    return "\n\n".join(part for part in parts if part)


Rows = list[tuple[str, str]]


def rows_of(context: Any) -> tuple[Rows, Rows, Rows]:
    """A command's arguments, options and parts: names and what they mean."""
    command = context.command
    params = [param for param in command.get_params(context) if not getattr(param, "hidden", False)]
    arguments = [(value_name(param), param.help or "") for param in params if param.param_type_name == "argument"]
    options = [(_option_name(param), _meaning(param)) for param in params if param.param_type_name == "option"]
    parts = {name: command.get_command(context, name) for name in _names(command, context)}
    return arguments, options, [(name, summary_of(part.help or "")) for name, part in parts.items()]


def form_of(context: Any) -> str:
    """How the command is called: `slicewise overlap PROFILE PROFILE... [options]`."""
    command = context.command
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    needed = [
        f"{max(param.opts, key=len)} {value_name(param)}"
        for param in command.params
        if param.param_type_name == "option" and param.required
    ]
    forms = [_argument_form(param) for param in arguments]
    options = ["[options]"] if context.allow_interspersed_args or not arguments else []
    names = ["COMMAND"] if _names(command, context) else []
    before = [] if options or names else ["[options]"]
    return " ".join([context.command_path, *before, *names, *forms, *needed, *options])


def parts_of(text: str) -> tuple[list[str], list[str]]:
    """The paragraphs of a docstring, and the command lines of its examples."""
    paragraphs = [" ".join(part.split()).partition(EXAMPLE) for part in inspect.cleandoc(text).split("\n\n")]
    told = [before.strip() for before, _, _ in paragraphs if before.strip()]
    return told, [example.strip() for _, _, example in paragraphs if example]


def summary_of(text: str) -> str:
    """The first sentence of a docstring."""
    first = " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())
    sentence, _, rest = first.partition(". ")
    return f"{sentence}." if rest else first


def section(title: str, rows: Sequence[tuple[str, str]], widest: int = 0) -> str:
    """Names and what they mean, in two columns. widest: of the names, where several sections stand below each other."""
    widest = min(MOST_NAME, widest or max(len(name) for name, _ in rows))
    lines = [f"{title}:"]
    for name, meaning in rows:
        indent = " " * (widest + 4)
        wrapped = textwrap.wrap(meaning, width() - len(indent), break_long_words=False, break_on_hyphens=False) or [""]
        if len(name) > widest:
            lines += [f"  {name}", *(indent + line for line in wrapped)]
        else:
            lines += [f"  {name:{widest}}  {wrapped[0]}".rstrip(), *(indent + line for line in wrapped[1:])]
    return "\n".join(lines)


def filled(text: str, indent: int = 0) -> str:
    """A paragraph that fits the terminal; its further lines are indented."""
    return textwrap.fill(text, width(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _names(command: Any, context: Any) -> list[str]:
    return list(command.list_commands(context)) if hasattr(command, "list_commands") else []


def _argument_form(param: Any) -> str:
    name = value_name(param)
    if param.nargs == -1 and "..." not in name:
        name += "..."
    return name if param.required or name.startswith("[") else f"[{name}]"


def _option_name(param: Any) -> str:
    names = ", ".join(sorted(param.opts, key=len))
    if param.is_flag:
        return f"{names}, {param.secondary_opts[0]}" if param.secondary_opts else names
    return f"{names} {value_name(param)}"


def _meaning(param: Any) -> str:
    """The option's help, with its range and its default, if these say something."""
    default = param.default
    said = []
    if limits := range_of(param):
        said.append(limits)
    if param.is_flag and param.secondary_opts:
        said.append(f"default: {(param.opts if default else param.secondary_opts)[0]}")
    elif not param.is_flag and default not in (None, "", [], ()):
        said.append(f"default: {default:g}" if isinstance(default, float) else f"default: {default}")
    if param.required:
        said.append("needed")
    text = "Show this help." if "--help" in param.opts else param.help or ""
    return f"{text} [{'; '.join(said)}]" if said else text
