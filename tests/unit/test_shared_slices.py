"""What slices in company say of the time alone, and which source of it counts."""

from dataclasses import replace

import numpy as np
import pytest
from slicewise.analysis.blame import sources, uncontended
from slicewise.analysis.blame.on_storage import SlicesOnStorage
from slicewise.analysis.blame.requests import small_syncs
from slicewise.analysis.blame.shared_slices import (
    DO_NOT_MEET,
    ERROR_OF_FEW,
    ERROR_OF_SHARE,
    ERROR_OF_SPEED,
    IN_FEW,
    NO_BYTES,
    PartAlone,
    part_alone,
)
from slicewise.analysis.blame.standalone import ERROR_OF_SYNCS, StandaloneRows, from_standalone
from slicewise.analysis.blame.uncontended import Price, Prices, Scene
from slicewise.analysis.calls import KINDS
from slicewise.analysis.capacity.by_kind import Capacities
from support.blame_trials import digests
from support.swz import build_profile

MIB = 1 << 20
KNOWN = Capacities({"read": 5.0 * MIB, "write": 5.0 * MIB, "meta": 100.0})
SHARED = 10


def job(
    own: dict[str, list[float]], others: dict[str, list[float]], seconds: list[float], is_cached: bool = True
) -> SlicesOnStorage:
    """A job in calls for so many seconds of each slice of 1 s: MiB, or metadata calls, of its own and of others."""
    count = len(seconds)

    def arrays(given: dict[str, list[float]]) -> dict:
        return {kind: np.array(given.get(kind, [0.0] * count)) * (1 if kind == "meta" else MIB) for kind in KINDS}

    mine, theirs = arrays(own), arrays(others)
    main = max(own, key=lambda kind: sum(own[kind]))
    took = {kind: np.array(seconds if kind == main else [0.0] * count) for kind in KINDS}
    zeros, company = np.zeros(count), sum(theirs.values()) > 0
    cached = mine["write"] if is_cached else zeros
    together = {kind: mine[kind] + theirs[kind] for kind in KINDS}
    return SlicesOnStorage(
        np.arange(count), took, mine, dict.fromkeys(KINDS, zeros), cached, mine["write"], np.ones(count), company,
        zeros, company.astype(np.uint64), zeros, together,
    )  # fmt: skip


@pytest.mark.parametrize("is_cached", [True, False])
def test_who_got_two_fifths_would_have_taken_two_fifths_of_the_time(is_cached):
    """Who may wait for answers is not sure to fill the storage, as a cache is."""
    own = job({"write": [2.0] * SHARED}, {"write": [3.0] * SHARED}, [1.0] * SHARED, is_cached=is_cached)
    assert part_alone(own, KNOWN, 1.0) == PartAlone(pytest.approx(0.4), ERROR_OF_SHARE, is_sure=is_cached)


def test_others_count_while_the_job_is_in_calls():
    """In calls for half of each slice it met half of what others were served."""
    own = job({"write": [2.0] * SHARED}, {"write": [6.0] * SHARED}, [0.5] * SHARED)
    part = part_alone(own, KNOWN, 1.0)
    assert isinstance(part, PartAlone)
    assert part.of_shared == pytest.approx(0.4)


@pytest.mark.parametrize(("alone", "part", "error"), [(5.0, 0.4, ERROR_OF_SHARE), (2.5, 0.8, ERROR_OF_SPEED)])
def test_its_own_speed_decides_where_both_disagree(alone, part, error):
    """10 slices of 2 MiB in company, then 10 to itself, at 5 MiB/s, which its share says too, or at 2.5 MiB/s."""
    own = job(
        {"write": [2.0] * SHARED + [alone] * SHARED}, {"write": [3.0] * SHARED + [0.0] * SHARED}, [1.0] * 2 * SHARED,
        is_cached=False,
    )  # fmt: skip
    assert part_alone(own, KNOWN, 1.0) == PartAlone(pytest.approx(part), error, is_sure=True)


def test_of_a_cache_both_count_and_the_interval_reaches_to_both():
    own = job({"write": [2.0] * SHARED + [2.5] * 3}, {"write": [3.0] * SHARED + [0.0] * 3}, [1.0] * SHARED + [1.0] * 3)
    part = part_alone(own, KNOWN, 1.0)
    assert isinstance(part, PartAlone)
    assert part.of_shared == pytest.approx(0.6)
    assert part.error == pytest.approx(0.2 * SHARED / (3 + 0.6 * SHARED))


