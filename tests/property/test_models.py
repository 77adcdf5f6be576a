"""What must hold of models of sharing, of copies, and of runs side by side or against each other, whatever the jobs."""

import dataclasses
import math
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from slicewise.analysis.compare.compare import Blamed, compare
from slicewise.analysis.compare.difference import Loss
from slicewise.analysis.copies.copies import Customer, expected_loss, progress
from slicewise.analysis.delta import expected_curve
from slicewise.analysis.overlap.overlap import overlap
from slicewise.analysis.predict.side_by_side import Segment
from slicewise.analysis.sharing.fitted_model import check, fit_model
from slicewise.analysis.sharing.proportional import SharingJob, alone_from_spans, common_start_times, share_out
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.shared import read_digests
from slicewise.estimate import Estimate
from support.closed_forms import alone_from_common_start
from support.runs import metadata, moved, write_run
from support.synthetic import Size, campaign
from support.tabled_jobs import write_job

amounts = st.floats(0.01, 1000)
jobs_without_caps = st.lists(
    st.builds(SharingJob, st.just("job"), amounts, amounts, start=st.floats(0, 100)), min_size=1, max_size=6
)
sizes = st.builds(Size, st.integers(1, 60), st.integers(1, 5), st.integers(1, 5))
ROUNDING = 1e-4
# s in I/O alone, of which each takes so much of the time of a storage of 1; s of computing; weight.
JOBS = st.tuples(st.floats(1, 1e4), st.floats(0.01, 2), st.floats(0, 1e3), st.floats(0.1, 100))
RATES = st.floats(0.1, 10)
OTHERS = st.lists(JOBS, max_size=2)
capacities = st.floats(1, 1000)
caps = st.one_of(st.just(math.inf), st.floats(0.1, 2000))
jobs_of_all_kinds = st.lists(
    st.builds(SharingJob, st.just("job"), amounts, amounts, caps, st.floats(0, 100)), min_size=1, max_size=6
)

jobs_that_start_together = st.lists(st.builds(SharingJob, st.just("job"), amounts, amounts), min_size=1, max_size=6)
SIZES = st.sampled_from([512, 4096, 65536, 1 << 20, 1 << 23])
AMOUNTS = st.floats(0, 200)
SECONDS = st.floats(0, 1)
ROWS = st.one_of(
    st.builds(moved, st.sampled_from(["read", "write"]), AMOUNTS, SECONDS, SIZES),
    st.builds(metadata, st.integers(0, 10_000), SECONDS),
)
PROCESSES = st.lists(st.dictionaries(st.integers(0, 19), ROWS, max_size=12), min_size=1, max_size=4)
RUNS = st.tuples(st.floats(0.001, 20), PROCESSES, st.booleans())
ESTIMATES = st.floats(-5, 20).map(lambda value: Estimate(value, value - 1, value + 1, "given"))
SLICES = 8
rows = st.lists(st.sampled_from([0, 0, 1, 20, 60]), min_size=SLICES, max_size=SLICES)
jobs = st.fixed_dictionaries(
    {
        "mib": st.lists(rows, min_size=1, max_size=3), "is_mpi": st.booleans(),
        "busy": st.sampled_from([0, 1e-6, 0.5, 1, 3]), "host": st.sampled_from(["n1", "n2"]),
        "direction": st.sampled_from(["read", "write", "write"]), "program": st.sampled_from(["/bin/a", "/bin/b"]),
    }
)  # fmt: skip

SLIGHT = 0.01


@given(jobs_without_caps)
def test_spans_give_back_the_standalone_times(jobs):
    spans = [(job.start, served.end) for job, served in zip(jobs, share_out(1.0, jobs).jobs, strict=True)]
    alone = alone_from_spans(spans, [job.weight for job in jobs])
    longest = max(end for _, end in spans)
    assert alone == pytest.approx([job.volume for job in jobs], rel=1e-6, abs=1e-9 * longest)


@given(st.lists(sizes, min_size=2, max_size=3), st.sampled_from(["processes", "nodes", "mounts", "equal"]))
def test_a_campaign_without_noise_is_predicted_exactly(members, kind):
    weights = [Weighting(kind).of(*size.clients, size.outstanding) for size in members]
    assume(max(weights) / min(weights) < 15)  # else a job gets hardly a byte in a slice, and rounding shows
    jobs, slices = campaign([members], Weighting(kind), noise=0.0, repeats=1)
    errors = check(fit_model(jobs, slices).by(Weighting(kind)), jobs)["relative_error"]
    assert errors.len() == len(members)
    assert errors.abs().max() < 1e-3


