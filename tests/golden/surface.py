"""What scripts rely on, and no later version of the same MAJOR takes away: keys of JSON, options, settings, functions
and columns of the Python API. Read from the pages that are made from the code, or whose keys tests compare with it.

    python -m golden.surface > tests/golden/surface-VERSION.txt
"""

import importlib
import inspect
import re
import textwrap
from pathlib import Path

from digest_pages import FUNCTIONS, public_functions
from slicewise.cli import RENAMED
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES

ROOT = Path(__file__).resolve().parents[2]
# Options that make another answer of a command, and have keys of their own.
ANSWERS = sorted({word for new in RENAMED.values() for word in new.split() if word.startswith("--")})
COMMAND = re.compile(rf"^##+ (slicewise(?:-[a-z]+)?(?: [a-z][a-z-]*)*(?: (?:{'|'.join(ANSWERS)}))?)", re.MULTILINE)
NAME = re.compile(r"`([A-Za-z_][A-Za-z0-9_.-]*)`")
READERS = ("read", "read_jobs", "read_tables")


def surface() -> dict[str, dict[str, list[str]]]:
    """keys: by command; options: by command; settings; columns: by frame; parameters: by function, in their order."""
    settings = re.findall(r'^SETTING\(\w+,\s*"(\w+)"', _text("schema/settings.def"), re.MULTILINE)
    return {
        "keys": {command: _keys(text) for command, text in _sections("docs/commands.md").items()},
        "options": {command: _options(text) for command, text in _sections("docs/options.md").items()},
        "settings": {"": sorted(settings)},
        "columns": {name: list(frame.columns) for name, frame in FRAMES.items()},
        "parameters": dict(_functions()),
    }


def missing(now: dict[str, dict[str, list[str]]], before: dict[str, dict[str, list[str]]]) -> list[str]:
    """What was there before and is there no more. A function may have more parameters, behind those it had."""
    gone = []
    for kind, groups in before.items():
        for group, names in groups.items():
            has = now[kind].get(group)
            if has is None:
                gone.append(f"{kind}: {group}")
            elif kind == "parameters":
                gone += [] if has[: len(names)] == names else [f"{kind}: {group}({', '.join(names)})"]
            else:
                gone += [f"{kind}: {group} {name}".replace("  ", " ") for name in names if name not in has]
    return gone


def _functions() -> list[tuple[str, list[str]]]:
    package = importlib.import_module("slicewise")
    answers = importlib.import_module("slicewise.answers")
    named = [(f"slicewise.{name}", getattr(package, name)) for name in READERS]
    named += [(f"slicewise.answers.{function.__name__}", function) for function in public_functions(answers)]
    named += [(f"{function.__module__}.{function.__name__}", function) for function in FUNCTIONS]
    members = [(f"Digest.{name}", member) for name, member in vars(Digest).items() if not name.startswith("_")]
    found = [(name, list(inspect.signature(function).parameters)) for name, function in named]
    return found + [
        (name, list(inspect.signature(member).parameters) if inspect.isfunction(member) else [])
        for name, member in members
    ]


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _sections(path: str) -> dict[str, str]:
    text = _text(path)
    begins = list(COMMAND.finditer(text))
    ends = [each.start() for each in begins[1:]] + [len(text)]
    sections: dict[str, str] = {}
    for begin, end in zip(begins, ends, strict=True):
        sections[begin.group(1)] = sections.get(begin.group(1), "") + text[begin.end() : end]
    return sections


def _first_cells(text: str) -> list[str]:
    """Of rows of tables and of items: what these are about."""
    names = r"(?:`[^`]+`(?:,\s+| of [a-z ]+)?)+"
    items = re.findall(rf"^- (?:({names}):|\[common\]\S+ (.*(?:\n  .*)*))", text, re.MULTILINE)
    return [line.split("|")[1] for line in text.splitlines() if line.startswith("| ")] + [
        "".join(item) for item in items
    ]


def _keys(text: str) -> list[str]:
    return sorted({name for cell in _first_cells(text) for name in NAME.findall(cell)})


def _options(text: str) -> list[str]:
    return sorted({name for cell in _first_cells(text) for name in re.findall(r"--[a-z][a-z-]*|\b-[a-z]\b", cell)})


def text_of(found: dict[str, dict[str, list[str]]]) -> str:
    """A paragraph a group: its kind, its name, and its names behind a colon."""
    lines = (f"{kind} {group}: {' '.join(names)}" for kind, groups in found.items() for group, names in groups.items())
    wrapped = (textwrap.wrap(line, 100, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
    return "".join(f"{line}\n" for group in wrapped for line in group)


def parsed(text: str) -> dict[str, dict[str, list[str]]]:
    """What text_of() wrote."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in text.replace("\n ", "").splitlines():
        group, _, names = line.partition(":")
        kind, _, group = group.partition(" ")
        found.setdefault(kind, {})[group] = names.split()
    return found


if __name__ == "__main__":
    print(text_of(surface()), end="")
