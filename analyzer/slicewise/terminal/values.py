"""Values of options and arguments: text from the command line to what a command takes, and complaints in our own words.

typer would convert them by pydantic, which takes as long to import as a small command takes, and words complaints as
a programmer would.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, get_args

from slicewise.errors import UserError
from slicewise.text.suggestions import nearest

# What a value is called in help and in complaints where the command does not say.
NAMES_OF_TYPES: dict[Any, str] = {int: "N", float: "NUMBER", Path: "PATH"}


class OwnValues:
    """Stands where typer keeps a parameter's conversion."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What the command takes. Raises UserError with what is right."""
        if param.multiple or param.nargs == -1:
            return [_one(item, param, ctx) for item in value or ()] or ([] if param.nargs == -1 else None)
        return None if value is None else _one(value, param, ctx)


def value_name(param: Any) -> str:
    """What stands for the value in a form: FILE, N, auto|read|write."""
    choices = choices_of(param)
    if param.metavar is not None:
        return str(param.metavar)
    return "|".join(choices) if choices else NAMES_OF_TYPES.get(_type(param), param.name.upper())


def choices_of(param: Any) -> list[str]:
    """The values that the parameter takes, if it is one of a few."""
    return [_shown(choice) for choice in param.type_descriptor.choices or ()]


def range_of(param: Any) -> str:
    """The range of a number in words, or nothing."""
    if param.min is not None and param.max is not None:
        return f"{param.min:g} to {param.max:g}"
    if param.min is not None:
        return f"at least {param.min:g}"
    return "" if param.max is None else f"at most {param.max:g}"


def option_of(param: Any) -> str:
    """How complaints name the parameter: its longest option, or the argument's name."""
    return max(param.opts, key=len) if param.param_type_name == "option" else value_name(param)


def _shown(choice: Any) -> str:
    return str(choice.value) if isinstance(choice, Enum) else str(choice)


def _type(param: Any) -> Any:
    annotation = param.type_descriptor.annotation
    return get_args(annotation)[0] if param.type_descriptor.is_list else annotation


def _one(value: Any, param: Any, ctx: Any) -> Any:
    kind = _type(param)
    choices = param.type_descriptor.choices
    if choices is not None:
        return _choice(value, choices, param, ctx)
    if not isinstance(value, str):
        return value
    if kind in (int, float):
        return _number(value, kind, param, ctx)
    return kind(value) if kind in (str, Path) else value


def _choice(value: Any, choices: tuple[Any, ...], param: Any, ctx: Any) -> Any:
    by_name = {_shown(choice): choice for choice in choices}
    if _shown(value) in by_name:
        return by_name[_shown(value)]
    meant = nearest(str(value), by_name)
    hint = f"; did you mean {meant}?" if meant else ""
    raise UserError(f"{_where(param, ctx)} {value}: choose one of {', '.join(by_name)}{hint}")


def _number(text: str, kind: Any, param: Any, ctx: Any) -> float | int:
    wanted = "a whole number" if kind is int else "a number"
    limits = range_of(param)
    try:
        number = kind(text)
    except ValueError:
        number = None
    if (
        number is None
        or not (param.min is None or number >= param.min)
        or not (param.max is None or number <= param.max)
    ):
        raise UserError(f"{_where(param, ctx)} {text}: give {wanted}{f', {limits}' if limits else ''}")
    return number  # type: ignore[no-any-return]


def _where(param: Any, ctx: Any) -> str:
    command = ctx.command_path.partition(" ")[2]
    return f"{command}: {option_of(param)}" if command else option_of(param)
