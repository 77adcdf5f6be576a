"""Values of options and arguments: text from the command line to what a command takes, and complaints in our own words.

typer would convert them, too, but words complaints as a programmer would.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from slicewise.errors import UserError
from slicewise.text.suggestions import nearest

# What a value is called in help and in complaints where the command does not say.
NAMES_OF_TYPES: dict[Any, str] = {int: "N", float: "NUMBER", Path: "PATH"}
# By the names that typer gives its types of values; all others are text.
KINDS_OF_TYPES: dict[str, Any] = {"int": int, "int range": int, "float": float, "float range": float, "path": Path}


class OwnValue:
    """Stands where typer keeps a parameter's type."""

    is_composite = False
    envvar_list_splitter = None

    def __init__(self, of_typer: Any) -> None:
        self.name = of_typer.name
        self.choices = getattr(of_typer, "choices", None)
        self.min = getattr(of_typer, "min", None)
        self.max = getattr(of_typer, "max", None)

    def __call__(self, value: Any, param: Any, ctx: Any) -> Any:
        """What the command takes. Raises UserError with what is right."""
        return None if value is None else _one(value, param, ctx)


def value_name(param: Any) -> str:
    """What stands for the value in a form: FILE, N, auto|read|write."""
    choices = choices_of(param)
    if param.metavar is not None:
        return str(param.metavar)
    return "|".join(choices) if choices else NAMES_OF_TYPES.get(_kind(param), param.name.upper())


def choices_of(param: Any) -> list[str]:
    """The values that the parameter takes, if it is one of a few."""
    return [_shown(choice) for choice in getattr(param.type, "choices", None) or ()]


def range_of(param: Any) -> str:
    """The range of a number in words, or nothing."""
    least, most = _limits(param)
    if least is not None and most is not None:
        return f"{least:g} to {most:g}"
    if least is not None:
        return f"at least {least:g}"
    return "" if most is None else f"at most {most:g}"


def option_of(param: Any) -> str:
    """How complaints name the parameter: its longest option, or the argument's name."""
    return max(param.opts, key=len) if param.param_type_name == "option" else value_name(param)


def _shown(choice: Any) -> str:
    return str(choice.value) if isinstance(choice, Enum) else str(choice)


def _kind(param: Any) -> Any:
    return KINDS_OF_TYPES.get(param.type.name)


def _limits(param: Any) -> tuple[float | None, float | None]:
    return getattr(param.type, "min", None), getattr(param.type, "max", None)


def _one(value: Any, param: Any, ctx: Any) -> Any:
    kind = _kind(param)
    if choices_of(param):
        return _choice(value, param, ctx)
    if not isinstance(value, str):
        return value
    if kind in (int, float):
        return _number(value, kind, param, ctx)
    return Path(value) if kind is Path else value


def _choice(value: Any, param: Any, ctx: Any) -> Any:
    by_name = {_shown(choice): choice for choice in param.type.choices}
    if _shown(value) in by_name:
        return by_name[_shown(value)]
    meant = nearest(str(value), by_name)
    hint = f"; did you mean {meant}?" if meant else ""
    raise UserError(f"{_where(param, ctx)} {value}: choose one of {', '.join(by_name)}{hint}")


def _number(text: str, kind: Any, param: Any, ctx: Any) -> float | int:
    wanted = "a whole number" if kind is int else "a number"
    limits = range_of(param)
    least, most = _limits(param)
    try:
        number = kind(text)
    except ValueError:
        number = None
    if number is None or not (least is None or number >= least) or not (most is None or number <= most):
        raise UserError(f"{_where(param, ctx)} {text}: give {wanted}{f', {limits}' if limits else ''}")
    return number  # type: ignore[no-any-return]


def _where(param: Any, ctx: Any) -> str:
    command = ctx.command_path.partition(" ")[2]
    return f"{command}: {option_of(param)}" if command else option_of(param)
