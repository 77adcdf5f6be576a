"""What jobs do now: rates and shares from two looks, the screen, and OpenMetrics."""

import json

import pytest
from rich.console import Console
from slicewise.live import JobNow, Look, Watch, parse_look
from slicewise.report.live.live_screen import BARS, Screen, jobs_table, sparkline
from slicewise.report.live.open_metrics import Metrics

SECOND = 1_000_000_000
SCRATCH = {"object": "file", "point": "/scratch", "type": "lustre", "source": "mds:/scratch"}
HOME = {"object": "file", "point": "/home", "type": "nfs4", "source": "server:/home"}
PIPE = {"object": "pipe", "point": "", "type": "", "source": ""}


def process(name: str, job: str, mounts: list[dict], **other: object) -> dict:
    about = {
        "step": "", "program": f"/bin/{name}", "user": 7, "pid": int(name), "rank": -1, "start_ns": 0, "slice_ns": 1,
    }  # fmt: skip
    kernel = {f"{who}_{kind}_bytes": 0 for who in ("kernel", "closed") for kind in ("read", "write")}
    return {"process": name, "job": job, "mounts": mounts} | about | kernel | other


def look(second: float, *processes: dict) -> Look:
    ns = int(second * SECOND)
    return parse_look(json.dumps({"time_ns": ns + 5000, "steady_ns": ns, "processes": list(processes)}))


def jobs_between(*looks: Look) -> dict[str, JobNow]:
    watch = Watch()
    jobs: list[JobNow] = []
    for one in looks:
        jobs = watch.jobs(one)
    return {job.job: job for job in jobs}


def test_rates_are_what_came_between_two_looks() -> None:
    first = process("1", "a", [SCRATCH | {"write_bytes": 1000, "write_ops": 10, "write_ns": 100}])
    second = process(
        "1",
        "a",
        [SCRATCH | {"write_bytes": 5000, "write_ops": 30, "write_ns": 40_000_100, "read_bytes": 600, "read_ops": 20}],
    )
    job = jobs_between(look(10, first), look(12, second))["a"]
    assert job.activity.write_bytes_per_s == 2000
    assert job.activity.read_bytes_per_s == 300
    assert job.activity.ops_per_s == 20
    assert job.activity.latency_ms == 1.0
    assert (job.total_bytes, job.total_ops, job.users, job.history) == (5600, 50, [7], [2300])
    assert job.mounts[0].share == 1


def test_at_the_first_look_nothing_has_a_rate() -> None:
    job = jobs_between(look(10, process("1", "a", [SCRATCH | {"write_bytes": 1000}])))["a"]
    assert (job.activity.bytes_per_s, job.activity.latency_ms, job.history, job.total_bytes) == (0, None, [], 1000)


@pytest.mark.parametrize(("start_ns", "bytes_per_s"), [(11 * SECOND, 1000), (9 * SECOND, 0)])
def test_a_process_that_is_new_counts_if_it_began_since(start_ns: int, bytes_per_s: int) -> None:
    new = process("2", "a", [SCRATCH | {"write_bytes": 2000}], start_ns=start_ns)
    assert jobs_between(look(10), look(12, new))["a"].activity.bytes_per_s == bytes_per_s


def test_pipes_are_no_files() -> None:
    job = jobs_between(look(0), look(1, process("1", "a", [PIPE | {"write_bytes": 9}], start_ns=SECOND)))["a"]
    assert (job.activity.bytes_per_s, job.mounts, job.total_bytes) == (0, [], 0)


def test_shares_of_a_mount_are_of_all_jobs_of_the_node() -> None:
    now = [
        process("1", "a", [SCRATCH | {"write_bytes": 300}, HOME | {"read_bytes": 50}], start_ns=SECOND),
        process("2", "a", [SCRATCH | {"write_bytes": 300}], start_ns=SECOND),
        process("3", "b", [SCRATCH | {"write_bytes": 200}, HOME | {"read_bytes": 0}], start_ns=SECOND),
    ]
    jobs = jobs_between(look(0), look(1, *now))
    assert {mount.point: mount.share for mount in jobs["a"].mounts} == {"/scratch": 0.75, "/home": 1}
    assert {mount.point: mount.share for mount in jobs["b"].mounts} == {"/scratch": 0.25, "/home": 0}
    assert list(jobs) == ["a", "b"]


@pytest.mark.parametrize(("waited", "moved", "beside"), [(1.2, 300, "b"), (0.8, 300, None), (1.2, 20, None)])
def test_who_moved_most_where_a_job_waits_perhaps_slows_it_down(waited: float, moved: int, beside: str | None) -> None:
    """Two processes of a job wait on one mount for so many of 2 s in all, beside one that moves so many bytes there."""
    waits = SCRATCH | {"write_bytes": 50, "sync_ns": int(waited / 2 * SECOND)}
    now = [
        process("1", "a", [waits, HOME | {"read_bytes": 50}], start_ns=SECOND),
        process("2", "a", [waits], start_ns=SECOND),
        process("3", "b", [SCRATCH | {"write_bytes": moved}], start_ns=SECOND),
        process("4", "c", [SCRATCH | {"write_bytes": 10}, HOME | {"read_bytes": 5000}], start_ns=SECOND),
    ]
    jobs = jobs_between(look(0), look(1, *now))
    found = jobs["a"].beside
    assert (found.job if found else None) == beside
    assert found is None or (found.point, found.share) == ("/scratch", pytest.approx(300 / 410))
    assert jobs["b"].beside is None
    drawn = [cell.text for cell in jobs_table([jobs["a"]]).rows[0]]
    assert ("b (73.2 % of /scratch)" in drawn) == (beside is not None)