def test_metadata_calls_have_a_speed_and_no_share():
    storm = job({"meta": [10.0] * SHARED + [40.0] * 5}, {"write": [4.0] * SHARED + [0.0] * 5}, [1.0] * (SHARED + 5))
    assert part_alone(storm, KNOWN, 1.0) == PartAlone(pytest.approx(0.25), ERROR_OF_SPEED, is_sure=True)
    always = job({"meta": [10.0] * SHARED}, {"write": [4.0] * SHARED}, [1.0] * SHARED)
    assert part_alone(always, KNOWN, 1.0) == NO_BYTES


def test_directions_that_do_not_meet_are_not_shared():
    many = job({"write": [3.0, 3.1] * 8}, {"read": [1.0, 4.0, 2.0, 3.0] * 4}, [1.0] * 16)
    assert part_alone(many, KNOWN, 1.0) == DO_NOT_MEET
    reads = [1.0, 1.0, 4.0, 4.0] * 4
    meets = job({"write": [5.0 - read for read in reads]}, {"read": reads}, [1.0] * 16)
    assert part_alone(meets, KNOWN, 1.0) == PartAlone(pytest.approx(0.5), ERROR_OF_SHARE, is_sure=True)


@pytest.mark.parametrize(("noise", "part"), [(0.1, 0.75), (2.0, DO_NOT_MEET)])
def test_directions_that_pass_each_other_by_cost_nothing(noise, part):
    """Others read as they like, and all writers get as much together: a duplex link, or a limit of each direction.
    What writers get may vary too much to see that.
    """
    chance = np.random.default_rng(1)
    mine, reads = 3 + noise * chance.uniform(-1, 1, 40), 3 + chance.uniform(-1, 1, 40)
    both = job({"write": list(mine)}, {"write": [1.0] * 40, "read": list(reads)}, [1.0] * 40)
    found = part_alone(both, KNOWN, 1.0)
    share = found.of_shared if isinstance(found, PartAlone) else found
    assert share == (part if isinstance(part, str) else pytest.approx(part, abs=0.01))


def test_what_is_known_for_some_slices_together_only_is_refused():
    own = job({"write": [0.0] * 9 + [20.0]}, {"write": [0.1] * 9 + [30.0]}, [1.0] * SHARED)
    assert part_alone(own, KNOWN, 1.0) == IN_FEW


@pytest.mark.parametrize(("size", "is_small"), [(4096, True), (MIB, False)])
def test_syncs_of_few_bytes_are_no_share_of_the_bytes_and_fill_no_storage(tmp_path, size, is_small):
    """A database's commits: by its share of the bytes a job that takes 15 s alone would have taken 0.2 s."""
    process = {"process": 1, "slice_ns": 10**9, "start_ns": 0, "end_ns": 20 * 10**9}
    did = {"process": 1, "write_bytes": size, "write_ops": 1, "sync_ops": 1, "sync_ns": 10**9, "threads": 1}
    mounts = [{"process": 1, "type": "ext4", "source": "/dev/sda1"}]
    (digest,) = digests(build_profile(tmp_path / "job", [process], [did | {"slice": at} for at in range(20)], mounts))
    (storage,) = digest.storages["storage"].to_list()
    assert small_syncs(digest) == (frozenset([storage]) if is_small else frozenset())
    own = job({"write": [2.0] * SHARED}, {"write": [3.0] * SHARED}, [1.0] * SHARED)
    scene = Scene({storage: own}, {storage: KNOWN}, 1.0, small_syncs=small_syncs(digest))
    refused = [source(scene).refused for source in (uncontended.from_shared_slices, uncontended.from_envelope)]
    assert (refused == [uncontended.SMALL_SYNCS] * 2) == is_small


def test_slices_too_few_to_see_whether_directions_meet_give_what_is_between():
    """3 MiB of its own beside 3 MiB of the other direction: half of the time if they meet, else all of it."""
    few = job({"write": [3.0] * 6}, {"read": [3.0] * 6}, [1.0] * 6)
    part = part_alone(few, KNOWN, 1.0)
    assert part == PartAlone(pytest.approx(0.75), pytest.approx(1 / 3), is_sure=False)


def test_by_requests_a_storm_has_no_share_and_no_envelope():
    """Two that sync small files one by one share the journal: each is hardly slower than alone."""
    storm = job({"write": [2.0] * SHARED}, {"write": [3.0] * SHARED}, [1.0] * SHARED)
    asked = replace(storm, amounts={**storm.amounts, "write": np.full(SHARED, 0.2), "meta": np.full(SHARED, 0.5)})
    scene = Scene({1: storm}, {1: KNOWN}, 1.0, in_requests={1: asked})
    refused = [source(scene).refused for source in (uncontended.from_shared_slices, uncontended.from_envelope)]
    assert refused == [NO_BYTES] * 2


