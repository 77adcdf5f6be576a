# ruff: noqa: E501 - texts of other programs are as wide as they are
"""A file server's sampler, on a directory that stands for the server's /: what it writes against what the text said,
killed, on a full disk, restarted; what it costs with 1,000 jobs on 16 targets."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.imports.jobstats import read_served
from slicewise.profile.servers import read_ends, read_servers
from support.command_line import json_of, refusal_of, slicewise_command
from support.programs import COLLECTOR, need_built

MIB = 1 << 20
SLICE_SECONDS = 0.25


@dataclass
class Server:
    """The directory, where profiles go, and where segments lie."""

    root: Path
    profiles: Path
    segments: Path

    def says(
        self,
        target: str,
        jobs: dict[str, int],
        start: float = 1,
        device: str = "obdfilter",
        tree: str = "proc/fs/lustre",
        idle: float = 0,
    ) -> None:
        """What a target's job_stats say from now on: MiB written so far, or renames, by job, until `idle` seconds ago."""
        text = "job_stats:\n"
        for job, done in jobs.items():
            now = time.time_ns() - int(idle * 1e9)
            text += f"- job_id:          {job}\n  snapshot_time:   {now // 10**9}.{now % 10**9:09d} secs.nsecs\n"
            text += f"  start_time:      {start:.9f} secs.nsecs\n  elapsed_time:    1.0 secs.nsecs\n"
            if device == "mdt":
                for kind in ("rename", "samedir_rename", "statfs"):  # the same renames once more, and no operation
                    text += f"  {kind}: {{ samples: {done:11d}, unit: usecs, min: 1, max: 9, sum: 23, sumsq: 99 }}\n"
            else:
                text += f"  read_bytes:      {{ samples: {0:11d}, unit: bytes, min: 0, max: 0, sum: {0:16d}, sumsq: 0, hist: {{  }} }}\n"
                text += f"  write_bytes:     {{ samples: {done:11d}, unit: bytes, min: 1048576, max: 1048576, sum: {done * MIB:16d}, sumsq: 4, hist: {{ 1M: {done} }} }}\n"
                text += f"  write:           {{ samples: {done:11d}, unit: usecs, min: 10, max: 90, sum: {done * 100:16d}, sumsq: 9 }}\n"
                text += f"  punch:           {{ samples: {7:11d}, unit: usecs, min: 1, max: 9, sum: 23, sumsq: 99 }}\n"
        place = self.root / tree / device / target
        place.mkdir(parents=True, exist_ok=True)
        (place / ".new").write_text(text)
        os.replace(place / ".new", place / "job_stats")

    def sampler(self, **settings: str) -> subprocess.Popen:
        environment = os.environ | {
            "SLICEWISE_DIR": str(self.profiles),
            "SLICEWISE_SEGMENT_DIR": str(self.segments),
            "SLICEWISE_SLICE": str(SLICE_SECONDS),
        }
        return subprocess.Popen([COLLECTOR, "servers", "--root", self.root], env=environment | settings, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)  # fmt: skip

    @contextlib.contextmanager
    def sampled(self, **settings: str) -> Iterator[subprocess.Popen]:
        running = self.sampler(**settings)
        time.sleep(2 * SLICE_SECONDS)
        try:
            yield running
            time.sleep(2 * SLICE_SECONDS)
        finally:
            running.terminate()
            running.wait(20)

    def rows(self) -> pl.DataFrame:
        return read_served(sorted(self.profiles.iterdir()))

    def moved(self) -> dict[tuple[str, str], int]:
        """MiB, or operations on metadata targets, by target and job."""
        sums = self.rows().group_by("target", "job").agg(pl.col("write_bytes").sum() // MIB, pl.col("meta_ops").sum())
        return {(target, job): mib or operations for target, job, mib, operations in sums.rows()}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    need_built(COLLECTOR)
    made = Server(tmp_path / "root", tmp_path / "profiles", tmp_path / "segments")
    for place in (made.root, made.profiles, made.segments):
        place.mkdir()
    return made


def test_what_was_served_is_what_the_text_said(server: Server):
    server.says("lus-OST0000", {"old": 700, "4711": 5})
    server.says("lus-MDT0000", {"4711": 5}, device="mdt")
    with server.sampled():
        for step in range(1, 6):
            server.says("lus-OST0000", {"old": 700, "4711": 5 + 10 * step, '"a\\x20b"': step})
            server.says("lus-MDT0000", {"4711": 5 + 100 * step}, device="mdt")
            time.sleep(1.5 * SLICE_SECONDS)
    assert server.moved() == {("lus-OST0000", "4711"): 50, ("lus-OST0000", "a b"): 5, ("lus-MDT0000", "4711"): 500}
    rows = server.rows().filter(pl.col("job") == "4711", pl.col("write_bytes") > 0)
    assert rows["begin_ns"].n_unique() >= 4  # each step lies in slices of its own
    assert (rows["end_ns"] - rows["begin_ns"]).unique().to_list() == [SLICE_SECONDS * 10**9]
    assert rows["busy_ns"].sum() == 50 * 100 * 1000
    (place,) = server.profiles.iterdir()
    runs = read_servers([place]).runs
    assert runs.select("storage", "type", "left_out", "damaged", "late").rows() == [("lus", "lustre", 0, 0, 0)]


def test_counters_that_begin_anew_and_targets_that_come(server: Server):
    server.says("lus-OST0000", {"a": 100, "b": 100})
    with server.sampled():
        server.says("lus-OST0000", {"a": 7, "b": 130}, start=time.time())  # cleared: what it has came since
        server.says("lus-OST0001", {"a": 40}, start=time.time())  # another server's target, after a failover
        time.sleep(2 * SLICE_SECONDS)
        server.says("lus-OST0000", {"b": 135}, start=1)
    found = server.moved()
    assert found[("lus-OST0000", "a")] == 7
    assert found[("lus-OST0001", "a")] == 40
    assert found[("lus-OST0000", "b")] in (130 + 5, 130 + 135)


def test_a_job_that_the_server_forgot_counts_from_zero(server: Server):
    server.says("lus-OST0000", {"a": 50, "b": 1}, idle=700)
    with server.sampled():
        server.says("lus-OST0000", {"b": 2})
        time.sleep(3 * SLICE_SECONDS)
        server.says("lus-OST0000", {"a": 50, "b": 3})
    assert server.moved() == {("lus-OST0000", "a"): 50, ("lus-OST0000", "b"): 2}


def test_clients_where_no_job_is_known_and_other_trees(server: Server):
    place = server.root / "sys/kernel/debug/lustre/obdfilter/lus-OST0000/exports/10.0.0.1@tcp"
    place.mkdir(parents=True)
    (server.root / "proc/fs/lustre/obdfilter/lus-OST0000").mkdir(parents=True)
    (server.root / "proc/fs/lustre/obdfilter/lus-OST0000/job_stats").write_text("job_stats:\n")

    def says(mib: int) -> None:
        (place / "stats").write_text(
            f"snapshot_time  1.0 secs.nsecs\nwrite_bytes  {mib} samples [bytes] 4096 1048576 {mib * MIB} 5\nping 3 samples [usecs] 1 1 3\n"
        )

    says(5)
    with server.sampled():
        says(25)
    rows = server.rows()
    assert rows.select("target", "job", "is_client").unique().rows() == [("lus-OST0000", "10.0.0.1@tcp", True)]
    assert (rows["write_bytes"].sum(), rows["write_ops"].sum()) == (20 * MIB, 20)


def test_what_was_sampled_before_a_kill_is_kept(server: Server):
    server.says("lus-OST0000", {"a": 0})
    running = server.sampler()
    time.sleep(2 * SLICE_SECONDS)
    server.says("lus-OST0000", {"a": 64})
    time.sleep(3 * SLICE_SECONDS)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert server.moved() == {("lus-OST0000", "a"): 64}
    # The next one goes on in the same file; what came in between is of no slice that anybody saw.
    server.says("lus-OST0000", {"a": 100})
    with server.sampled():
        server.says("lus-OST0000", {"a": 103})
    assert server.moved() == {("lus-OST0000", "a"): 67}
    (place,) = server.profiles.iterdir()
    assert read_servers([place]).runs.height == 2


def test_a_second_one_goes_away(server: Server):
    server.says("lus-OST0000", {"a": 0})
    with server.sampled():
        done = server.sampler()
        assert done.wait(20) == 0
        assert "already" in done.stdout.read()


def test_a_place_that_cannot_be_written_costs_nothing(server: Server):
    """A file where the directory of profiles is to be, until it is gone."""
    server.profiles.rmdir()
    server.profiles.write_text("in the way")
    server.says("lus-OST0000", {"a": 0})
    with server.sampled() as running:
        for step in range(1, 8):
            server.says("lus-OST0000", {"a": 10 * step})
            time.sleep(SLICE_SECONDS)
        server.profiles.unlink()
        server.profiles.mkdir(exist_ok=True)  # the collector may have made it first
        server.says("lus-OST0000", {"a": 80})
        time.sleep(2 * SLICE_SECONDS)
    assert server.moved() == {("lus-OST0000", "a"): 80}
    said = running.stderr.read()
    assert said.count("cannot be written") == 1


def test_a_thousand_jobs_on_sixteen_targets(server: Server):
    """Less than 1 % of a processor and 16 MiB at slices of 4 s: 40 ms a look, of which one job in ten did something."""
    targets = [f"lus-OST{number:04x}" for number in range(16)]
    jobs = {f"job.{number}": 5 for number in range(1000)}
    for target in targets:
        server.says(target, jobs)
    looks = 12
    with server.sampled() as running:
        time.sleep(looks * SLICE_SECONDS)
        idle = _processor_seconds(running.pid)
        for target in targets:
            server.says(target, {job: done + (number % 10 == 0) for number, (job, done) in enumerate(jobs.items())})
        time.sleep(2 * SLICE_SECONDS)
        peak = int(
            next(
                line for line in Path(f"/proc/{running.pid}/status").read_text().splitlines() if "VmHWM" in line
            ).split()[1]
        )
    assert len(server.moved()) == 16 * 100
    assert peak < 16 << 10
    assert idle / looks < 0.04 * 2  # what a busy machine's caches cost


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_blame_takes_the_profile(server: Server):
    server.says("lus-OST0000", {"a": 0, "b": 0})
    with server.sampled():
        for step in range(1, 13):
            server.says("lus-OST0000", {"a": step, "b": max(0, step - 8)})
            time.sleep(SLICE_SECONDS)
    (place,) = server.profiles.iterdir()
    told = json_of("blame", "a", "--servers", place)
    assert (told["job"], told["write_bytes"]) == ("a", 12 * MIB)
    assert [one["job"] for one in told["neighbours"]] == ["b"]


def test_top_shows_whom_servers_count_now(server: Server, monkeypatch):
    """By the ends of the profiles: names are written again and again, so that they are there."""
    server.says("lus-OST0000", {"a": 0, "b": 0})
    with server.sampled():
        for step in range(1, 41):
            server.says("lus-OST0000", {"a": 4 * step, "b": step})
            time.sleep(SLICE_SECONDS)
        done = slicewise_command("top", "--once", "--json", "--every", "0.1", "--servers", server.profiles)
        shown = slicewise_command("top", "--once", "--every", "0.1", "--servers", server.profiles).text
    assert done.status == 0, done.errors
    served = json.loads(done.text)["served"]
    assert [(one["job"], one["storage"], one["is_client"]) for one in served] == [
        ("a", "lus", False),
        ("b", "lus", False),
    ]
    assert served[0]["write_bytes_per_s"] == pytest.approx(4 * MIB / SLICE_SECONDS, rel=0.4)
    assert "As file servers counted until" in shown
    end = read_ends([server.profiles], 0, 4 << 10)
    assert end is not None
    assert set(end.rows["job"]) == {"a", "b"}
    assert end.rows.height < server.rows().height
    assert read_ends([server.profiles], time.time_ns() + 10**9) is None
    refusal_of("top", "--once", "--servers", server.root / "nowhere")
    monkeypatch.setenv("SLICEWISE_SERVERS", str(server.root / "nowhere"))  # as a site says, on a node without it
    assert slicewise_command("top", "--once", "--every", "0.1").status == 0
