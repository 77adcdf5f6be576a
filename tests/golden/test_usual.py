"""Recordings as users meet them: what both models say of them, and whether it is as the page says."""

import statistics
from pathlib import Path

import pytest
from testbed import measured, recordings, usual_tables
from testbed.usual_plans import PLANS

# One process reads these recordings, and asks for what every test here uses.
pytestmark = pytest.mark.xdist_group("usual")

ARCHIVES = Path(__file__).parent / "campaigns"


def of(name: str) -> Path:
    return recordings.unpacked(ARCHIVES) / name


def test_nearly_all_times_lie_in_the_intervals_and_others_are_told():
    known = [name for name in usual_tables.SHARED_OUT if name not in usual_tables.HELD_OUT]
    every = [one for name in known for one in usual_tables.shared_out(of(name))]
    assert all(one.is_warned for one in every if not one.is_within)
    told = [one for one in every if not one.has_bystander]
    assert len(told) >= 100
    assert statistics.mean(one.is_within for one in told) >= usual_tables.COVERAGE_AIM
    # Who plans by it is told beforehand of what may be far off, but for neighbours that nobody knows of.
    assert all(one.is_within or one.doubt for one in told if abs(one.error) > usual_tables.BAD)


def test_nearly_all_foretold_times_that_are_off_are_told_afterwards():
    known = [name for name in PLANS if name not in usual_tables.HELD_OUT]
    every = [one for name in known for one in usual_tables.foretold_runs(of(name))]
    outside = [one for one in every if not one.is_within]
    assert len(outside) >= 10
    assert sum(one.is_warned for one in outside) >= usual_tables.WARNED_AIM * len(outside)


def test_capacity_that_falls_with_nodes_is_predicted():
    told = usual_tables.shared_out(of("usual-seeks"))
    assert max(abs(one.error) for one in told) <= 0.15
    assert statistics.mean(abs(one.error) for one in told) <= 0.05


def test_names_of_profiles_say_what_ran_together():
    assert usual_tables._names("2+6on3+4after10unseen-1-2") == ("2+6/3+4@10!", "2")
    assert usual_tables._names("4small+4largeafter10-3-1") == ("4~small+4~large@10", "1")
    assert all(plan.sessions for plan in PLANS.values())


@pytest.mark.parametrize("part", ["usual", "in-short"])
def test_the_figures_are_those_that_were_looked_at(part):
    assert measured.made(part) == measured.kept(part)


def test_recordings_that_were_made_after_all_was_fixed():
    """No law but one was chosen by them, so what they show is told as it is: these are no aims."""
    shared = [one for name in ("usual-reads", "usual-large") for one in usual_tables.shared_out(of(name))]
    told = [one for name in usual_tables.HELD_OUT for one in usual_tables.foretold_runs(of(name))]
    assert (len(shared), sum(one.is_within for one in shared)) == (30, 29)
    assert (len(told), sum(one.is_within for one in told)) == (80, 79)
    assert max(abs(one.error) for one in shared) < 0.12
    assert sum(abs(one.error) > usual_tables.BAD for one in told) == 3
    assert sum(one.is_warned for one in told if not one.is_within) == 1
