"""The job's control group, of a hierarchy that a test made: a slice's counts, and what is said of what is missing."""

import os
import subprocess
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.command_line import completed, json_of
from support.programs import BUILD, LIBRARY, need, need_built

SLICEWISE, COLLECTOR = BUILD / "bin" / "slicewise", BUILD / "bin" / "slicewise-collect"
MIB = 1 << 20
NOT_MOUNTED = 77


def _group(place: Path, written: int, waited_us: int, faults: int) -> None:
    place.mkdir(parents=True, exist_ok=True)
    (place / "io.stat").write_text(f"8:0 rbytes={MIB} wbytes={written} rios=1 wios={written // MIB} dbytes=0 dios=0\n")
    memory = {"anon": 5, "file": 3 * MIB, "file_dirty": MIB, "file_writeback": 0, "pgmajfault": faults}
    (place / "memory.stat").write_text("".join(f"{name} {value}\n" for name, value in memory.items()))
    for what, times in (("io", 1), ("memory", 3)):
        waited = f"some avg10=0.00 total={times * waited_us}\nfull avg10=0.00 total={waited_us // 2}\n"
        (place / f"{what}.pressure").write_text(waited)


@pytest.fixture
def hierarchy(tmp_path: Path) -> Path:
    need_built(SLICEWISE, LIBRARY)
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a hierarchy of its own")
    need("unshare", "mount", "bash")
    place = tmp_path / "cgroup"
    _group(place / "job", 10 * MIB, 1000, 3)
    _group(tmp_path / "later", 74 * MIB, 401_000, 10)
    (place / "cgroup.controllers").write_text("io memory\n")
    return place


def _in_hierarchy(hierarchy: Path, *command: object) -> subprocess.CompletedProcess[str]:
    script = f'mount --bind {hierarchy} /sys/fs/cgroup || exit {NOT_MOUNTED}; exec "$@"'
    words = ["unshare", "-m", "bash", "-c", script, "bash", *map(str, command)]
    # A node has one collector for jobs of a name, and other tests have such jobs at this time.
    segments = hierarchy.parent / "segments"
    segments.mkdir(exist_ok=True)
    environment = os.environ | {"SLICEWISE_SEGMENT_DIR": str(segments)}
    ended = subprocess.run(words, cwd=hierarchy.parent, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode == NOT_MOUNTED:
        pytest.skip("mounting in a namespace of one's own is not allowed here")
    return ended


def test_what_a_control_group_did_is_told_by_disk_and_slice(hierarchy, tmp_path):
    change = "sleep 1.2; cp later/* cgroup/job/; sleep 1.2; echo done > written"
    run = [SLICEWISE, "run", "--dir", "profiles", "--job", "job", "--slice", "0.5", "--", "bash", "-c", change]
    ended = _in_hierarchy(hierarchy, "env", "SLICEWISE_CGROUP=/job", *run)
    assert ended.returncode == 0, ended.stderr
    place = tmp_path / "profiles" / "job"
    digest = Digest(read_profile(place))
    amounts = digest.node_slices.group_by("kind", "device", "signal").agg(pl.col("amount").sum())
    sums = {(row["kind"], row["device"], row["signal"]): row["amount"] for row in amounts.iter_rows(named=True)}
    (disk,) = {device for kind, device, _ in sums if kind == "cgroup_disk"}
    assert sums["cgroup_disk", disk, "cgroup_disk_written"] == 64 * MIB
    assert ("cgroup_disk", disk, "cgroup_disk_read") not in sums
    assert sums["cgroup_disk", disk, "cgroup_disk_requests"] == 64
    assert sums["cgroup", "/job", "cgroup_io_stall"] == pytest.approx(0.4)
    assert sums["cgroup", "/job", "cgroup_io_full_stall"] == pytest.approx(0.2)
    assert sums["cgroup", "/job", "cgroup_memory_stall"] == pytest.approx(1.2)
    assert sums["cgroup", "/job", "cgroup_major_faults"] == 7
    # All of it lies in the one slice in which the texts changed, as far as a copy of the files is one moment.
    slices = digest.node_slices.filter(pl.col("signal") == "cgroup_disk_written")
    assert slices.height == 1

    record = json_of("report", place, directory=tmp_path)
    (written,) = [row for row in record["nodes"] if row["signal"] == "cgroup_disk_written"]
    assert (written["kind"], written["unit"]) == ("cgroup_disk", "bytes/s")
    (level,) = [row for row in record["nodes"] if row["signal"] == "cgroup_file_bytes"]
    assert level["mean"] == pytest.approx(3 * MIB, rel=0.01)
    page = (tmp_path / record["page"]).read_text()
    assert "The job's control group" in page.replace("&#39;", "'")
    assert "The job's own control group on 1 node" in completed("report", "--detail", place).stdout


@pytest.mark.parametrize(
    ("missing", "wanted", "said"),
    [
        (("io.stat", "io.pressure"), "/job", "control group /job: io.stat, io.pressure cannot be read"),
        ((), "/none", "control group /none: io.stat, memory.stat, io.pressure, memory.pressure cannot be read"),
        ((), "none", "SLICEWISE_CGROUP=none: no control group of cgroup v2 can be sampled"),
        ((), "", ""),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line_and_the_node_is_sampled(hierarchy, tmp_path, missing, wanted, said):
    for name in missing:
        (hierarchy / "job" / name).unlink()
    node = ["timeout", "-s", "TERM", "1.3", COLLECTOR, "node", "--job", "job", "--samples"]
    settings = [f"SLICEWISE_DIR={tmp_path}", f"SLICEWISE_CGROUP={wanted}", "SLICEWISE_SLICE=0.5"]
    ended = _in_hierarchy(hierarchy, "env", *settings, *node)
    lines = ended.stderr.splitlines()
    assert [said in line for line in lines] == ([True] if said else [])
    assert "samples in" in ended.stdout
