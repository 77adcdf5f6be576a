"""What `slicewise` says alone and with --help: what one can do, and all commands in groups.

Made of the commands' sources. Nothing is imported for it that takes long: no command, and no typer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from slicewise import commands
from slicewise.terminal.help_text import filled, section, summary_of

OTHERS = "Others"
WELCOME = """\
Slicewise says who slowed a job down, by how much, and what it would have taken alone. Step by step:

  slicewise doctor                       check that profiling works here
  slicewise run -- ./program             profile a job; in a batch script: slicewise run -- srun ./program
  slicewise list slicewise               list what has been profiled
  slicewise report slicewise/JOB         show one job's I/O: a page, and a summary here
  slicewise blame slicewise/JOB          say who slowed it down, by how much, how sure that is
  slicewise overlap JOBDIR JOBDIR        lay several jobs on one time axis

All commands: slicewise --help    One of them: slicewise blame --help    Settings: slicewise help settings"""


def files() -> dict[str, Path]:
    """The commands' files by the commands' names: NAME.py, or NAME_.py where the name is a Python keyword. A file whose
    name begins with _ is a part of other commands.
    """
    return {file.stem.rstrip("_").replace("_", "-"): file for file in _modules() if not file.stem.startswith("_")}


def _modules() -> Iterator[Path]:
    for place in commands.__path__:
        yield from Path(place).glob("*.py")


def groups() -> dict[str, list[str]]:
    """The commands' names by what users want of them."""
    known = files()
    found = {title: [name for name in names if name in known] for title, names in commands.GROUPS.items()}
    grouped = {name for names in found.values() for name in names}
    others = sorted(set(known) - grouped)
    return found | ({OTHERS: others} if others else {})


def summary(name: str) -> str:
    """What the command's own help says first, read from its source."""
    module = ast.parse(files()[name].read_bytes())
    function = name.replace("-", "_")
    bodies = [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == function]
    texts = [*(ast.get_docstring(body) for body in bodies), ast.get_docstring(module)]
    return summary_of(next((text for text in texts if text), ""))


def all_commands() -> str:
    """The help of all: every command in its group, by the first sentence of its own."""
    told = {title: [(name, summary(name)) for name in names] for title, names in groups().items()}
    widest = max(len(name) for rows in told.values() for name, _ in rows)
    return "\n\n".join([
        "Usage: slicewise COMMAND ...",
        filled("Who slowed my job down, by how much, and what would it have taken alone?"),
        *(section(title, rows, widest) for title, rows in told.items()),
        section("Options", [("--version", "Print the version."), ("--help", "Show this help.")], widest),
        "Example:\n  slicewise run -- ./program",
        filled("One command's options and an example: slicewise COMMAND --help"),
    ])  # fmt: skip