@given(st.floats(1, 100), st.floats(1, 100), st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-200, 200))
def test_a_delta_graph_has_its_mirror_image(t_a, t_b, w_a, w_b, offset):
    volumes = {"A": 1.0, "B": 1.0}
    one = expected_curve({"A": t_a, "B": t_b}, volumes, (w_a, w_b), [offset])["seconds"].to_list()
    other = expected_curve({"A": t_b, "B": t_a}, volumes, (w_b, w_a), [-offset])["seconds"].to_list()
    assert one == pytest.approx(other[::-1], rel=1e-6)


def lost(copies, job, others, rate):
    """On a storage that serves so much to several jobs, and to one by itself whatever it asks for."""
    jobs = [job, *others]
    lines = [(Segment(one[0], (0.0, one[1] / rate, 0.0), (0.0, 1.0, 0.0)), one[3]) for one in jobs]
    customer, *customers = (Customer(seconds, computing) for seconds, _, computing, _ in jobs)

    def service(active, working):
        return progress(active, [lines[0][0]], lines[0][1], [lines[1 + place] for place in working], 1.0)

    return expected_loss(copies, customer, customers, service)


@given(job=JOBS, others=OTHERS, rate=RATES, copies=st.integers(1, 6))
def test_more_copies_lose_no_less_and_a_faster_storage_no_more(job, others, rate, copies):
    loss = lost(copies, job, others, rate)
    assert loss >= -ROUNDING
    assert lost(copies + 1, job, others, rate) >= loss - ROUNDING
    assert lost(copies, job, others, 2 * rate) <= loss + ROUNDING


@given(job=JOBS, rate=RATES, copies=st.integers(1, 8))
def test_by_itself_a_kind_of_job_loses_no_more_than_in_step_and_no_less_than_the_storage_forces(job, rate, copies):
    loss = lost(copies, job, [], rate)
    seconds, part, computing, _ = job
    in_step = seconds * max(1.0, copies * part / rate) if copies > 1 else seconds
    assert (1 + loss) * (computing + seconds) <= (computing + in_step) * (1 + ROUNDING)
    assert (1 + loss) * (computing + seconds) * max(rate, part) >= copies * seconds * part * (1 - ROUNDING)


@given(capacities, jobs_of_all_kinds)
def test_every_job_gets_exactly_its_volume(capacity, jobs):
    schedule = share_out(capacity, jobs)
    for place, job in enumerate(jobs):
        moved = sum(stage.rates[place] * (stage.end - stage.start) for stage in schedule.stages)
        assert moved == pytest.approx(job.volume, rel=1e-6)


@given(capacities, jobs_of_all_kinds)
def test_capacity_is_neither_exceeded_nor_left_idle_while_wanted(capacity, jobs):
    for stage in share_out(capacity, jobs).stages:
        running = [job for job, rate in zip(jobs, stage.rates, strict=True) if rate > 0]
        assert sum(stage.rates) == pytest.approx(min(capacity, sum(job.cap for job in running)), rel=1e-9)
        assert all(rate <= job.cap * (1 + 1e-9) for job, rate in zip(jobs, stage.rates, strict=True))


@given(capacities, jobs_of_all_kinds)
def test_rates_below_the_cap_are_as_the_weights(capacity, jobs):
    for stage in share_out(capacity, jobs).stages:
        served = [(job, rate) for job, rate in zip(jobs, stage.rates, strict=True) if rate > 0]
        level = max(rate / job.weight for job, rate in served)
        for job, rate in served:
            assert rate == pytest.approx(min(job.cap, level * job.weight), rel=1e-9)


@given(capacities, jobs_of_all_kinds)
def test_no_job_is_faster_than_alone(capacity, jobs):
    for served in share_out(capacity, jobs).jobs:
        assert served.interference >= 1 - 1e-9


@given(capacities, jobs_of_all_kinds, st.floats(1, 10))
def test_more_weight_never_makes_a_job_later(capacity, jobs, factor):
    heavier = [replace(jobs[0], weight=jobs[0].weight * factor), *jobs[1:]]
    before, after = share_out(capacity, jobs).jobs[0].t_co, share_out(capacity, heavier).jobs[0].t_co
    assert after <= before * (1 + 1e-9)


