"""What processes waited for pages of mapped files: no call shows it."""

from types import SimpleNamespace

import polars as pl
import pytest
from slicewise.digest.fetched import fetched_frame, unplaced_bytes
from slicewise.digest.schema import FRAMES
from slicewise.digest.slices import with_mapped

SECOND, MIB = 10**9, 1 << 20
PROCESS, STORAGE = 5, 7


class Job(SimpleNamespace):
    """A digest's frames: one process that ran for 10 s, 1 to 10 s after it began to be looked at."""

    __hash__ = object.__hash__


def frame(name, rows):
    if not rows:
        return pl.DataFrame(schema=FRAMES[name].polars_schema)
    given = pl.DataFrame(rows)
    columns = {column: given[column] if column in given.columns else None for column in FRAMES[name].columns}
    made = given.select(pl.lit(found).alias(name) if found is None else name for name, found in columns.items())
    return made.cast(FRAMES[name].polars_schema)


def job(read_storage=64, counted=(0, 8, 8, 8, 8, 8, 8, 8, 8, 0), faults=500, calls=(), messages=(), slept=()):
    """read_storage, counted: MiB that the kernel fetched for the process, and that its node's NFS mount counted. slept:
    s that threads of the job slept in the kernel, by slice.
    """
    signals = [
        {"node": "n1", "kind": "nfs", "device": "/n", "signal": "nfs_read", "slice": at, "amount": size * MIB, "per": 1}
        for at, size in enumerate(counted)
    ]
    signals += [
        {"node": "n1", "kind": "waiting", "device": "folio_wait", "signal": "waiting", "slice": at, "amount": long}
        | {"per": 1}
        for at, long in enumerate(slept)
    ]
    slices = [{"process": PROCESS, "storage": STORAGE, "slice": at, "read_ns": ns, "threads": 1} for at, ns in calls]
    zeros = {name: 0 for name in FRAMES["process_slices"].columns if name.endswith(("_ns", "_ops", "_bytes"))}
    slices = [zeros | one for one in slices or [{"process": PROCESS, "storage": STORAGE, "slice": 0}]]
    return Job(
        slice_ns=SECOND,
        node_slice_ns=SECOND,
        processes=frame(
            "processes",
            [{"process": PROCESS, "node": "n1", "start_ns": 0, "end_ns": 10 * SECOND, "is_of_job": True}],
        ),
        coverage=frame(
            "coverage",
            [
                {"process": PROCESS, "read_storage": read_storage * MIB, "mapped": 64 * MIB}
                | dict.fromkeys(("read_seen", "read_requested"), 0)
            ],
        ),
        usage=frame(
            "usage",
            [
                {
                    "process": PROCESS, "slice": 0, "late_ns": 0, "sampled_ns": 10 * SECOND, "user_ns": SECOND,
                    "system_ns": SECOND, "delayed_ns": SECOND, "major_faults": faults,
                }
            ],
        ),
        process_slices=frame("process_slices", slices),
        communication=frame(
            "communication",
            [{"process": PROCESS, "slice": at, "class": "wait", "ns": ns} for at, ns in messages or [(0, 0)]],
        ),
        node_slices=frame("node_slices", signals),
        mounts=frame("mounts", [{"process": PROCESS, "storage": STORAGE, "point": "/n", "write_bytes": 0}]),
        storages=frame("storages", [{"storage": STORAGE, "type": "nfs4", "source": "s:/", "node": "", "point": "/n"}]),
    )  # fmt: skip


def mapped(size=64):
    schema = {"process": pl.UInt64, "storage": pl.UInt64, "mapped_bytes": pl.Int64}
    return pl.DataFrame([(PROCESS, STORAGE, size * MIB)], schema=schema, orient="row")


