"""`overlap`, `model` and `delta` give the same numbers for the same runs, on campaigns that were really run."""

from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.overlap.direction import JobInDirection
from slicewise.analysis.overlap.overlap import overlap
from slicewise.analysis.runs.campaign import SIZE, Campaign
from slicewise.analysis.sharing.fitted_model import fit_model
from slicewise.analysis.sharing.model import FittedModel
from slicewise.analysis.sharing.proportional import alone_from_spans
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.digest import Digest
from testbed import recordings

# The process that has read these campaigns.
pytestmark = pytest.mark.xdist_group("campaigns")

ARCHIVES = Path(__file__).parent / "campaigns"
# A pair, a pair on several nodes, and jobs that began and ended apart.
COMBINATIONS = {
    "glusterfs": ("4+12-2", "2on1+6on3-1", "1+4+6after1-3"), "sshfs": ("6+10-4", "4on2+10on5-5"),
    "glusterfs-shared": ("2+6-1",), "delta-glusterfs": ("4+4after2-1", "4+4-3"),
}  # fmt: skip


def load(name: str) -> Campaign:
    return recordings.read_campaign(recordings.unpacked(ARCHIVES) / name)


def alone_beside(data: Campaign, run: pl.DataFrame, disturbed: list[str]) -> list[Digest]:
    """All runs alone of jobs of the sizes that the run's jobs have, but those that the fit leaves out."""
    is_alone = (pl.len().over("run") == 1) & ~pl.col("run").is_in(disturbed)
    alone = data.jobs.filter(is_alone).join(run, on=SIZE, how="semi")
    return [digest for digest in data.digests if digest.job in set(alone["job"])]


def jobs_of(data: Campaign, prefix: str) -> pl.DataFrame:
    run = data.jobs.filter(pl.col("job").str.starts_with(f"{prefix}-"), pl.len().over("run") > 1)
    assert len(run) >= 2, sorted(data.jobs["job"])
    return run


@pytest.mark.parametrize(("name", "prefix"), [(name, one) for name, some in COMBINATIONS.items() for one in some])
def test_an_overlap_has_the_numbers_of_the_campaign_that_its_runs_are_of(name: str, prefix: str):
    data = load(name)
    run = jobs_of(data, prefix)
    model = fit_model(data.jobs, data.slices)
    digests = [digest for digest in data.digests if digest.job in set(run["job"])]
    compared = overlap(digests, alone_beside(data, run, model.disturbed)).directions["write"]
    by_name = {job.job: job for job in compared.jobs}
    rows = run.to_dicts()
    for row in rows:
        is_of_the_same_job(by_name[row["job"]], row, model)
    if compared.contention.contended is False:
        return
    for inverse in compared.inverses:
        if inverse.weight is None or not inverse.jobs:
            continue
        weighting = Weighting(inverse.weight)
        weights = [weighting.of(row["processes"], row["nodes"], row["mounts"], 0.0) for row in rows]
        spans = [(row["start"], row["start"] + row["seconds"]) for row in rows]
        found = {job.job: job.seconds.value for job in inverse.jobs}
        expected = dict(zip(run["job"], alone_from_spans(spans, weights), strict=True))
        assert found == pytest.approx(expected, rel=1e-6)


def is_of_the_same_job(job: JobInDirection, row: dict[str, object], model: FittedModel) -> None:
    assert (job.processes, job.nodes, job.bytes) == (row["processes"], row["nodes"], row["bytes"])
    span = job.span.seconds
    assert (span.value, span.low, span.high) == (row["seconds"], row["seconds_low"], row["seconds_high"])
    known = model.alone_rate(row["processes"], row["nodes"], row["mounts"], row["program"])
    rate = job.alone.bytes_per_second
    assert (rate.value, rate.low, rate.high) == pytest.approx((known.rate.value, known.rate.low, known.rate.high))
    assert len(job.alone.dropped) == len(known.dropped)


@pytest.mark.parametrize("name", ["delta-glusterfs", "delta-turns", "delta-slow"])
def test_a_delta_graph_has_the_numbers_of_the_model(name: str):
    directory = recordings.unpacked(ARCHIVES) / name
    graph, _ = recordings.read_delta(directory)
    data = recordings.read_campaign(directory)
    model = fit_model(data.jobs, data.slices)
    (known,) = model.alone
    assert graph.dropped == [] or not set(known.dropped) - set(graph.dropped)
    (volume,) = set(data.jobs["bytes"])
    assert list(graph.alone_seconds.values()) == pytest.approx([volume / known.rate.value] * 2)
    times = dict(zip(data.jobs["job"], data.jobs["seconds"], strict=True))
    for job, seconds in graph.points.select("job", "seconds").iter_rows():
        assert seconds == times[job]
