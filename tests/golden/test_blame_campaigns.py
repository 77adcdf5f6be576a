"""What blame tells of jobs that really lost time to each other, held against what their own clocks said."""

import statistics
from pathlib import Path

import pytest
from support.consistency import contradictions
from testbed import blame_validation as recorded
from testbed import measured, recordings
from testbed.blame_plans import STORAGES, recording_of

# One process reads these recordings, and asks for what every test here uses.
pytestmark = pytest.mark.xdist_group("blame")

ARCHIVES = Path(__file__).parent / "campaigns"
RECORDINGS = [recording_of(storage) for storage in STORAGES]
# Mean and largest error in per cent of the true loss that are reached, and losses that the source tells at least; where
# no more is said the aim (`recorded.AIMS`) is reached. tests/golden/measured/blame.json has all of them.
REACHED = {
    ("standalone runs", "glusterfs"): (1.5, 8, 25),
    ("standalone runs", "disk"): (1.5, 8, 12),
    ("standalone runs", "sshfs-sync"): (1.5, 8, 13),
    ("standalone runs", "sshfs"): (1.5, 8, 12),
    ("quiet slices", "glusterfs"): (5, 36, 10),  # 34 % are of one job that keeps a pace
    ("quiet slices", "disk"): (4, 10, 5),
    ("quiet slices", "sshfs-sync"): (4, 10, 6),
    ("quiet slices", "sshfs"): (4, 10, 5),
    ("line", "glusterfs"): (5, 36, 10),  # the same one
    ("line", "disk"): (6, 18, 8),
    ("line", "sshfs-sync"): (6, 12, 6),
    ("line", "sshfs"): (6, 12, 6),
    ("shared slices", "glusterfs"): (10, 40, 20),
    ("shared slices", "disk"): (10, 40, 12),
    ("shared slices", "sshfs-sync"): (10, 40, 10),
    ("shared slices", "sshfs"): (20, 86, 8),  # the largest are of losses of 1.9 s, which are not claimed
    ("envelope", "glusterfs"): (4, 15, 10),
    ("envelope", "disk"): (4, 15, 8),
    ("envelope", "sshfs-sync"): (4, 15, 6),
    ("envelope", "sshfs"): (4, 15, 5),
}
# The part of jobs that nobody hurt for which a loss is claimed with high or medium confidence: without standalone runs,
# and with some of them. The aim is one in forty.
MOST_CLAIMED = {False: 0.0, True: 0.0}


def of(name: str) -> Path:
    return recordings.unpacked(ARCHIVES) / name


def test_all_storages_were_recorded():
    assert recorded.directories(recordings.unpacked(ARCHIVES)) == [of(name) for name in RECORDINGS]


@pytest.mark.parametrize(("source", "storage"), REACHED)
def test_losses_are_told(source, storage):
    errors = recorded.errors(of(recording_of(storage)), source)
    mean, most, fewest = REACHED[source, storage]
    assert len(errors) >= fewest
    assert statistics.mean(errors) <= mean
    assert max(errors) <= most


@pytest.mark.parametrize("name", RECORDINGS)
def test_parts_add_up_to_the_loss_and_no_answer_contradicts_itself(name):
    confidences = set()
    for case in recorded.cases(of(name)):
        for told in (case.told, case.told_without):
            confidences.add(told.confidence)
            assert list(contradictions(told)) == [], (case.run.name, case.job.job)
            if told.lost is None:
                assert told.unknown_because
                continue
            parts = sum(one.lost.value for one in told.neighbours) + told.unexplained_seconds
            assert parts == pytest.approx(told.lost.value, abs=1e-9)
    assert "high" in confidences
    assert len(confidences) > 1


@pytest.mark.parametrize(("neighbours", "mean", "within"), [(1, 4, 0.95), (2, 7, 0.93)])
def test_the_part_of_each_neighbour(neighbours, mean, within):
    """The aim: each within POINTS_AIM of what the run without that neighbour shows."""
    parts = [share for name in RECORDINGS for share in recorded.shares(of(name))]
    apart = [abs(share.points) for share in parts if len(share.case.run.jobs) == neighbours + 1]
    assert statistics.mean(apart) <= mean
    assert sum(points <= recorded.POINTS_AIM for points in apart) >= within * len(apart)


@pytest.mark.parametrize("has_standalone", MOST_CLAIMED)
def test_silence_where_nobody_hurt(has_standalone):
    asked = [one for name in RECORDINGS for one in recorded.quiet(of(name)) if one.has_standalone == has_standalone]
    claimed = [one for one in asked if one.is_false_alarm]
    assert len(asked) >= 40
    assert len(claimed) <= MOST_CLAIMED[has_standalone] * len(asked)
    assert sum(one.slower is None or one.slower <= 0 for one in claimed) <= 1
    assert all(one.job is None or one.lost.value <= 0 for each in claimed for one in each.told.neighbours)


def test_nobody_is_blamed_on_another_storage():
    for name in RECORDINGS:
        for case in recorded.cases(of(name)):
            away = [truth.profile for truth in case.run.jobs if truth.job == "away"]
            blamed = {one.job for one in case.told.neighbours if one.lost.value > 0}
            assert case.job.job == "away" or not blamed & set(away)


def test_a_neighbour_without_a_profile():
    """The aim: all within UNPROFILED_AIM per cent of what it moved."""
    told = [one for name in RECORDINGS for one in recorded.unprofiled(of(name))]
    assert {one.case.run.storage for one in told} == {"glusterfs", "disk"}
    errors = [100 * abs(one.told / one.moved - 1) for one in told]
    assert statistics.median(errors) <= 2
    assert sum(error <= recorded.UNPROFILED_AIM for error in errors) >= 0.85 * len(errors)


def test_the_figures_are_those_that_were_looked_at():
    assert measured.made("blame") == measured.kept("blame")
