"""The simulator of jobs on shared storage, the truth of other tests: against what is known in closed form."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.simulated_profiles import write_profile
from support.simulated_storage import MIB, Barrier, Compute, SimulatedJob, Storage, Transfer, shares, simulate

DISK = Storage("disk", 100 * MIB, 80 * MIB, 2000)
NOISY = Storage("disk", 100 * MIB, 80 * MIB, 2000, noise=0.1, drift=0.1)

steps = st.lists(
    st.one_of(
        st.builds(Compute, st.floats(0, 3), st.floats(0, 0.2)),
        st.just(Barrier()),
        st.builds(
            Transfer, st.sampled_from(["read", "write"]), st.floats(1 * MIB, 200 * MIB),
            st.sampled_from([0.0625 * MIB, MIB, 4.0 * MIB]), st.sampled_from([0, 0.001]),
        ),
        st.builds(Transfer, st.just("meta"), st.integers(1, 3000)),
        st.builds(Transfer, st.just("write"), st.floats(1 * MIB, 200 * MIB), burst=st.just(64.0 * MIB)),
        st.builds(Transfer, st.just("write"), st.floats(1 * MIB, 200 * MIB), is_synced=st.just(True)),
    ),
    min_size=1,
    max_size=5,
).map(tuple)  # fmt: skip
kinds_of_jobs = st.builds(
    dict, steps=steps, processes=st.integers(1, 3), start=st.floats(0, 5), weight=st.floats(0.5, 4),
    stagger=st.sampled_from([0.0, 0.3]),
)  # fmt: skip
groups = st.lists(kinds_of_jobs, min_size=1, max_size=3).map(
    lambda kinds: [SimulatedJob(f"job{place}", **kind) for place, kind in enumerate(kinds)]
)
of_any_storage = st.sampled_from([DISK, NOISY, Storage("disk", exponent=4.0, by="job")])


def reader(mib: float, **others: object) -> SimulatedJob:
    return SimulatedJob("reader", (Transfer("read", mib * MIB),), **others)


def writer(name: str, mib: float, **others: object) -> SimulatedJob:
    return SimulatedJob(name, (Transfer("write", mib * MIB),), **others)


@pytest.mark.parametrize(
    ("exponent", "read", "write"), [(1, 50, 40), (2, 70.710678, 56.568542), (4, 84.089642, 67.271713)]
)
def test_a_reader_and_a_writer_share_the_region(exponent, read, write):
    storage = Storage("disk", 100, 80, exponent=exponent)
    assert shares(storage, [("read", 1, 1e9), ("write", 1, 1e9)]) == pytest.approx([read, write], abs=1e-6)


def test_who_wants_less_leaves_the_rest_to_others():
    assert shares(Storage("disk", 100), [("read", 1, 20), ("read", 1, 1e9), ("read", 3, 1e9)]) == pytest.approx(
        [20, 20, 60]
    )


def test_jobs_of_known_weights_caps_and_starts_end_when_they_must():
    """The second and the third of the vectors of water-filling in test_sharing.py."""
    storage = Storage("disk", write=100 * MIB, by="job")
    jobs = [writer("a", 1000, weight=50), writer("b", 300, weight=10, start=2), writer("c", 600, weight=40, start=5)]
    ends = [process.end for process in simulate([storage], jobs).processes]
    assert ends == pytest.approx([16, 19, 18], abs=1e-6)
    capped = [writer("a", 300, weight=10, cap=30 * MIB), writer("b", 400, weight=20, cap=40 * MIB)]
    assert [process.end for process in simulate([storage], capped).processes] == pytest.approx([10, 10])


def test_two_equal_writers_have_half_each():
    outcome = simulate([DISK], [writer("a", 800), writer("b", 800)])
    assert outcome.runtime("a") == pytest.approx(20)
    assert outcome.runtime("b") == pytest.approx(20)
    second = outcome.of("a")[0].counts[0, 7]
    assert second["write_bytes"] == pytest.approx(40 * MIB)
    assert second["write_seconds"] == pytest.approx(1)


def test_alone_time_is_that_of_the_calls():
    job = SimulatedJob(
        "job", (Compute(3), Transfer("read", 500 * MIB, MIB / 4, 0.001), Transfer("meta", 4000), Compute(1))
    )
    outcome = simulate([DISK], [job])
    assert outcome.io_seconds("job", "read") == pytest.approx(5 + 2000 * 0.001)
    assert outcome.io_seconds("job", "meta") == pytest.approx(2)
    assert outcome.runtime("job") == pytest.approx(3 + 7 + 2 + 1)


def test_latency_leaves_the_storage_to_others_meanwhile():
    """A process that is in latency half of its time alone takes a third beside one that never is."""
    slow = SimulatedJob("slow", (Transfer("read", 2000 * MIB, MIB, 0.01),), until=60)
    outcome = simulate([Storage("disk")], [slow, reader(8000, until=60)])
    assert outcome.of("slow")[0].total("read_bytes") / 60 / MIB == pytest.approx(100 / 3, rel=0.03)


def test_ranks_wait_for_the_last_one():
    job = SimulatedJob(
        "job",
        (),
        2,
        is_mpi=True,
        own_steps={
            0: (Transfer("read", 100 * MIB), Barrier(), Compute(1)),
            1: (Compute(5), Barrier(), Transfer("read", 100 * MIB)),
        },
    )
    outcome = simulate([DISK], [job])
    assert [process.end for process in outcome.processes] == pytest.approx([6, 6])


def test_bursts_and_syncs_take_as_long_and_show_otherwise():
    """Bytes go to memory in an instant, and then a call waits for the storage."""
    for kind, waits_as in (({"burst": 200 * MIB}, "write"), ({"is_synced": True}, "sync")):
        job = SimulatedJob("job", (Transfer("write", 400 * MIB, **kind),))
        outcome = simulate([DISK], [job])
        assert outcome.io_seconds("job", waits_as) == pytest.approx(5, rel=0.03)
        assert outcome.of("job")[0].counts[0, 0]["write_bytes"] >= 200 * MIB
        assert outcome.served["n1", 0, 0]["write_bytes"] < 80.01 * MIB


@given(groups, of_any_storage)
def test_every_process_moves_all_it_wants_and_its_time_adds_up(jobs, storage):
    outcome = simulate([storage], jobs)
    for process in outcome.processes:
        transfers = [step for step in process.job.steps if isinstance(step, Transfer)]
        for kind in ("read", "write"):
            wanted = sum(step.amount for step in transfers if step.kind == kind)
            assert process.total(f"{kind}_bytes") == pytest.approx(wanted)
        assert process.total("meta_ops") == pytest.approx(sum(step.amount for step in transfers if step.kind == "meta"))
        assert all(row[f"{kind}_seconds"] <= 1 + 1e-9 for row in process.counts.values() for kind in ("read", "write"))
        if process.job.processes == 1 and not any(isinstance(step, Compute) for step in process.job.steps):
            assert process.seconds() == pytest.approx(process.end - process.start)


@given(groups)
def test_a_storage_serves_no_more_than_it_can(jobs):
    outcome = simulate([DISK], jobs)
    busy: dict[int, float] = {}
    for (_, _, second), row in outcome.served.items():
        busy[second] = busy.get(second, 0) + row["read_bytes"] / DISK.read + row["write_bytes"] / DISK.write
    assert all(seconds < 1 + 1e-6 for seconds in busy.values())
    served = sum(row["read_bytes"] + row["write_bytes"] for row in outcome.served.values())
    assert served == pytest.approx(
        sum(process.total(f"{kind}_bytes") for process in outcome.processes for kind in ("read", "write"))
    )


@given(groups, of_any_storage)
def test_profiles_hold_what_was_simulated(jobs, storage):
    outcome = simulate([storage, Storage("other")], jobs)
    with tempfile.TemporaryDirectory() as directory:
        for job in jobs:
            for seconds in (1, 4):
                path = write_profile(outcome, job.name, Path(directory, f"{job.name}-{seconds}"), seconds)
                digest = Digest(read_profile(path))
                own = outcome.of(job.name)
                row = digest.jobs.row(0, named=True)
                for kind in ("read", "write"):
                    total = sum(process.total(f"{kind}_bytes") for process in own)
                    assert row[f"{kind}_bytes"] == pytest.approx(total, abs=len(own))
                for kind in ("read", "write", "meta", "sync"):
                    seconds_told = row[f"{kind}_ns"] / 1e9
                    assert seconds_told == pytest.approx(sum(process.seconds(kind) for process in own), abs=1e-6)
                length = (row["end_ns"] - row["start_ns"]) / 1e9
                assert length == pytest.approx(outcome.runtime(job.name), abs=1e-6)
                assert (digest.process_slices["write_ns"] <= digest.slice_ns).all()


def test_collectors_see_what_nobody_profiled():
    """An unprofiled job on the first node and one elsewhere: only the former is seen."""
    profiled, hidden = writer("a", 400, processes=2, per_node=1), writer("b", 160, is_profiled=False)
    elsewhere = writer("c", 160, first_node=7, is_profiled=False)
    outcome = simulate([DISK], [profiled, hidden, elsewhere])
    with tempfile.TemporaryDirectory() as directory:
        path = write_profile(outcome, "a", Path(directory, "a"), has_collectors=True)
        counters = Digest(read_profile(path)).node_slices
    written = {node: counters.filter(node=node, signal="nfs_written")["amount"].sum() / MIB for node in ("n1", "n2")}
    assert written == pytest.approx({"n1": 400 + 160, "n2": 400}, rel=1e-3)


def test_noise_is_the_same_whoever_is_there():
    idle = SimulatedJob("idle", (Compute(60),))
    alone = simulate([NOISY], [reader(1000)], seed=3)
    assert simulate([NOISY], [reader(1000), idle], seed=3).runtime("reader") == alone.runtime("reader")
    assert simulate([NOISY], [reader(1000)], seed=4).runtime("reader") != alone.runtime("reader")
