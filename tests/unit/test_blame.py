"""Blame on frames made by hand: the arithmetic, each figure worked out on paper."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from slicewise.analysis.blame.blame import blame
from slicewise.analysis.blame.shares import blamed, lost_time
from slicewise.analysis.blame.to_runtime import decisive
from slicewise.analysis.blame.uncontended import Points, Price, SpeedLine, speed_line
from slicewise.analysis.blame.unprofiled import apart
from slicewise.analysis.calls import AMOUNTS, COUNTS, SECONDS, call_rows, slice_rows
from slicewise.analysis.capacity.by_kind import Capacities, capacities, storage_seconds
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.blame_trials import digests
from support.jobs import FIRST_SLICE, write_job
from support.runs import read, write_run, wrote
from support.swz import build_profile

MIB = 1 << 20
SLICE_NS = 4_000_000_000
KNOWN = {1: Capacities({"read": 100.0 * MIB, "write": 80.0 * MIB, "meta": 2000.0})}


def calls(rows: list[dict[str, float]]) -> pl.DataFrame:
    """Rows of `call_rows` on storage 1; what is not given is 0."""
    nothing = dict.fromkeys([*SECONDS.values(), *COUNTS], 0)
    schema = {"process": pl.UInt64, "storage": pl.UInt64, "slice": pl.Int64}
    schema |= dict.fromkeys(SECONDS.values(), pl.Float64) | dict.fromkeys(COUNTS, pl.Int64)
    return pl.DataFrame([{"process": 1, "storage": 1} | nothing | row for row in rows], schema=schema)


def others(rows: list[tuple[str | None, int, int, int, int]]) -> pl.DataFrame:
    """Rows of `job_rows`: job, slice, MiB read, MiB written, metadata operations, all of the slice in calls."""
    return pl.DataFrame(
        [
            {
                "job": job, "storage": 1, "slice": number, "read_bytes": read * MIB, "write_bytes": wrote * MIB,
                "meta_ops": ops,
            }
            | dict.fromkeys(SECONDS.values(), 4.0)
            for job, number, read, wrote, ops in rows
        ],
        schema_overrides={"storage": pl.UInt64, "job": pl.String},
    )  # fmt: skip


def test_a_reader_beside_a_writer_a_metadata_storm_and_traffic_of_nobody() -> None:
    read = [(0, 200, 2.0), (1, 100, 3.0), (2, 50, 2.5), (3, 100, 0.9)]
    own = slice_rows(calls([{"slice": k, "read_bytes": mib * MIB, "read_seconds": s} for k, mib, s in read]))
    lost = lost_time(own, {(1, "read"): Price(1 / (100 * MIB), 0.0)})
    assert lost["read_lost"].to_list() == pytest.approx([0, 2, 2, -0.1])
    company = storage_seconds(
        others([("W", 1, 0, 80, 0), ("S", 1, 0, 0, 2000), ("W", 2, 0, 160, 0), (None, 2, 50, 0, 0)]), KNOWN, SLICE_NS
    ).rename({"job": "neighbour"})
    shares = blamed(lost, company, KNOWN, 4.0)
    sums = dict(shares.group_by("neighbour").agg(pl.col("lost_seconds").sum()).iter_rows())
    assert sums == pytest.approx({"W": 2.6, "S": 1.0, None: 0.4})
    assert own["read_seconds"].sum() == pytest.approx(8.4)
    assert lost["read_lost"].sum() - shares["lost_seconds"].sum() == pytest.approx(-0.1)


def test_nobody_is_blamed_for_more_than_its_time_allows() -> None:
    own = slice_rows(calls([{"slice": 1, "read_bytes": MIB, "read_seconds": 1.0}]))
    lost = lost_time(own, {(1, "read"): Price(0.0, 0.0)})
    company = storage_seconds(others([("W", 1, 0, 16, 0)]), KNOWN, SLICE_NS).rename({"job": "neighbour"})
    assert blamed(lost, company, KNOWN, 4.0)["lost_seconds"].sum() == pytest.approx(0.6)


def test_where_calls_lost_far_more_than_that_a_neighbour_cost_the_time_that_it_took() -> None:
    """A limit was lowered, and somebody wrote a little: 0.1 s of the storage's time, of 4 s that were lost."""
    own = slice_rows(calls([{"slice": 1, "read_bytes": MIB, "read_seconds": 4.0}]))
    lost = lost_time(own, {(1, "read"): Price(0.0, 0.0)})
    company = storage_seconds(others([("W", 1, 0, 8, 0)]), KNOWN, SLICE_NS).rename({"job": "neighbour"})
    assert blamed(lost, company, KNOWN, 4.0)["lost_seconds"].sum() == pytest.approx(0.1)


