"""A command's file without what only its body needs: help, complaints and completion do not wait for polars.

All imports stand at the head of a file, as everywhere. Those of rooms that take long to import are put off until the
command runs, unless what declares the command (defaults, decorators, annotations) uses them.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

# What takes long to import, itself or by what it imports.
SLOW = {"polars", "numpy", "rich", "plotly"} | {
    f"slicewise.{room}"
    for room in (
        "analysis",
        "catalog",
        "charts",
        "digest",
        "export",
        "imports",
        "io500",
        "live",
        "profile",
        "report",
        "running",
        "stacks",
    )
}


def load_declaration(name: str, file: Path, command: str) -> tuple[ModuleType, Callable[[], None]]:
    """The module `name` in `file`, and what imports the rest; nothing is left to do where it is imported already.

    command: the name of the function that is the command, if nothing decorates it.
    """
    if name in sys.modules:
        return sys.modules[name], lambda: None
    tree = ast.parse(file.read_bytes(), str(file))
    wanted = _used_by_declarations(tree, command)
    later = [statement for statement in tree.body if _is_slow(statement) and not _bound(statement) & wanted]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    now = ast.Module([statement for statement in tree.body if statement not in later], [])
    sys.modules[name] = module
    try:
        exec(compile(now, str(file), "exec", dont_inherit=True), module.__dict__)
    finally:
        del sys.modules[name]  # who imports it as a module gets all of it
    rest = compile(ast.Module(later, []), str(file), "exec", dont_inherit=True)

    def load_rest() -> None:
        if later:
            exec(rest, module.__dict__)
            later.clear()

    return module, load_rest


def _is_slow(statement: ast.stmt) -> bool:
    names = (
        [statement.module or ""]
        if isinstance(statement, ast.ImportFrom)
        else [alias.name for alias in statement.names]
        if isinstance(statement, ast.Import)
        else []
    )
    return any(".".join(name.split(".")[:2]) in SLOW or name.split(".")[0] in SLOW for name in names)


def _bound(statement: ast.stmt) -> set[str]:
    """The names that an import gives."""
    assert isinstance(statement, (ast.Import, ast.ImportFrom))
    return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}


def _used_by_declarations(tree: ast.Module, command: str) -> set[str]:
    """Names that are looked up while the file is loaded, or by typer in the signatures of commands."""
    used: set[str] = set()
    for statement in tree.body:
        parts: list[ast.AST] = [statement]
        if isinstance(statement, ast.FunctionDef):
            given = statement.args
            parts = [*statement.decorator_list, *given.defaults, *(one for one in given.kw_defaults if one)]
            if statement.decorator_list or statement.name == command:
                parts.append(given)
        used |= {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
    return used
