"""Jobs that compete for real file servers over one link: by what each shares is found, and nothing stays behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.runs.campaign import campaign
from slicewise.analysis.sharing.fitted_model import fit_model
from slicewise.digest.shared import several
from slicewise.profile.files import job_places
from slicewise.profile.reader import read_profile
from slicewise.profile.servers import read_servers
from support.decided_again import replay
from support.programs import BUILD
from support.workload import require_load
from testbed import nodes, served_clients, servers

TESTS = Path(__file__).resolve().parents[1]
SEGMENT_HEAD_BYTES = 256 << 10
MIB = 1 << 20
# So slow that the link is the bottleneck on any machine; small transfers, so that slices see every process. Windows of
# connections need not be as large as those of what is recorded.
SLOW = ["--link", "100mbit", "--warm-up", "1", "--volume", "64", "--slice", "0.5", "--load", "--fsync --transfer 64K"]


def require_testbed(server: str) -> None:
    require_load()
    try:
        nodes.require("mpirun.openmpi", *servers.needs(server))
    except nodes.Missing as reason:
        pytest.skip(f"{reason}: make/setup test installs what packages there are for it")


def run_campaign(server: str, profiles: Path, runs: str, *options: str) -> None:
    require_testbed(server)
    command = [
        sys.executable, "-m", "testbed.campaign", BUILD, profiles, "--server", server, "--runs", runs, *SLOW, *options,
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def traces(folder: Path) -> set[str]:
    """What a testbed would leave behind: links, mounts, segments of jobs that have their profiles in `folder`."""
    links = {name for name in os.listdir("/sys/class/net") if name == "switch" or name.startswith("p-")}
    mounts = {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "testbed" in line}
    return links | mounts | {str(path) for path in Path("/dev/shm").glob("slicewise-*/*") if belongs_to(path, folder)}


def belongs_to(segment: Path, folder: Path) -> bool:
    """Whether its profile's place, which stands near its beginning, is below `folder`: others run jobs here too."""
    try:
        with segment.open("rb") as file:
            return bytes(folder) in file.read(SEGMENT_HEAD_BYTES)
    except OSError:  # gone meanwhile, or somebody else's
        return False


# By mount the jobs' times are alike however long they are; a fit needs slices, and a run alone.
@pytest.mark.parametrize(
    ("server", "is_by_process", "runs", "mib"), [("glusterfs", True, "4 1+4", 32), ("sshfs", False, "1+4", 16)]
)
def test_by_what_a_server_shares(tmp_path, server, is_by_process, runs, mib):
    before = traces(tmp_path)
    run_campaign(server, tmp_path / "profiles", runs, "--volume", str(mib))
    data = campaign(several(job_places([tmp_path / "profiles"])))
    assert set(data.jobs["pair"]) == {name.replace("+", " + ") for name in runs.split()}
    assert data.jobs["bytes"].unique().to_list() == [mib * MIB]
    # By process the larger job ends at 5/8 of the other's time, by mount both end together.
    times = dict(data.jobs.filter(pl.col("pair") == "1 + 4").select("processes", "seconds").iter_rows())
    assert (times[1] / times[4] > 1.3) == is_by_process, times
    if is_by_process:  # what is written back comes in bursts, and has not always slices with all processes
        fit = fit_model(data.jobs, data.slices).weight
        assert fit.chosen.kind in ("processes", "outstanding", "processes^beta"), fit
        assert fit.beta.value > 0.5, fit
    assert traces(tmp_path) == before


def test_readers_find_nothing_in_memory(tmp_path):
    """Neither what made their files nor what read them before: they wait for the link."""
    run_campaign(
        "glusterfs-usual", tmp_path / "profiles", "1~reads 1~reads", "--volume", "24", "--kind", "reads=--read"
    )
    runs = [json.loads(line) for line in (tmp_path / "profiles" / "runs.jsonl").read_text().splitlines()]
    assert [len(run["seconds"]) for run in runs] == [1, 1]
    assert min(run["seconds"][0] for run in runs) > 24 * MIB * 8 / 100e6 * 0.9
    assert campaign(several(job_places([tmp_path / "profiles"])), "read").jobs["bytes"].to_list() == [24 * MIB]


def test_a_testbed_that_is_killed_leaves_nothing(tmp_path):
    before = traces(tmp_path)
    require_testbed("glusterfs")
    command = [sys.executable, "-m", "testbed.campaign", BUILD, tmp_path / "profiles", "--runs", "1", *SLOW]
    process = subprocess.Popen(
        [*map(str, command), "--timeout", "0.5"], env=os.environ | {"PYTHONPATH": str(TESTS)}, stdout=subprocess.DEVNULL
    )
    assert process.wait(120) == 124
    assert traces(tmp_path) == before