@given(capacities, jobs_that_start_together)
def test_solver_gives_the_closed_form(capacity, jobs):
    expected = common_start_times(capacity, [job.volume for job in jobs], [job.weight for job in jobs])
    assert [served.t_co for served in share_out(capacity, jobs).jobs] == pytest.approx(expected, rel=1e-6)


@given(capacities, jobs_that_start_together)
def test_inverse_of_the_prediction_is_where_it_began(capacity, jobs):
    weights = [job.weight for job in jobs]
    together = common_start_times(capacity, [job.volume for job in jobs], weights)
    alone = [job.volume / capacity for job in jobs]
    # What is left after taking away all that went before has their rounding, not its own.
    assert alone_from_common_start(together, weights) == pytest.approx(alone, rel=1e-6, abs=1e-9 * max(together))


def in_ns(seconds: float) -> int:
    return round(seconds * 1e9)


@given(runs=st.lists(RUNS, min_size=2, max_size=3), losses=st.dictionaries(st.integers(0, 2), ESTIMATES))
def test_parts_add_up_exactly(runs, losses):
    with tempfile.TemporaryDirectory() as directory:
        paths = [
            write_run(Path(directory) / f"r{place}", seconds, processes, is_mpi=is_mpi)
            for place, (seconds, processes, is_mpi) in enumerate(runs)
        ]
        found = compare(read_digests(paths), {f"r{place}": Blamed(Loss(lost)) for place, lost in losses.items()})
    for told in found.differences:
        assert sum(in_ns(value) for value in told.parts().values()) == in_ns(told.difference_seconds)
        of_own = [part.value for part in told.own_io.parts.values() if part]
        assert sum(map(in_ns, of_own)) == in_ns(told.own_io.seconds.value)
        for part in [told.own_io.seconds, told.unexplained_seconds, *filter(None, told.own_io.parts.values())]:
            assert part.low <= part.value <= part.high
    if found.shares:
        assert sum(found.shares.values()) == pytest.approx(1)


@given(run=RUNS)
def test_a_run_differs_from_its_like_by_nothing(run):
    seconds, processes, is_mpi = run
    with tempfile.TemporaryDirectory() as directory:
        paths = [write_run(Path(directory) / name, seconds, processes, is_mpi=is_mpi) for name in ("one", "other")]
        (told,) = compare(read_digests(paths)).differences
    parts = told.parts()
    assert set(parts) == {"computing", "own_io", "lost", "waiting", "unexplained"}
    assert list(parts.values()) == pytest.approx([0] * len(parts), abs=1e-6)


def estimates_in(value: object) -> Iterator[Estimate]:
    if isinstance(value, Estimate):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from estimates_in(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from estimates_in(item)
    elif isinstance(value, dict):
        yield from estimates_in(list(value.values()))


@given(st.lists(jobs, min_size=2, max_size=3), st.booleans())
def test_any_jobs(kinds, with_alone):
    with tempfile.TemporaryDirectory() as directory:
        profiles = [write_job(Path(directory, f"job{place}"), **kind) for place, kind in enumerate(kinds)]
        alone = [write_job(Path(directory, "alone"), **kinds[0])] if with_alone else []
        result = overlap(profiles, alone)
    for estimate in estimates_in(result):
        assert 0 <= estimate.low <= estimate.value * (1 + 1e-9)
        assert estimate.value <= estimate.high * (1 + 1e-9)
    for kind, profile, place in zip(kinds, profiles, range(len(kinds)), strict=True):
        for name, direction in result.directions.items():
            of_processes = [sum(row) * 2**20 if kind["direction"] == name else 0 for row in kind["mib"]]
            moved = sum(of_processes)
            # A process that moved next to nothing beside another may be none that matters.
            slight = sum(part for part in of_processes if part < SLIGHT * max(of_processes))
            job = direction.jobs[place]
            assert moved - slight <= job.bytes + job.use.elsewhere_bytes <= moved, profile.job
            assert (job.span is None) == (moved == 0)
    for direction in result.directions.values():
        every, any_ = direction.regions.every_process, direction.regions.any_process
        assert every is None or every.slices <= direction.regions.union.slices
        assert every is None or any_.slices >= every.slices
        for (_,), slice_shares in direction.shares.group_by("slice"):
            for column in ("share", "fair_by_process", "fair_by_node"):
                assert slice_shares[column].sum() == pytest.approx(1)
        if direction.not_applicable:
            assert not direction.predictions
            assert direction.contention.contended is None