def test_what_is_neither_computing_nor_a_call_is_waiting_where_pages_were_fetched():
    found = fetched_frame(job(calls=[(3, SECOND // 2)], messages=[(4, SECOND // 4)]), mapped())
    assert found["slice"].to_list() == list(range(1, 9))
    assert found["fetched_bytes"].to_list() == [8 * MIB] * 8
    assert found["faults"].to_list() == [62] * 8  # all 500 are of these 8 s
    waits = dict(found.select("slice", pl.col("waited_ns") / SECOND).iter_rows())
    assert waits == pytest.approx({1: 0.7, 2: 0.7, 3: 0.2, 4: 0.45, 5: 0.7, 6: 0.7, 7: 0.7, 8: 0.7})


def test_pages_that_the_kernel_reads_ahead_of_faults_are_waited_for_where_threads_slept():
    """A reader in order has no fault that reads. Pages came in 8 s; it slept in 6 of them, once in a call."""
    slept = (0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0, 0, 0.9)
    found = fetched_frame(job(faults=0, calls=[(3, SECOND // 4)], slept=slept), mapped())
    assert found["slice"].to_list() == [1, 2, 3, 4, 5, 6]
    assert found["fetched_bytes"].sum() == pytest.approx(64 * MIB)
    assert found["waited_ns"].to_list() == [SECOND // 2, SECOND // 2, SECOND // 4, *[SECOND // 2] * 3]
    assert fetched_frame(job(faults=0), mapped()).is_empty()


def test_a_program_that_reads_here_and_there_fetches_little_by_many_faults():
    found = fetched_frame(job(read_storage=6, counted=(0, 1, 1, 1, 1, 1, 1, 0, 0, 0)), mapped())
    assert found["slice"].to_list() == list(range(1, 7))


def test_sleeping_while_nothing_is_fetched_is_no_waiting():
    found = fetched_frame(job(counted=(0, 32, 32, 0, 0, 0, 0, 0, 0, 0)), mapped())
    assert found["slice"].to_list() == [1, 2]
    assert found["fetched_bytes"].sum() == 64 * MIB


def test_what_was_read_ahead_of_calls_is_theirs_and_no_wait_besides():
    """Three threads read the head of each file, and find the rest of it in the cache: hardly a fault."""
    found = fetched_frame(job(faults=1, calls=[(at, 3 * SECOND) for at in range(1, 9)]), mapped())
    assert found["slice"].to_list() == list(range(1, 9))
    assert found["fetched_bytes"].to_list() == [8 * MIB] * 8
    assert found["waited_ns"].sum() == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"read_storage": 12, "faults": 100},  # as much as programs and their libraries
        {"counted": (0, 2, 2, 0, 0, 0, 0, 0, 0, 0)},  # the mount's counter is of other traffic
        {"counted": (0,) * 10},
        {"faults": 0},
        {"faults": 0, "counted": ()},
    ],
)
def test_silence_where_it_is_not_known(changed):
    assert fetched_frame(job(**changed), mapped()).is_empty()


def test_what_was_fetched_is_read_in_the_slices_of_its_storage():
    digest = job(calls=[(3, SECOND // 2)], counted=(0, 0, 0, 32, 32, 0, 0, 0, 0, 0))
    found = with_mapped(digest.process_slices, fetched_frame(digest, mapped()))
    assert found.schema == digest.process_slices.schema
    columns = ("slice", "read_bytes", "read_ops", "threads")
    assert found.select(columns).rows() == [(3, 32 * MIB, 250, 1), (4, 32 * MIB, 250, 1)]
    assert found["read_ns"].to_list() == pytest.approx([0.5 * SECOND + 0.2 * SECOND, 0.7 * SECOND])


@pytest.mark.parametrize(("faults", "waited"), [(500, 7), (330, 0)])
def test_where_nobody_sampled_the_node_page_faults_say_when(faults, waited):
    """It did not compute for 7 s. A page fault that takes 14 ms is a slow one, and one of 21 ms none."""
    found = fetched_frame(job(counted=(), faults=faults), mapped())
    assert found["waited_ns"].sum() == pytest.approx(waited * SECOND)
    assert found["fetched_bytes"].to_list() == pytest.approx([6.4 * MIB] * (10 if waited else 0), abs=1)


def test_where_nobody_sampled_the_node_storages_share_the_wait():
    two = pl.concat([mapped(40), mapped(24).with_columns(storage=pl.lit(STORAGE + 1, pl.UInt64))])
    found = fetched_frame(job(counted=(), faults=600), two).group_by("storage").agg(pl.col("waited_ns", "faults").sum())
    assert found["waited_ns"].sum() == pytest.approx(7 * SECOND)
    assert found["faults"].sum() == pytest.approx(600, abs=10)
    assert found.sort("storage")["waited_ns"][0] == pytest.approx(7 * SECOND * 40 / 64, rel=0.01)


@pytest.mark.parametrize("counted", [(0, 8, 8, 8, 8, 8, 8, 8, 8, 0), (), (0,) * 10])
def test_bytes_are_placed_in_slices_or_nowhere(counted):
    digest = job(counted=counted)
    digest.not_kept, digest.fetched = {}, fetched_frame(digest, mapped())
    digest.mounts = frame("mounts", [{"process": PROCESS, "read_bytes": 0}])
    assert int(digest.fetched["fetched_bytes"].sum()) + unplaced_bytes(digest) == 64 * MIB


def test_silence_where_less_was_mapped_than_fetched():
    assert fetched_frame(job(), mapped(16)).is_empty()
    assert fetched_frame(job(), mapped(0).clear()).is_empty()


@pytest.mark.parametrize(("of_files", "beyond"), [(0, 64), (24, 40), (100, 0)])
def test_what_a_process_reads_from_a_pipe_is_not_what_another_one_fetched_for_it(of_files, beyond):
    """The second process reads 100 MiB by calls: of files what the first one may have fetched."""
    digest = job()
    calls = {"process": PROCESS + 1, "read_seen": 100 * MIB, "read_requested": 0, "read_storage": 0, "mapped": 0}
    digest.coverage = pl.concat([digest.coverage, frame("coverage", [calls])])
    digest.not_kept, digest.fetched = {}, fetched_frame(digest, mapped(0).clear())
    digest.mounts = frame("mounts", [{"process": PROCESS + 1, "read_bytes": of_files * MIB}])
    assert unplaced_bytes(digest) == beyond * MIB