@pytest.mark.parametrize(("mib", "cost"), [(8, 0.1), (240, 3.0)])
def test_what_is_lost_without_anybody_too_is_not_the_cost_of_who_came_by(mib: int, cost: float) -> None:
    """A lower limit costs 0.3 s in each of 12 slices, in the last of which somebody writes, as little or much else."""
    rows = [{"slice": k, "read_bytes": MIB, "read_seconds": 0.6} for k in range(11)]
    rows.append({"slice": 11, "read_bytes": MIB, "read_seconds": 0.6 if mib == 8 else 4.0})
    lost = lost_time(slice_rows(calls(rows)), {(1, "read"): Price(0.3 / MIB, 0.0)})
    company = storage_seconds(others([("W", 11, 0, mib, 0)]), KNOWN, SLICE_NS).rename({"job": "neighbour"})
    assert blamed(lost, company, KNOWN, 4.0)["lost_seconds"].sum() == pytest.approx(cost, rel=0.25)


@pytest.mark.parametrize(("slow", "blame"), [(2.0, 3.2), (1.25, 0.0)])
def test_directions_that_do_not_meet_cost_time_where_slices_show_it(slow: float, blame: float) -> None:
    """A writer that takes 1.2 s for 80 MiB by itself, and longer beside a reader that takes no room of its own."""
    seconds = [1.1, 1.2, 1.3, 1.2, slow - 0.1, slow, slow + 0.1, slow]
    rows = [{"slice": k, "write_bytes": 80 * MIB, "write_seconds": s} for k, s in enumerate(seconds)]
    lost = lost_time(slice_rows(calls(rows)), {(1, "write"): Price(1.2 / (80 * MIB), 0.0)})
    apart = {1: Capacities(KNOWN[1].most, 32.0)}
    reader = others([("R", number, 400, 0, 0) for number in range(4, 8)])
    company = storage_seconds(reader, apart, SLICE_NS).rename({"job": "neighbour"})
    assert blamed(lost, company, apart, 4.0)["lost_seconds"].sum() == pytest.approx(blame)


def test_what_takes_next_to_nothing_is_nobody() -> None:
    taken = storage_seconds(others([("W", 1, 0, 1, 0)]), KNOWN, SLICE_NS)
    assert taken["write_taken"].sum() == 0


def test_ranks_lose_what_the_slowest_of_each_phase_loses() -> None:
    lost = np.array([[3.0, 0.0], [1.0, 2.0]])  # (ranks, phases)
    assert decisive(lost, "ranks") == 5
    assert decisive(lost, "processes") == 3
    assert lost.sum() / 2 == 3


@pytest.mark.parametrize(("beside", "exponent"), [(80, 32.0), (60, None)])
def test_directions_that_do_not_meet_show_without_the_other_one_alone(beside: int, exponent: float | None) -> None:
    alone = [("W", number, 0, 4 * 80, 0) for number in range(6)]
    met = [row for number in range(6, 12) for row in (("W", number, 0, 4 * beside, 0), ("R", number, 4 * 90, 0, 0))]
    rows = others([*alone, *met]).with_columns(
        read_seconds=pl.when(pl.col("read_bytes") > 0).then(4.0).otherwise(0.0),
        write_seconds=pl.when(pl.col("write_bytes") > 0).then(4.0).otherwise(0.0),
        meta_seconds=0.0,
    )
    assert capacities(rows, SLICE_NS)[1].exponent == exponent


def test_a_line_through_speeds() -> None:
    speeds, rates = (np.repeat(values, 3) for values in ((80.0, 60.0, 40.0), (20.0, 40.0, 60.0)))
    points = Points(speeds * 4.0, np.full(9, 4.0), rates * 4.0, np.repeat(np.arange(1, 4), 3))
    line = speed_line(points, 4.0)
    assert isinstance(line, SpeedLine)
    assert (line.speed, line.error) == pytest.approx((100.0, 0.0))


@pytest.mark.parametrize(
    ("collected", "missing"),
    [
        ({}, ["rank 1"]),
        ({"nodes": [{"process": 9, "host": "n2", "slice_ns": SLICE_NS}]}, ["rank 1 (perhaps on n2)"]),
        ({"launches": [{"process": 9, "pid": 7, "host": "n2"}]}, ["rank 1 (on n2)"]),
    ],
)
def test_a_missing_rank_is_named_by_its_node(tmp_path: Path, collected: dict, missing: list[str]) -> None:
    if "nodes" in collected:
        collected |= {"node_slices": [{"process": 9, "slice": 425_000_000, "sampled_ns": SLICE_NS}]}
    process = {"process": 1, "host": "n1", "rank": 0, "ranks": 2, "start_ns": 425_000_000 * SLICE_NS}
    process["end_ns"] = process["start_ns"] + SLICE_NS
    rows = [{"process": 1, "slice": 425_000_000, "write_bytes": MIB, "write_ns": 10**9, "write_ops": 1}]
    profile = build_profile(tmp_path / "job", [process], rows, collected=collected)
    assert blame(Digest(read_profile(profile)), []).missing == missing


