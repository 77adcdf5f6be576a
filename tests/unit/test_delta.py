"""Delta-graphs: fair sharing and first come, first served are told apart, and figures come out as they were put in."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.delta import DeltaGraph, delta_graph, expected_curve, graph_and_evidence
from slicewise.analysis.runs.campaign import JOBS_SCHEMA, Campaign, campaign
from slicewise.analysis.sharing.proportional import SharingJob, share_out
from slicewise.analysis.sharing.weights import Weighting
from slicewise.digest.shared import several
from slicewise.errors import UserError
from slicewise.report.delta.delta_page import by_itself, delta_page, peaks, verdict
from slicewise.report.page import html_of
from support.command_line import answer_of
from support.tabled_jobs import EPOCH, write_job

ALONE = 10.0
VOLUME = 1000
RATES_ALONE, LATE, SLOWED = [[40.0] * 4], [[0.0] * 2 + [40.0] * 4], [[20.0] * 8]


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
    assert apart.asymmetry_reason == "in no run one job began clearly before the other, and met it"


def test_jobs_that_lose_next_to_nothing_give_no_index():
    """Each with servers of its own: 8.8 and 9.3 s alone, at most 8 % more beside each other, and 0.64 came of that."""
    times = {"a-alone-1": 8.8, "b-alone-1": 9.3, "dt-3-0-a": 9.2, "dt-3-0-b": 9.8, "dt+3-0-a": 9.6, "dt+3-0-b": 9.2}
    jobs = jobs_of(times_by_shares, [-3.0, 3.0])
    assert set(jobs["job"]) == set(times)
    graph = delta_graph("x", jobs.with_columns(seconds=pl.col("job").replace_strict(times)))
    assert graph.asymmetry is None
    assert graph.asymmetry_reason.endswith("they lost next to nothing")


def test_what_is_missing_is_said():
    jobs = jobs_of(times_by_shares, OFFSETS)
    with pytest.raises(UserError, match="holds no run of two jobs together"):
        delta_graph("x", jobs.filter(pl.col("run").str.contains("alone")))
    with pytest.raises(UserError, match="program alone; profile it alone too"):
        delta_graph("x", jobs.filter(~pl.col("run").str.contains("alone")))


def served_by(server: str) -> dict:
    return {"type": "fuse.sshfs", "source": f"{server}:/export", "point": "/mnt/0", "object": "file"}


def write_runs(folder: Path, servers: dict[str, str], first: list[list[float]] = RATES_ALONE) -> None:
    """Jobs alone, each on its own server, and A before B; servers: of each name that a job's begins or ends with."""
    runs = {"a-alone-1": RATES_ALONE, "b-alone-1": RATES_ALONE, "dt+8-1-a": first, "dt+8-1-b": LATE}
    for place, (job, rows) in enumerate(runs.items()):
        server = servers.get(job) or servers[job[0] if "alone" in job else job[-1]]
        host = "n1" if server == servers["a"] else "n2"
        start = EPOCH + (1000 if "dt" in job else 100 * place)
        write_job(folder / job, rows, host=host, first_slice=start, mount=served_by(server))


def data_of(folder: Path) -> Campaign:
    digests = several(sorted(folder.iterdir()))
    return campaign(digests, is_by_name=True, may_be_apart=True)


def graph_of(folder: Path) -> DeltaGraph:
    return graph_and_evidence("x", data_of(folder), Weighting("processes"))[0]


def test_jobs_with_servers_of_their_own_are_drawn_and_said_to_be_apart(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s2"})
    graph = graph_of(tmp_path)
    assert graph.apart == {"A": "s1:/export", "B": "s2:/export"}
    assert graph.alone_seconds == pytest.approx({"A": 16.0, "B": 16.0})
    assert graph.points["dt"].to_list() == pytest.approx([8.0, 8.0])
    assert graph.peak == pytest.approx({"A": 1.0, "B": 1.0})
    assert graph.expected["interference"].unique().to_list() == [1.0]
    assert verdict(graph).endswith(
        "The jobs share no file system (A on s1:/export and B on s2:/export): what they lose to each other is lost "
        "elsewhere, as in the network."
    )
    assert "without sharing it would be 1.00" in peaks(graph)
    assert "1 for jobs that share no file system" in html_of(delta_page([graph]))


def test_what_jobs_apart_lose_is_shown(tmp_path):
    """A takes twice as long beside B, though they share no server: as in a network that both use."""
    write_runs(tmp_path, {"a": "s1", "b": "s2"}, first=SLOWED)
    graph = graph_of(tmp_path)
    assert graph.peak == pytest.approx({"A": 2.0, "B": 1.0})
    assert graph.asymmetry == pytest.approx(1.0)


def test_jobs_on_one_server_share_it(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s1"})
    graph = graph_of(tmp_path)
    assert graph.apart == {}
    assert graph.expected_peak == pytest.approx({"A": 1.5, "B": 1.5})
    assert "share no file system" not in verdict(graph)


def test_a_trifle_on_a_common_file_system_is_not_what_they_share(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s2"})
    for number, path in enumerate(sorted(tmp_path.iterdir())):
        write_job(path, [[0.5]], host="n3", first_slice=EPOCH + 7 * number, mount=served_by("home"))
    assert graph_of(tmp_path).apart == {"A": "s1:/export", "B": "s2:/export"}


def test_a_job_alone_elsewhere_is_not_its_standalone_run(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s2", "b-alone-1": "s1"})
    with pytest.raises(UserError, match=r"holds no run of dt\+8-1-b's program alone on s2:/export"):
        graph_of(tmp_path)


def test_runs_of_both_kinds_are_refused(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s2"})
    for job in "ab":
        write_job(tmp_path / f"dt+0-1-{job}", RATES_ALONE, first_slice=EPOCH + 2000, mount=served_by("s1"))
    with pytest.raises(UserError, match="share a file system in some runs and in others not"):
        graph_of(tmp_path)


def test_other_commands_still_want_a_common_file_system(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s2"})
    with pytest.raises(UserError, match="there is no file system on which all of these jobs moved bytes"):
        campaign(several(sorted(tmp_path.iterdir())))


def test_the_job_that_used_another_file_system_is_named(tmp_path):
    write_runs(tmp_path, {"a": "s1", "b": "s1"})
    write_job(tmp_path / "stranger", RATES_ALONE, first_slice=EPOCH + 3000, mount=served_by("s2"))
    said = r"^stranger: moved no bytes on /mnt/0 \(fuse.sshfs, s1:/export\), as the other 4 jobs did; leave out"
    with pytest.raises(UserError, match=said):
        campaign(several(sorted(tmp_path.iterdir())))


def test_the_command_draws_them(tmp_path):
    write_runs(tmp_path / "partitioned", {"a": "s1", "b": "s2"})
    done = answer_of("study", "delta", "read", "partitioned", "--html", "page.html", directory=tmp_path)
    assert "The jobs share no file system (A on s1:/export and B on s2:/export)" in done
    assert (tmp_path / "page.html").is_file()


@pytest.mark.parametrize(("first", "is_said"), [(RATES_ALONE, True), (SLOWED, False)], ids=["equal", "slowed"])
def test_jobs_that_lose_nothing_are_not_said_to_compete_for_what_is_at_its_limit(tmp_path, first, is_said):
    write_runs(tmp_path, {"a": "s1", "b": "s2"}, first)
    graph = graph_of(tmp_path)
    assert bool(by_itself(graph, pl.DataFrame({"full": [False, True]}))) == is_said
    assert by_itself(graph, pl.DataFrame({"full": [False]})) == []
    assert by_itself(graph, pl.DataFrame()) == []
