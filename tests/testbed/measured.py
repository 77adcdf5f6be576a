"""What the analyses say of recordings, as data: the tables of each set of recordings, in tests/golden/measured.

`python -m testbed.measured [PART ...]` writes them anew, as whoever changes an analysis must: the change of these files
is what the change of the analysis does. docs/accuracy.md says what follows from them.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from testbed import (
    blame_tables,
    cached_tables,
    foretell_tables,
    plants_tables,
    policy_tables,
    sharing_tables,
    short_tables,
    sweep_tables,
    usual_tables,
)
from testbed.recordings import unpacked
from testbed.tables import Table

MEASURED = Path(__file__).resolve().parents[1] / "golden" / "measured"
GOLDEN = MEASURED.parent
ARCHIVES, PLANTED, CACHED = GOLDEN / "campaigns", GOLDEN / "planted.tar.xz", GOLDEN / "cached"
PANELS = GOLDEN / "panels.json"
DRAWING = GOLDEN.parents[1] / "docs" / "policies-measured.svg"

PARTS: dict[str, Callable[[], list[Table]]] = {
    "sharing": lambda: sharing_tables.tables(unpacked(ARCHIVES)),
    "usual": lambda: usual_tables.tables(unpacked(ARCHIVES)),
    "in-short": lambda: short_tables.tables(unpacked(ARCHIVES)),
    "cached": lambda: cached_tables.tables(unpacked(CACHED) / "clients"),
    "blame": lambda: blame_tables.tables(unpacked(ARCHIVES)),
    "foretold": lambda: foretell_tables.tables(unpacked(ARCHIVES)),
    "causes": lambda: plants_tables.tables(plants_tables.read_all(PLANTED)),
    "panels": lambda: sweep_tables.tables(sweep_tables.read(PANELS)),
    "turns": lambda: policy_tables.tables(ARCHIVES),
}


def made(name: str) -> list[Table]:
    """The tables of a part as the analyses make them now."""
    return PARTS[name]()


def kept(name: str) -> list[Table]:
    """The tables of a part as they were last looked at."""
    found: list[Table] = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return found


def text_of(tables: list[Table]) -> str:
    """JSON with a row a line, so that a change of a figure is a change of a line."""
    parts = []
    for table in tables:
        rows = ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in table["rows"])
        section, columns = (json.dumps(table[key], ensure_ascii=False) for key in ("section", "columns"))
        parts.append(f' {{"section": {section}, "columns": {columns}, "rows": [\n{rows}\n ]}}')
    return "[\n" + ",\n".join(parts) + "\n]\n"


def main() -> None:
    """Writes all parts, or those that are named; with the turns, their drawing."""
    MEASURED.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PARTS:
        (MEASURED / f"{name}.json").write_text(text_of(made(name)), encoding="utf-8")
        if name == "turns":
            DRAWING.write_text(policy_tables.drawing(ARCHIVES), encoding="utf-8")


if __name__ == "__main__":
    main()
