"""Recordings as users meet them: what both models say of them, and whether it is as the page says."""

import statistics
from pathlib import Path

import pytest
from testbed import usual_page, validation
from testbed.usual_plans import PLANS

# The process that has unpacked the archives.
pytestmark = pytest.mark.xdist_group("campaigns")

ARCHIVES = Path(__file__).parent / "campaigns"


def of(name: str) -> Path:
    return validation.unpacked(ARCHIVES) / name


@pytest.mark.parametrize("name", usual_page.SHARED_OUT)
def test_nearly_all_times_lie_in_the_intervals_of_the_model_of_sharing_or_a_doubt_was_told(name):
    told = usual_page.shared_out(of(name))
    assert len(told) >= 20
    assert all(one.is_warned for one in told if not one.is_within)
    assert statistics.mean(one.is_within or bool(one.doubt) for one in told) >= usual_page.COVERAGE_AIM


def test_capacity_that_falls_with_nodes_is_predicted_by_both():
    for told in (usual_page.shared_out(of("usual-seeks")), usual_page.foretold_runs(of("usual-seeks"))[0]):
        assert max(abs(one.error) for one in told) <= usual_page.AIMS["usual-seeks"][0]


def test_names_of_profiles_say_what_ran_together():
    assert usual_page._names("2+6on3+4after10unseen-1-2") == ("2+6/3+4@10!", "2")
    assert usual_page._names("4small+4largeafter10-3-1") == ("4~small+4~large@10", "1")
    assert all(plan.sessions for plan in PLANS.values())
