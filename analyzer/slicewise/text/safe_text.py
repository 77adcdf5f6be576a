"""Names made safe for each medium: the one home of what a path, program, job or host may not do to whoever reads it.

A name is whatever a user, a program or a crafted profile says: escape sequences that a terminal obeys, line ends,
letters that are not seen or that turn the text around, halves of surrogates, markup, formulas. What a reader sees is
the name with such letters spelled out (`\\x1b`, `\\u202e`); what a program reads (JSON, Parquet) is the name itself.

Whoever writes text calls the function of its medium where the text leaves: the terminal (`output.write_text`,
`say`, `report.tables.for_terminal`), a page (`report.page`, `charts.style`), and each export.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys

TYPE_CHECKING = False  # typing takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


# Controls, and what is not seen or steers the text around it: soft hyphen, fillers, joiners, marks and overrides of
# direction, line and paragraph separators, tags, noncharacters, surrogates.
UNSAFE_LETTERS = (
    "\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f"
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
UNSAFE = re.compile(f"[{UNSAFE_LETTERS}]")
UNSAFE_IN_JSON = re.compile(f"(?![\\n])[{UNSAFE_LETTERS}]")
# What Python makes of bytes of a path that are no text (PEP 383).
FIRST_BYTE, LAST_BYTE = 0xDC80, 0xDCFF
# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA_BEGINS = ("=", "+", "-", "@")
FULL, BASE, HASH = "full", "base", "hash"
FORMS = (FULL, BASE, HASH)
DIGITS = 16


def visible(text: str) -> str:
    """The text on one line, with every letter that is not plainly seen spelled out. For people: terminals, pages."""
    return UNSAFE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    if FIRST_BYTE <= code <= LAST_BYTE:
        return f"\\x{code & 0xFF:02x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def say(line: str) -> None:
    """One line of the command's own on standard error, if there is any."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"slicewise: {visible(line)}", file=sys.stderr, flush=True)


def as_named_from_here(path: str | os.PathLike[str]) -> str:
    """The path as a user would type it: relative where it lies below the current directory."""
    try:
        relative = os.path.relpath(path)
    except OSError:  # the current directory is gone
        return os.fspath(path)
    return os.fspath(path) if relative.startswith("..") else relative


def json_text(value: Any, **options: Any) -> str:
    """`value` as JSON that reads back as the same, and that is safe to look at: what is unsafe in it is escaped."""
    return UNSAFE_IN_JSON.sub(_json_escape, json.dumps(value, ensure_ascii=False, **options))


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]


def visible_in(value: Any) -> Any:
    """`value`, of dicts, lists and what JSON knows, with all text in it visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible_in(key): visible_in(item) for key, item in value.items()}
    return [visible_in(item) for item in value] if isinstance(value, list) else value


def metrics_label(text: str) -> str:
    """The value of an OpenMetrics label, between its quotes."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')


def folded_frame(text: str) -> str:
    """A frame of a folded stack: without what separates frames and ends lines."""
    return visible(" ".join(text.replace(";", ":").split()))


def csv_cell(text: str) -> str:
    """A cell of CSV (its quotes are the writer's): on one line, and no formula to a spreadsheet."""
    return f"'{visible(text)}" if text.startswith(FORMULA_BEGINS) else visible(text)


def form_of_names(environment: Mapping[str, str]) -> str:
    """Which form the environment asks for. What is none of them the library complains about, and takes for full."""
    form = environment.get("SLICEWISE_NAMES", "")
    return form if form in FORMS else FULL


def masked(path: str, environment: Mapping[str, str]) -> str:
    """The path, its last part, or the digits that stand for it."""
    form = form_of_names(environment)
    if form == BASE:
        return path[path.rfind("/", 0, -1) + 1 :]
    if form == HASH and path:
        import hashlib  # most users mask nothing
        import hmac

        key = hashlib.sha256(os.fsencode(environment.get("SLICEWISE_NAMES_KEY", ""))).digest()
        return hmac.new(key, os.fsencode(path), "sha256").hexdigest()[:DIGITS]
    return path
