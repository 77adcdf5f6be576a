"""The analyzer's parts import what lies below them, and nothing else, as analyzer/pyproject.toml says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
ANALYZER = TREE / "analyzer"
UNMAPPED = {"build", "dist", "docs"}  # what is made, and the pages themselves
NO_ROOMS = {"vendor", "templates", "plans", "__pycache__"}  # files without code of ours


def folders(place: Path) -> set[str]:
    return {it.name for it in place.iterdir() if it.is_dir() and not it.name.startswith(".")} - NO_ROOMS


def runs(*command: str) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).parent / command[0]
    return subprocess.run([tool, *command[1:]], cwd=ANALYZER, capture_output=True, text=True, check=False)


def test_every_arrow_points_down():
    done = runs("lint-imports", "--no-cache")
    assert done.returncode == 0, done.stdout


def test_the_rooms_would_be_missed(tmp_path):
    """A contract that nothing can break holds nothing: a file that imports upwards is told."""
    config = (ANALYZER / "pyproject.toml").read_text(encoding="utf-8")
    layers = '"slicewise.analysis",\n    "slicewise.catalog",'
    turned = config.replace(layers, '"slicewise.catalog",\n    "slicewise.analysis",')
    assert turned != config
    (tmp_path / "pyproject.toml").write_text(turned, encoding="utf-8")
    done = runs("lint-imports", "--no-cache", "--config", str(tmp_path / "pyproject.toml"))
    assert done.returncode == 1
    assert "slicewise.analysis is not allowed to import slicewise.catalog" in done.stdout


def test_every_folder_is_on_the_map():
    map_ = (TREE / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows, _, rooms = map_.partition("## Rooms of the analyzer")
    rooms = rooms.partition("### ")[0]
    assert {name for name in folders(TREE) - UNMAPPED if f"| `{name}/" not in rows} == set()
    package = ANALYZER / "slicewise"
    inner = folders(package) | folders(package / "analysis") | folders(package / "report")
    assert {name for name in inner if not re.search(rf"\b{name}\b", rooms)} == set()
