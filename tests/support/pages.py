"""The pages' blocks of shell, and what the comment before a block says about how it is run.

No comment: the block is run to its end, and must succeed. Else one of these, on the line before the block:

    <!-- goes on -->           each of its commands is started, stays until the page's end, and is ended by Ctrl-C
    <!-- run by FILE -->       it is run elsewhere: FILE is a page whose blocks have the same lines, or a test that
                               reads this page
    <!-- not run: why -->      it is only parsed: options are those of the command, and targets of make exist
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Literal

from support.programs import ROOT

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "docs/gallery/README.md", *DOCS]
BLOCK = re.compile(
    r"^ *(?:<!-- (?:(?P<not>not run: [^\n]+)|(?P<on>goes on)|run by (?P<by>\S+)) -->\n *)?```sh\n(?P<lines>.*?)^ *```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """lines: as they stand on the page. by: the page or the test that runs it, of "elsewhere" alone."""

    page: Path
    lines: str
    how: Literal["run", "goes on", "elsewhere", "not run"]
    by: Path | None

    @property
    def is_run_here(self) -> bool:
        return self.how in ("run", "goes on")

    @property
    def commands(self) -> list[str]:
        """Its command lines: lines that go on in the next one are one, without comments behind them."""
        whole = re.sub(r" *\\\n *", " ", self.lines)
        lines = (re.sub(r"(^|\s+)#\s.*", "", line).strip() for line in whole.splitlines())
        return [line for line in lines if line]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The page's blocks of shell, in their order."""
    return [
        Block(
            page,
            dedent(found["lines"]),
            "not run" if found["not"] else "goes on" if found["on"] else "elsewhere" if found["by"] else "run",
            ROOT / found["by"] if found["by"] else None,
        )
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def run_here(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.is_run_here]


def lines_run() -> tuple[int, int]:
    """How many command lines all pages have, and how many of them a test runs."""
    counts = [(len(block.commands), block.how != "not run") for page in PAGES for block in blocks(page)]
    return sum(count for count, is_run in counts if is_run), sum(count for count, _ in counts)
