"""What a profile holds, as plain JSON: every row of every table, numbers that are zero and empty strings left out.

PYTHONPATH=tests python -m golden.contents FILE
"""

import json
import sys
from pathlib import Path

from slicewise.profile.reader import read_profile
from slicewise.profile.reading import REQUIRED_TABLES


def contents(path: Path) -> dict:
    """All that the reader gives of a file, in an order that does not depend on the reader."""
    profile = read_profile(path, bins=True)
    tables = {}
    for name in REQUIRED_TABLES:
        rows = [
            {key: value for key, value in row.items() if value not in (0, "")}
            for row in getattr(profile, name).to_dicts()
        ]
        tables[name] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    return {"job": profile.job, "slice_ns": profile.slice_ns, "damage": len(profile.damage), **tables}


def text_of(found: dict) -> str:
    """JSON with a row of a table in a line."""
    parts = [
        f"{json.dumps(key)}: [\n  " + ",\n  ".join(json.dumps(row, sort_keys=True) for row in value) + "\n ]"
        if isinstance(value, list) and value
        else f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in sorted(found.items())
    ]
    return "{\n " + ",\n ".join(parts) + "\n}"


if __name__ == "__main__":
    print(text_of(contents(Path(sys.argv[1]))))
