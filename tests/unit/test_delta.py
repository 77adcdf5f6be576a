"""Delta-graphs: fair sharing and first come, first served are told apart, and figures come out as they were put in."""

from collections.abc import Callable

import polars as pl
import pytest
from slicewise.analysis.delta import delta_graph, expected_curve
from slicewise.analysis.runs.campaign import JOBS_SCHEMA
from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.errors import UserError
from slicewise.report.delta.delta_page import delta_page, verdict
from slicewise.report.page import html_of

ALONE = 10.0
VOLUME = 1000


def times_by_shares(dt: float, weights: tuple[float, float] = (1, 1)) -> tuple[float, float]:
    jobs = [SharingJob("A", ALONE, weights[0]), SharingJob("B", ALONE, weights[1], start=dt)]
    first, second = share_out(1.0, jobs).jobs
    return first.t_co, second.t_co


def times_in_turn(dt: float) -> tuple[float, float]:
    later = ALONE + max(0.0, ALONE - abs(dt))
    return (ALONE, later) if dt >= 0 else (later, ALONE)


def jobs_of(
    times: Callable[[float], tuple[float, float]], offsets: list[float], repeats: int = 1, processes: int = 4
) -> pl.DataFrame:
    rows = [job_row(f"{name}-alone-1", f"{name}-alone-1", 0.0, ALONE, processes) for name in "ab"]
    for offset in offsets:
        for repeat in range(repeats):
            run = f"dt{offset:+g}-{repeat}"
            first = max(0.0, -offset)
            for name, start, seconds in zip("ab", (first, first + offset), times(offset), strict=True):
                rows.append(job_row(run, f"{run}-{name}", start, seconds, processes))
    return pl.DataFrame(rows, schema=JOBS_SCHEMA)


def job_row(run: str, job: str, start: float, seconds: float, processes: int) -> dict:
    own = {"run": run, "pair": "4", "job": job, "program": "load", "bytes": VOLUME, "outstanding": 1.0}
    spans = {"start": start, "seconds": seconds, "seconds_low": seconds, "seconds_high": seconds}
    return own | {"processes": processes, "nodes": 1, "mounts": 1} | spans


OFFSETS = [-12.0, -7.5, -5.0, -2.5, 0.0, 2.5, 5.0, 7.5, 12.0]


@pytest.mark.parametrize(("times", "index"), [(times_by_shares, 0.0), (times_in_turn, 1.0)])
def test_asymmetry(times, index):
    graph = delta_graph("x", jobs_of(times, OFFSETS[2:7]))
    assert graph.asymmetry == pytest.approx(index, abs=1e-9)
    assert graph.asymmetry_reason == ""
    assert ("who comes first wins" in verdict(graph)) == (index == 1)


def test_points_and_peaks():
    graph = delta_graph("x", jobs_of(times_by_shares, OFFSETS))
    at = {(row["dt"], row["name"]): row for row in graph.points.iter_rows(named=True)}
    assert [at[dt, "A"]["seconds"] for dt in OFFSETS] == pytest.approx([10, 12.5, 15, 17.5, 20, 17.5, 15, 12.5, 10])
    assert at[5.0, "B"]["interference"] == pytest.approx(1.5)
    assert at[5.0, "B"]["bytes_per_second"] == pytest.approx(VOLUME / 15)
    assert graph.peak == pytest.approx({"A": 2.0, "B": 2.0})
    assert graph.expected_peak == pytest.approx({"A": 2.0, "B": 2.0})
    assert graph.dropped == []


def test_the_expected_curve_with_unequal_weights():
    alone = {"A": 10.0, "B": 10.0}
    curve = expected_curve(alone, {"A": 1000, "B": 1000}, (36, 12), [-5.0, 0.0, 1.0, 5.0, 8.0])
    by_name = [curve.filter(pl.col("name") == name)["seconds"].to_list() for name in "AB"]
    assert by_name[0] == pytest.approx([13.333333, 13.333333, 13, 11.666667, 10.666667], abs=1e-6)
    assert by_name[1] == pytest.approx([20, 20, 19, 15, 12], abs=1e-6)


def test_an_outlier_is_dropped_and_named():
    jobs = jobs_of(times_by_shares, [5.0], repeats=5)
    slow = (pl.col("run") == "dt+5-3") & (pl.col("job") == "dt+5-3-a")
    graph = delta_graph("x", jobs.with_columns(seconds=pl.when(slow).then(30.0).otherwise("seconds")))
    assert graph.dropped == ["dt+5-3"]
    assert graph.points.filter(pl.col("is_outlier"))["job"].to_list() == ["dt+5-3-a", "dt+5-3-b"]
    assert graph.peak == pytest.approx({"A": 1.5, "B": 1.5})
    page = html_of(delta_page([graph], unseen=["A: saw 60 % of the bytes written that the kernel counted"]))
    assert "dt+5-3" in page
    assert "<li>A: saw 60" in page


def test_what_says_nothing_of_asymmetry_gives_no_index():
    unequal = jobs_of(times_by_shares, OFFSETS).with_columns(
        seconds=pl.when(pl.col("job") == "b-alone-1").then(20.0).otherwise("seconds")
    )
    assert delta_graph("x", unequal).asymmetry_reason.startswith("the jobs are not equal")
    apart = delta_graph("x", jobs_of(times_by_shares, [-12.0, 12.0]))
    assert apart.asymmetry is None
    noise = (pl.col("run") == "dt+12-0") & (pl.col("job") == "dt+12-0-a")
    noisy = jobs_of(times_by_shares, [-12.0, 12.0]).with_columns(seconds=pl.when(noise).then(14.0).otherwise("seconds"))
    assert delta_graph("x", noisy).asymmetry is None
    assert apart.asymmetry_reason == "no run in which one job began clearly before the other, and met it, lost time"


def test_what_is_missing_is_said():
    jobs = jobs_of(times_by_shares, OFFSETS)
    with pytest.raises(UserError, match="holds no run of two jobs together"):
        delta_graph("x", jobs.filter(pl.col("run").str.contains("alone")))
    with pytest.raises(UserError, match="program alone; profile it alone too"):
        delta_graph("x", jobs.filter(~pl.col("run").str.contains("alone")))
