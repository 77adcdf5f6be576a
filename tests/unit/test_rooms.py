"""The analyzer's parts import what lies below them, and nothing else, as analyzer/pyproject.toml says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ANALYZER = Path(__file__).resolve().parents[2] / "analyzer"


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