def test_coverage_is_of_closed_slices() -> None:
    half = process("1", "a", [], closed_write_bytes=50, kernel_write_bytes=80, kernel_read_bytes=20)
    assert jobs_between(look(0, half))["a"].activity.seen_share == 0.5
    assert jobs_between(look(0, process("1", "a", [])))["a"].activity.seen_share is None


def test_history_is_kept_while_a_job_runs() -> None:
    grown = [process("1", "a", [SCRATCH | {"write_bytes": bytes_then}]) for bytes_then in (0, 100, 300)]
    job = jobs_between(*(look(second, one) for second, one in enumerate(grown)))["a"]
    assert job.history == [100, 200]
    assert jobs_between(look(0, grown[0]), look(1, grown[1]), look(2), look(3, grown[2]))["a"].history == [0]


@pytest.mark.parametrize(
    ("values", "line"), [([], ""), ([0, 0], BARS[0] * 2), ([0, 50, 100], BARS[0] + BARS[4] + BARS[7])]
)
def test_sparkline(values: list[float], line: str) -> None:
    assert sparkline(values) == line


def text_of(screen: Screen, jobs: list[JobNow]) -> list[str]:
    console = Console(width=200, highlight=False, force_terminal=False)
    with console.capture() as captured:
        console.print(screen.draw(jobs, "node", []))
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.fixture
def jobs() -> list[JobNow]:
    now = [
        process("1", "slow", [SCRATCH | {"write_bytes": 10, "write_ops": 1, "write_ns": 9_000_000}], start_ns=SECOND),
        process("2", "fast", [SCRATCH | {"write_bytes": 9000, "write_ops": 2, "write_ns": 1}], start_ns=SECOND, rank=1),
        process("3", "fast", [SCRATCH | {"write_bytes": 1, "write_ops": 90, "write_ns": 1}], start_ns=SECOND, rank=0),
    ]
    return list(jobs_between(look(0), look(1, *now)).values())


def first_words(lines: list[str]) -> list[str]:
    return [line.split()[0] for line in lines[2:-1]]


def test_keys_sort_choose_and_open(jobs: list[JobNow]) -> None:
    screen = Screen()
    assert first_words(text_of(screen, jobs)) == ["fast", "slow"]
    screen.press("l", jobs)
    assert first_words(text_of(screen, jobs)) == ["slow", "fast"]
    screen.press("down", jobs)
    screen.press("enter", jobs)
    assert screen.opened == "fast"
    screen.press("t", jobs)
    assert first_words(text_of(screen, jobs)) == ["2", "3"]
    screen.press("o", jobs)
    assert first_words(text_of(screen, jobs)) == ["3", "2"]
    screen.press("escape", jobs)
    assert first_words(text_of(screen, jobs)) == ["fast", "slow"]
    assert not screen.is_over
    screen.press("q", jobs)
    assert screen.is_over


def test_a_job_that_ends_while_it_is_open_gives_the_jobs_back(jobs: list[JobNow]) -> None:
    screen = Screen(opened="gone", selected=7)
    assert first_words(text_of(screen, jobs)) == ["fast", "slow"]
    assert screen.opened is None
    assert "no profiled process runs here now" in text_of(screen, [])


def test_metrics_only_grow() -> None:
    metrics = Metrics()
    metrics.take(look(0, process("1", 'a"b', [SCRATCH | {"write_bytes": 10, "write_ns": 1_500_000_000}])))
    metrics.take(
        look(1, process("1", 'a"b', [SCRATCH | {"write_bytes": 25}]), process("2", "c", [HOME | {"read_ops": 3}]))
    )
    metrics.take(look(2, process("3", 'a"b', [SCRATCH | {"write_bytes": 5}])))
    lines = metrics.text().splitlines()
    labels = r'job="a\"b",mount="/scratch",type="lustre",source="mds:/scratch"'
    assert f'slicewise_moved_bytes_total{{{labels},kind="write"}} 30' in lines
    assert f'slicewise_call_seconds_total{{{labels},kind="write"}} 1.500000000' in lines
    assert 'slicewise_calls_total{job="c",mount="/home",type="nfs4",source="server:/home",kind="read"} 3' in lines
    assert r'slicewise_processes{job="a\"b"} 1' in lines
    assert 'slicewise_processes{job="c"} 0' in lines
    assert lines[-1] == "# EOF"
    assert not any("pid" in line for line in lines)
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    samples = [line for line in lines if not line.startswith("#")]
    assert all(sample.split("{")[0].removesuffix("_total") in families for sample in samples)