@pytest.mark.parametrize(("shared", "error"), [(3, ERROR_OF_FEW), (4, ERROR_OF_SHARE)])
def test_a_few_slices_say_less_surely_what_the_share_is(shared, error):
    own = job({"write": [2.0] * shared}, {"write": [3.0] * shared}, [1.0] * shared)
    assert part_alone(own, KNOWN, 1.0) == PartAlone(pytest.approx(0.4), error, is_sure=shared == 4)


def test_nobody_is_faster_alone_than_the_storage():
    """Others' bytes of its last slice were served after its end: by them alone it would have 4 of 9 parts."""
    own = job({"write": [4.0] * 3}, {"write": [1.0, 1.0, 13.0]}, [1.0] * 3)
    found = part_alone(own, KNOWN, 1.0)
    assert isinstance(found, PartAlone)
    assert found.of_shared == pytest.approx(0.8)


def test_where_limits_hold_each_direction_is_shared_by_itself():
    """It reads for half of its time and writes for half of it; somebody reads as much as it all the time, and so half
    of that while it reads; nobody writes.
    """
    limited = Capacities(KNOWN.most, pass_by=True)
    own = job({"read": [2.0] * 3, "write": [2.0] * 3}, {"read": [2.0] * 3, "meta": [500.0] * 3}, [1.0] * 3)
    halves = {"read": own.in_calls / 2, "write": own.in_calls / 2, "meta": own.seconds["meta"]}
    assert part_alone(replace(own, seconds=halves), limited, 1.0) == PartAlone(
        pytest.approx((2 / 3 + 1) / 2), ERROR_OF_FEW, is_sure=True
    )


def test_where_limits_hold_others_writes_count_while_the_job_waits_for_its_own():
    """A sync after it has read: what others wrote while it read cost it nothing."""
    limited = Capacities(KNOWN.most, pass_by=True)
    own = job({"read": [5.0, 5.0, 0, 0], "write": [0, 0, 5.0, 5.0]}, {"write": [5.0, 5.0, 0.001, 0.001]}, [1.0] * 4)
    seconds = {"read": np.array([1.0, 1, 0, 0]), "write": np.array([0, 0, 1.0, 1]), "meta": own.seconds["meta"]}
    found = part_alone(replace(own, seconds=seconds), limited, 1.0)
    assert isinstance(found, PartAlone)
    assert found.of_shared == pytest.approx(1.0, abs=0.01)


PLACE = (1, "write")


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ([("standalone runs", 0.80, "medium"), ("quiet slices", 0.03, "high")], "quiet slices"),
        ([("standalone runs", 0.06, "high"), ("quiet slices", 0.02, "high")], "standalone runs"),
        # Quiet slices that are not surest were off by up to 16 %.
        ([("standalone runs", 0.20, "medium"), ("quiet slices", 0.03, "medium")], "standalone runs"),
        ([("standalone runs", 0.80, "medium"), ("shared slices", 0.18, "medium")], "standalone runs"),
        ([("line", 0.08, "low"), ("shared slices", 0.18, "medium")], "shared slices"),
        ([("quiet slices", 0.05, "medium"), ("line", 0.02, "medium")], "quiet slices"),
    ],
)
def test_the_source_that_is_known_clearly_better_counts(monkeypatch, given, chosen):
    own = job({"write": [2.0] * SHARED}, {"write": [3.0] * SHARED}, [1.0] * SHARED)
    scene = Scene({1: own}, {1: KNOWN}, 1.0)
    prices = [
        Prices(source, {PLACE: Price(0.5 / (2 * MIB), error)}, "", confidence) for source, error, confidence in given
    ]
    monkeypatch.setattr(sources, "_tried", lambda *_: prices)
    answered = sources.ask(scene, [], 1)
    assert answered.base is not None
    assert answered.base.source == chosen
    assert answered.base.seconds == uncontended.as_baseline(answered.chosen, scene).seconds


@pytest.mark.parametrize(("runs", "is_wide"), [(1, True), (4, False)])
def test_few_runs_that_sync_a_record_at_a_time_are_known_to_a_quarter(runs, is_wide):
    own = job({"write": [2.0] * SHARED}, {"write": [3.0] * SHARED}, [1.0] * SHARED)
    alone = job({"write": [4.0] * 5}, {"write": [0.0] * 5}, [1.0] * 5)
    scene = Scene({7: own}, {7: KNOWN}, 1.0, small_syncs=frozenset([7]))
    prices = from_standalone(scene, [StandaloneRows(f"r{k}", 1, {7: alone}, 1.0) for k in range(runs)], 1)
    assert (prices.of[7, "write"].error >= ERROR_OF_SYNCS) == is_wide