def test_the_truth_is_recorded_beside_the_profiles(tmp_path):
    """And what is there already is not run again."""
    require_testbed("sshfs")
    before = traces(tmp_path)
    command = [sys.executable, "-m", "testbed.blame_campaign", BUILD, tmp_path / "profiles", "--storage", "sshfs"]
    for runs in (["brief+brief@0.5"], ["brief+brief@0.5", "away"]):
        until = time.time() + 300 * ("away" not in runs)
        done = subprocess.run(
            [*map(str, command), "--until", f"{until:.0f}", "--only", *runs],
            env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
    [run] = map(json.loads, (tmp_path / "profiles" / "truth.jsonl").read_text().splitlines())
    assert run["run"] == "brief+briefafter0.5-1s-1"
    first, second = run["jobs"]
    assert second["began"] - first["began"] == pytest.approx(0.5, abs=0.1)
    profiled = {digest.job for digest in several(job_places([tmp_path / "profiles"]))}
    for job in run["jobs"]:
        assert job["bytes"] == 2 << 20
        assert 0 < job["in_calls_mean"] <= job["in_calls"] < job["seconds"]
        assert job["profile"] in profiled
    assert traces(tmp_path) == before


def test_a_small_job_interrupts_a_large_one(tmp_path):
    """By a real coordinator: what it loses beside the large one falls."""
    require_testbed("glusterfs")
    before = traces(tmp_path)
    command = [sys.executable, "-m", "testbed.policy_campaign", BUILD, tmp_path / "runs", "--scenario", "brief"]
    done = subprocess.run(
        list(map(str, command)), env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [json.loads(line) for line in (tmp_path / "runs" / "runs.jsonl").read_text().splitlines()]
    assert [run["policy"] for run in runs] == ["interfere", "interrupt"]
    shared, interrupting = (beside / alone for _, [[_, alone], [_, beside]] in (run["phases"] for run in runs))
    assert interrupting < 0.8 * shared
    log = (tmp_path / "runs" / "brief-interrupt-1.jsonl").read_text()
    assert replay(log.splitlines(), "log").disagreements == []
    assert traces(tmp_path) == before


def test_what_is_missing_is_said_in_one_line():
    program = "from testbed import nodes; nodes.require('no-such-program')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(TESTS)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    said = "the testbed needs no-such-program" if os.geteuid() == 0 else "the testbed needs root"
    assert (done.returncode, done.stderr) == (1, f"{said}\n")


def test_another_program_takes_the_place_of_the_workload(tmp_path):
    """A program that knows of no start: it is told its file and its share of the volume, and runs profiled and bare."""
    before = traces(tmp_path)
    program = "dd if=/dev/zero of={file}.{kib} bs={kib}K count=1"
    run_campaign("glusterfs", tmp_path / "profiles", "2", "--volume", "16", "--bare", "--program", program)
    (profile,) = map(read_profile, job_places([tmp_path / "profiles"]))
    files = profile.files.filter(pl.col("path").str.ends_with(f".{8 << 10}"))
    assert files["write_bytes"].sum() == 16 << 20
    (line,) = (tmp_path / "profiles" / "seconds.jsonl").read_text().splitlines()
    assert {name: len(seconds) for name, seconds in json.loads(line).items() if name != "run"} == {
        "profiled": 1, "bare": 1
    }  # fmt: skip
    assert traces(tmp_path) == before


def test_a_file_server_counts_its_clients_by_their_connections(tmp_path):
    """What is sent to it and by it, to 1 %, by the file system that clients mount."""
    require_load()
    try:
        nodes.require()
    except nodes.Missing as reason:
        pytest.skip(f"{reason}: make/setup test installs what packages there are for it")
    (tmp_path / "cluster").mkdir()
    (tmp_path / "profiles").mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "path", [*sys.path, str(TESTS)])
        assert nodes.isolated("testbed.served_clients", str(BUILD), str(tmp_path / "profiles"), timeout=120) == 0
    (place,) = (tmp_path / "profiles").iterdir()
    found = read_servers([place]).rows
    assert set(found.select("storage", "type", "target").unique().rows()) == {
        ("server:/volume", "fuse.glusterfs", "glusterfs/server")
    }
    sums = {
        job: (read, wrote)
        for job, read, wrote in found.group_by("job").agg(pl.col("read_bytes", "write_bytes").sum()).rows()
    }
    sent, few = (pytest.approx(amount, rel=0.01, abs=2) for amount in (served_clients.SENT_MIB * MIB, 0))
    # The kernel counts a connection's end as a byte.
    assert sums["10.77.0.11"] == (few, sent)
    assert sums["10.77.0.12"] == (sent, few)
