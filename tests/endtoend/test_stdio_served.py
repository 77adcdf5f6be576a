"""Standard I/O that buffers serve: counted without a clock, and exact all the same."""

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import FORTIFIED, Apps, Job, total

STDIO = ("stdio",)


def assert_as_told(profile: Profile, words: str) -> None:
    """Operations, bytes, sizes and files are what the program did. What a buffer served has no latency."""
    told = dict(zip(words.split()[::2], map(int, words.split()[1::2]), strict=True))
    names = profile.mounts.filter(pl.col("object") == "file").select("process", "mount")
    rows = profile.slices.filter(pl.col("layer") == "stdio").join(names, on=["process", "mount"], how="semi")
    for kind, ops, moved in (("read", "reads", "read_bytes"), ("write", "writes", "written")):
        assert rows[f"{kind}_ops"].sum() == told.get(ops, 0)
        assert rows[f"{kind}_bytes"].sum() == told.get(moved, 0)
        sizes = sum(rows[column].sum() for column in rows.columns if column.startswith(f"{kind}_size_"))
        assert sizes == told.get(ops, 0)
        latencies = sum(rows[column].sum() for column in rows.columns if column.startswith(f"{kind}_latency_"))
        assert latencies <= told.get(ops, 0) / 5
        assert profile.files[f"{kind}_ops"].sum() >= told.get(ops, 0)
        assert rows[f"{kind}_consecutive"].sum() <= rows[f"{kind}_sequential"].sum() <= told.get(ops, 0)


# What one of several threads moves while another waits for the stream is counted for one of them.
@pytest.mark.parametrize(
    ("options", "mode"), [((), "families"), (FORTIFIED, "families"), (("-pthread",), "threads")],
    ids=["plain", "fortified", "of threads on one stream"],
)  # fmt: skip
def test_calls_are_those_that_were_made(job: Job, apps: Apps, options: tuple[str, ...], mode: str) -> None:
    target = job.data / "file"
    ended = job.must_run([apps.build("stdio_served", *options), mode, target])
    profile = job.profile(bins=True)
    assert_as_told(profile, ended.output.decode())
    assert total(profile, "kernel_write_bytes", layers=STDIO, obj="file") == target.stat().st_size
    assert mode == "threads" or total(profile, "read_consecutive", layers=STDIO) > 100_000


@pytest.mark.parametrize("mode", ["scans", "wide"])
def test_calls_that_tell_only_afterwards(job: Job, apps: Apps, mode: str) -> None:
    """Words and lines of all lengths, and wide characters: sums are right, and so is what the kernel gave and got."""
    target = job.data / "file"
    ended = job.must_run([apps.build("stdio_served"), mode, target])
    profile = job.profile(bins=True)
    assert_as_told(profile, ended.output.decode())
    size = target.stat().st_size
    assert total(profile, "kernel_write_bytes", layers=STDIO, obj="file") == size
    assert total(profile, "kernel_read_bytes", layers=STDIO, obj="file") == size * (2 if mode == "scans" else 1)


def test_threads_that_read_one_stream(job: Job, apps: Apps) -> None:
    target = job.data / "file"
    target.write_bytes(b"line\n" * 200_000)
    profile = job.profiled([apps.build("stdio_served", "-pthread"), "read", target])
    for column in ("read_bytes", "kernel_read_bytes"):
        assert total(profile, column, layers=STDIO, obj="file") == target.stat().st_size


def test_a_thread_that_is_cancelled_in_a_write(job: Job, apps: Apps) -> None:
    """It lets its stream go, as without us: another thread goes on to write into it."""
    job.must_run([apps.build("stdio_served", "-pthread"), "cancelled", "-"])


def test_streams_in_memory_and_by_lines(job: Job, apps: Apps) -> None:
    ended = job.must_run([apps.build("stdio_served"), "memory", job.data / "file"])
    words = ended.output.decode().split()
    profile = job.profile()
    assert total(profile, "write_ops", layers=STDIO, obj="file") == int(words[3])
    assert total(profile, "write_bytes", layers=STDIO, obj="file") == int(words[7])


def test_descriptor_that_becomes_another_one_beneath_its_stream(job: Job, apps: Apps) -> None:
    """Each file has what was written while it was the stream's, whoever changed that: this thread or one that ended."""
    target = job.data / "file"
    profile = job.profiled([apps.build("stdio_served", "-pthread"), "swapped", target])
    written = dict(profile.files.group_by("path").agg(pl.col("write_bytes").sum()).rows())
    for file in (target, target.with_suffix(".other")):
        assert written[str(file)] == file.stat().st_size > 0
    assert total(profile, "write_bytes", layers=STDIO, obj="file") == sum(
        file.stat().st_size for file in job.data.iterdir()
    )


def test_child_that_nobody_saw_begin(job: Job, apps: Apps) -> None:
    """It counts nothing on its parent's lane, which it shares."""
    target = job.data / "file"
    ended = job.run([apps.build("stdio_served"), "forked", target])
    assert ended.errors == ""
    words = ended.output.decode().split()
    profile = job.profile()
    names = profile.mounts.filter(pl.col("object") == "file").select("process", "mount")
    rows = profile.slices.join(names, on=["process", "mount"], how="semi").filter(pl.col("layer") == "stdio")
    ops = rows.group_by("process").agg(pl.col("write_ops").sum())["write_ops"]
    assert sorted(ops) == [500, 2500]
    assert int(words[-5]) == 2500


def test_lines_of_two_streams(job: Job, apps: Apps) -> None:
    ended = job.must_run([apps.build("stdio_served"), "lines", job.data / "file"])
    assert_as_told(job.profile(bins=True), ended.output.decode())


def test_killed_with_bytes_in_the_buffer(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("stdio_served"), "killed", job.data / "file"])
    assert ended.status == -9
    assert job.recover().returncode == 0
    profile = job.profile()
    words = ended.errors.split()
    assert total(profile, "write_ops", layers=STDIO, obj="file") == int(words[1]) == 1000
    assert total(profile, "write_bytes", layers=STDIO, obj="file") == int(words[3])


def test_slices_of_calls_that_come_slowly(job: Job, apps: Apps) -> None:
    """Whatever comes 100 ms apart has a slice of its own; the first 64 calls of a burst may be in the slice before."""
    job.must_run([apps.build("stdio_served"), "slowly", job.data / "file"], SLICEWISE_SLICE="0.1")
    names = job.profile().mounts.filter(pl.col("object") == "file").select("process", "mount")
    rows = job.profile().slices.join(names, on=["process", "mount"], how="semi")
    ops = rows.filter(pl.col("layer") == "stdio", pl.col("write_ops") > 0).sort("slice")["write_ops"]
    bursts = [number for number, count in enumerate(ops) if count >= 100]
    before, after = ops[1 : bursts[0] - 1], ops[bursts[-1] + 2 :]
    assert min(len(before), len(after)) >= 6
    assert max(*before, *after) <= 3
    assert len(bursts) >= 8
    assert max(ops) <= 2 * 300 + 64
