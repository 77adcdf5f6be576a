"""What jobs took side by side, predicted from runs alone, against what was recorded."""

import statistics
from pathlib import Path

import pytest
from testbed import foretell_tables, measured, recordings
from testbed.blame_plans import recording_of

# The process that has read these recordings.
pytestmark = pytest.mark.xdist_group("blame")

ARCHIVES = Path(__file__).parent / "campaigns"


def test_sshfs_is_foretold_as_the_page_says():
    """Only this storage takes seconds. Whoever changes the model writes the page anew and looks at the other three."""
    found = foretell_tables.outcomes(recordings.unpacked(ARCHIVES) / recording_of("sshfs-sync"))
    errors = [abs(one.error) for one in found]
    assert statistics.mean(errors) <= foretell_tables.AIM[1]
    assert max(errors) <= foretell_tables.AIM[0]
    assert len(found) >= 20
    assert measured.kept("foretold")[2] == foretell_tables.listed("sshfs-sync", found, foretell_tables.JOB)
