"""What scripts rely on is not taken away (docs/compatibility.md): what earlier MINOR versions had, this one has."""

import copy
from pathlib import Path

import pytest
import slicewise
from golden.surface import missing, parsed, surface, text_of

HERE = Path(__file__).parent
MAJOR, MINOR, _ = slicewise.__version__.split(".")
VERSIONS = sorted(HERE.glob(f"surface-{MAJOR}.*.txt"))


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.stem)
def test_nothing_of_a_released_version_is_gone(version: Path):
    gone = missing(surface(), parsed(version.read_text(encoding="utf-8")))
    assert gone == [], "a MAJOR version alone takes away, and CHANGELOG.md says what is used instead"


def test_there_is_a_file_of_this_version():
    assert HERE / f"surface-{MAJOR}.{MINOR}.txt" in VERSIONS


def test_what_is_taken_away_is_named():
    now = surface()
    assert parsed(text_of(now)) == now
    assert all(
        len(now[kind]) >= least for kind, least in (("keys", 40), ("options", 40), ("columns", 15), ("parameters", 40))
    )
    assert len(now["settings"][""]) >= 25
    less = copy.deepcopy(now)
    less["keys"]["slicewise report --detail"].remove("slice_seconds")
    del less["options"]["slicewise run"]
    less["settings"][""].remove("SLICEWISE_DIR")
    less["columns"]["processes"].remove("label")
    less["parameters"]["slicewise.read"].insert(0, "new")
    gone = missing(less, now)
    assert [line.split("(")[0] for line in gone] == [
        "keys: slicewise report --detail slice_seconds", "options: slicewise run", "settings: SLICEWISE_DIR",
        "columns: processes label", "parameters: slicewise.read",
    ]  # fmt: skip
    more = copy.deepcopy(now)
    more["keys"]["slicewise report --detail"].append("another")
    more["parameters"]["slicewise.read"].append("another")
    assert missing(more, now) == []
