"""What jobs took side by side, foretold from runs alone, against what was recorded: docs/foretold.md."""

import statistics
from pathlib import Path

import pytest
from testbed import foretell_page, validation
from testbed.blame_plans import recording_of

# The process that has read these recordings.
pytestmark = pytest.mark.xdist_group("blame")

ARCHIVES = Path(__file__).parent / "campaigns"
PAGE = Path(__file__).resolve().parents[2] / "docs/foretold.md"


def test_sshfs_is_foretold_as_the_page_says():
    """Only this storage takes seconds. Whoever changes the model writes the page anew and looks at the other three."""
    found = foretell_page.outcomes(validation.unpacked(ARCHIVES) / recording_of("sshfs-sync"))
    errors = [abs(one.error) for one in found]
    assert statistics.mean(errors) <= foretell_page.AIM[1]
    assert max(errors) <= foretell_page.AIM[0]
    assert len(found) >= 20
    row = f"| sshfs-sync | all | {len(found)} | {100 * statistics.mean(errors):.3g} % |"
    assert row in PAGE.read_text(encoding="utf-8")
