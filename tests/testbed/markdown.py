"""Tables as Markdown has them, for pages that are made from recordings."""

from __future__ import annotations


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table, and an empty line."""
    return "\n".join(
        [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}", *(f"| {' | '.join(row)} |" for row in rows), ""]
    )