@pytest.mark.parametrize("slices_in_one", [1, 4])
def test_jobs_with_slices_of_1_s_and_of_4_s_are_held_against_each_other(tmp_path: Path, slices_in_one: int) -> None:
    """400 MiB/s alone, 200 beside a writer, whichever slices that one has: 40 s instead of 20 s."""

    def write(name: str, rate: float, begin: int, seconds: int, parts: int, program: str) -> Path:
        slice_ns, number = SLICE_NS // parts, begin + len(name)
        process = {"process": number, "pid": number, "program": program, "slice_ns": slice_ns, "host": "n1"}
        lived = {"start_ns": (FIRST_SLICE + begin) * SLICE_NS}
        lived["end_ns"] = lived["start_ns"] + seconds * 1_000_000_000
        own = {"write_bytes": int(rate * 4 / parts * MIB), "write_ops": int(rate * 4 / parts), "threads": 1}
        own |= {
            "write_ns": int(0.99 * slice_ns),
            "write_size_4": own["write_ops"],
            "write_latency_20": own["write_ops"],
        }
        first, count = (FIRST_SLICE + begin) * parts, seconds * parts // 4
        rows = [{"process": number, "slice": first + place} | own for place in range(count)]
        return build_profile(tmp_path / name, [process | lived], rows)

    job = write("job", 200.0, 1000, 40, 1, "/opt/mine")
    alone = write("job-alone", 400.0, 500, 20, 1, "/opt/mine")
    writer = write("writer", 200.0, 1000, 40, slices_in_one, "/opt/writer")
    told = blame(*digests(job), digests(writer), digests(alone))
    assert told.lost is not None
    assert told.lost.value == pytest.approx(20, rel=0.02)
    assert [one.job for one in told.neighbours] == ["writer"]
    assert told.neighbours[0].lost.value == pytest.approx(20, rel=0.1)


def write_libaio_reader(directory: Path, rates: dict[range, float], begin: int) -> Path:
    """A process that keeps 8 reads of 1 MiB under way by libaio, as fio does: waits in io_getevents count as syncs."""
    process = {
        "process": 7 + begin, "pid": 70, "host": "n9", "program": "/usr/bin/fio", "start_ns": begin * SLICE_NS,
        "end_ns": (begin + max(span.stop for span in rates)) * SLICE_NS, "ending": "exit",
    }  # fmt: skip
    rows = []
    for number, rate in ((number, rate) for span, rate in rates.items() for number in span):
        at = {"process": 7 + begin, "slice": begin + number, "threads": 1}
        count = int(rate * 4)
        rows.append(at | {"sync_ops": 2 * count, "sync_ns": int(0.97 * SLICE_NS)})
        moved = {"read_ops": count, "read_bytes": count * MIB, "read_ns": 8 * SLICE_NS}
        rows.append(at | moved | {"layer": "async", "read_size_4": count, "read_latency_20": count})
    return build_profile(directory, [process], rows)


def test_a_reader_by_libaio_is_told_what_it_lost(tmp_path: Path) -> None:
    """5 GiB at 100 MiB/s beside nobody and at 50 MiB/s beside a writer: 51.2 s alone, 102.4 s beside it."""
    first = FIRST_SLICE + 20
    job = write_libaio_reader(tmp_path / "fio", {range(26): 50.0}, first)
    alone = write_libaio_reader(tmp_path / "fio-alone", {range(13): 100.0}, first - 400)
    writer = write_job(tmp_path / "writer", 4, 4, {range(18, 50): 50.0})
    (digest,) = digests(job)
    rows = call_rows(digest, SLICE_NS)
    assert rows["write_seconds"].sum() == 0
    assert rows["read_seconds"].to_list() == pytest.approx([4.0] * 26)
    told = blame(digest, digests(writer), digests(alone))
    assert told.lost is not None
    assert told.lost.value == pytest.approx(52, rel=0.02)
    assert told.is_claimed
    assert [(one.job, one.lost.value) for one in told.neighbours] == [("writer", pytest.approx(52, rel=0.1))]


