"""What jobs took side by side, predicted from runs alone, against what was recorded."""

import os
from pathlib import Path

import pytest
from testbed import foretell_tables, measured, recordings
from testbed.blame_plans import STORAGES, recording_of

# The process that has read these recordings.
pytestmark = pytest.mark.xdist_group("blame")

ARCHIVES = Path(__file__).parent / "campaigns"
IS_SOAK = int(os.environ.get("PROPERTY_EXAMPLES", "0")) >= 100


@pytest.mark.parametrize("storage", STORAGES if IS_SOAK else ["sshfs-sync", "disk"])
def test_runtimes_are_foretold_as_recorded(storage):
    """Whoever changes the model writes the tables anew, and looks at all of them."""
    found = foretell_tables.outcomes(recordings.unpacked(ARCHIVES) / recording_of(storage))
    (listed,) = (table for table in measured.kept("foretold") if table["section"] == storage)
    assert listed == foretell_tables.listed(storage, found, foretell_tables.JOB)


def test_errors_are_as_small_as_they_should_be():
    """Of sshfs that syncs and of the local disk: the two others have a storm that no law explains, and cold reads."""
    (errors,) = (table for table in measured.kept("foretold") if table["section"] == "errors")
    rows = [dict(zip(errors["columns"], row, strict=True)) for row in errors["rows"]]
    aimed = {row["storage"]: row for row in rows if row["jobs"] == "all" and row["storage"] in ("sshfs-sync", "disk")}
    assert len(aimed) == 2
    for row in aimed.values():
        assert float(row["largest"]) <= foretell_tables.AIM[0]
        assert float(row["mean"]) <= foretell_tables.AIM[1]
        assert int(row["count"]) >= 20
