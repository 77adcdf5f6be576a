"""Lists as GitHub reads them: what is indented by two columns belongs to the item above it, and a list needs no empty
line before it. Python-Markdown wants four columns, and the line.
"""

from __future__ import annotations

import re
from typing import Any

ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
FENCE = re.compile(r" *(?:```|~~~)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs with the text of each page."""
    return "\n".join(_lists_of(markdown.split("\n")))


def _lists_of(lines: list[str]) -> list[str]:
    found: list[str] = []
    is_fenced = is_list = False
    for line in lines:
        is_edge = FENCE.match(line) is not None
        if is_edge or is_fenced:
            found.append(line)
            is_fenced ^= is_edge
            is_list &= line.startswith(" ")
            continue
        is_item = ITEM.match(line) is not None and not (line.startswith(" ") and not is_list)
        if is_item and not is_list:
            if found and found[-1].strip():
                found.append("")
            is_list = True
        elif line.strip() and not line.startswith(" "):
            is_list = is_item
        indent = len(line) - len(line.lstrip(" "))
        found.append(" " * indent + line if is_list else line)
    return found