def test_what_is_too_uncertain_to_tell_is_not_told_with_confidence(tmp_path: Path) -> None:
    """Runs alone took 80 to 224 s, so that 160 s may be a large loss or none."""
    small = {"processes": 12, "per_node": 12, "first_node": 6, "program": "/opt/postproc"}
    beside = write_job(tmp_path / "large", 60, 12, {range(20, 60): 83.0})
    job = write_job(tmp_path / "small", rates={range(20, 60): 70.0}, **small)
    spans = {50.0: range(-400, -344), 100.0: range(-800, -772), 140.0: range(-1200, -1180)}
    alone = [write_job(tmp_path / f"alone-{rate:g}", rates={span: rate}, **small) for rate, span in spans.items()]
    told = blame(*digests(job), digests(beside), digests(*alone))
    assert told.lost is not None
    assert told.lost.low < 0 < told.lost.value
    assert (told.is_claimed, told.is_too_uncertain, told.confidence) == (False, True, "low")


def test_a_writer_that_passes_readers_by_cost_none_of_what_they_lost(tmp_path: Path) -> None:
    """A limit of each direction: two readers get 10 MiB/s each and one alone 20, whatever somebody writes. Nobody ran
    alone.
    """
    chance = np.random.default_rng(1)
    reads = [10 + chance.uniform(-0.5, 0.5, 40) for _ in range(2)]
    writes = 12 + chance.uniform(-8, 8, 40)
    mine, theirs = ({at: read(float(mib), 1.0) for at, mib in enumerate(some)} for some in reads)
    job = write_run(tmp_path / "job", 40, [mine])
    reader = write_run(tmp_path / "reader", 40, [theirs], "/opt/other")
    its = {at: wrote(float(mib), 1.0) for at, mib in enumerate(writes)}
    writer = write_run(tmp_path / "writer", 40, [its], "/opt/writer")
    told = blame(*digests(job), digests(reader, writer))
    assert told.lost is not None
    assert told.lost.value == pytest.approx(20, rel=0.03)
    assert {one.job: one.lost.value for one in told.neighbours if one.lost.value > 0.1} == {
        "reader": pytest.approx(20, rel=0.03)
    }


@pytest.mark.parametrize(
    ("jobs_mib", "others_mib", "is_apart"),
    [
        ([40] * 12, [0, 200] * 6, True),  # they are as fast, however much others move
        ([40, 20] * 6, [0, 20] * 6, False),  # they are slower while others move
        ([40] * 12, [20] * 12, False),  # it never ceased: the storage may be so slow for that very reason
        ([40] * 6, [0, 200] * 3, False),  # too few slices to tell
    ],
)
def test_traffic_that_comes_and_goes_without_a_trace_takes_nothing(jobs_mib, others_mib, is_apart):
    slices = range(len(jobs_mib))
    none = dict.fromkeys((*AMOUNTS.values(), *SECONDS.values()), 0)
    rows = pl.DataFrame(
        [
            none | {"storage": 7, "slice": at, "write_bytes": mib << 20, "write_seconds": 1.0}
            for at, mib in zip(slices, jobs_mib, strict=True)
        ],
        schema_overrides={"storage": pl.UInt64},
    )
    rest = pl.DataFrame(
        [
            {"storage": 7, "slice": at, "read_bytes": 0, "write_bytes": mib << 20}
            for at, mib in zip(slices, others_mib, strict=True)
        ],
        schema_overrides={"storage": pl.UInt64},
    )
    known = {7: Capacities({"write": 40.0 * (1 << 20)})}
    assert apart(rest, rows, known, 1_000_000_000) == ([7] if is_apart else [])


@pytest.mark.parametrize(("seconds", "is_claimed"), [(40, True), (4000, False)])
def test_a_loss_that_nobody_notices_is_not_claimed(tmp_path, seconds, is_claimed):
    """0.1 s of 40 s are worth a word, if the same run alone did the same ten calls; of 4000 s they are not."""

    def job(name: str, took_ns: int, first: int) -> Path:
        process = {"process": 1 + sum(map(ord, name)), "slice_ns": SLICE_NS, "command": "a b", "program": "/bin/a"}
        process |= {"start_ns": first * SLICE_NS, "end_ns": first * SLICE_NS + seconds * 10**9 + 10 * took_ns}
        moved = {"process": process["process"], "read_bytes": MIB, "read_ops": 1, "read_ns": took_ns, "threads": 1}
        return build_profile(tmp_path / name, [process], [moved | {"slice": first + at} for at in range(10)])

    own, other, alone = digests(
        job("own", 20_000_000, 2000), job("other", 20_000_000, 2000), job("alone", 10_000_000, 10)
    )
    told = blame(own, [other], [alone])
    assert told.lost is not None
    assert told.lost.value == pytest.approx(0.1)
    assert told.is_claimed == is_claimed
