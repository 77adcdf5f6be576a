"""C's standard I/O: calls, the bytes that the program moved, and the bytes that its streams moved underneath."""

import os
import resource
import subprocess
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.oracle import trace
from support.programs import FORTIFIED, LIBRARY, Apps, Job, calls, symbols_wanted, total

STDIN = b"ab678 rest"
OUT_OF_LINE = "-O0"  # with optimisation the headers put ..._unlocked in line
CHECKED = {
    f"__{name}_chk" for name in (
        "fprintf", "vfprintf", "printf", "fgets", "fgets_unlocked", "fread", "fread_unlocked",
    )
}  # fmt: skip
IN_LINE = 3  # characters each that are put and got by ..._unlocked
EXPECTED_CALLS = {
    "fopen": 4, "fdopen": 1, "freopen": 1, "fclose": 4,
    "fread": 2, "fgets": 2, "fgetc": 4 + 5 + 2, "getline": 3, "fscanf": 2,
    "fwrite": 2, "fprintf": 2 + 2 + 2, "fputs": 2 + 1 + 1 + 1, "fputc": 4 + 10_000 + 2,
    "fseek": 4, "ftell": 3, "fflush": 4,
}  # fmt: skip


def assert_conserved(profile: Profile, told: dict[str, int]) -> None:
    """What the streams took from and gave to the kernel is what it counted: the scenario makes no other calls."""
    stdio = ("stdio",)
    assert total(profile, "write_bytes", layers=stdio) == told["written"]
    assert total(profile, "read_bytes", layers=stdio) == told["read"]
    assert total(profile, "kernel_write_bytes", layers=stdio) == told["kernel_write_bytes"]
    assert total(profile, "kernel_read_bytes", layers=stdio) == told["kernel_read_bytes"]
    assert total(profile, "read_ops") == total(profile, "write_ops") == 0


def test_families(job: Job, apps: Apps) -> None:
    command = [apps.build("stdio_families", OUT_OF_LINE), job.data]
    seen, told = trace(job, command, stdin=STDIN)
    assert seen.bytes_written() == told["kernel_write_bytes"]
    assert seen.bytes_read() == told["kernel_read_bytes"]
    ended = job.run(command, stdin=STDIN)
    assert (ended.status, ended.output, ended.errors) == (0, b"put\ncdprinted\n12345\n", "")
    profile = job.profile()
    assert_conserved(profile, told)
    assert {name: count for name, count in calls(profile).items() if name not in ("open", "chdir")} == EXPECTED_CALLS
    assert total(profile, "errors", layers=["stdio"]) == 1


@pytest.mark.parametrize("options", [(), FORTIFIED], ids=["plain", "fortified"])
def test_characters_in_line_are_seen_underneath(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    """What headers put in line moves bytes without a call: the program's bytes lack those, the kernel's do not."""
    program = apps.build("stdio_families", *options)
    assert (symbols_wanted(program) >= CHECKED) == bool(options)
    _, told = trace(job, [program, job.data], stdin=STDIN)
    job.run([program, job.data], stdin=STDIN)
    profile = job.profile()
    counted = {name: count for name, count in calls(profile).items() if name not in ("open", "chdir")}
    assert counted == {name: count - IN_LINE * (name in ("fputc", "fgetc")) for name, count in EXPECTED_CALLS.items()}
    assert total(profile, "write_bytes", layers=["stdio"]) == told["written"] - IN_LINE
    assert total(profile, "read_bytes", layers=["stdio"]) == told["read"] - IN_LINE
    assert total(profile, "kernel_write_bytes", layers=["stdio"]) == told["kernel_write_bytes"]
    assert total(profile, "kernel_read_bytes", layers=["stdio"]) == told["kernel_read_bytes"]


@pytest.mark.parametrize("layer", ["posix", "stdio"])
def test_files_of_a_layer_have_its_bytes(job: Job, apps: Apps, layer: str) -> None:
    command = {"posix": "posix_transfers", "stdio": "stdio_families"}[layer]
    target = job.data / "file" if layer == "posix" else job.data
    assert job.run([apps.build(command), target], stdin=STDIN).status == 0
    profile = job.profile()
    for column in ("read_bytes", "write_bytes", "read_ops", "write_ops"):
        in_files = profile.files.filter(pl.col("path").str.starts_with(str(Path(job.data))))[column].sum()
        assert in_files == total(profile, column, layers=["posix", "stdio"], obj="file"), column


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_random_seeks(job: Job, apps: Apps, mode: str) -> None:
    command = [apps.build("stdio_seeks"), job.data / "file", "1800", "0", mode]
    _, told = trace(job, command)
    assert job.run(command).status == 0
    assert_conserved(job.profile(), told)


@pytest.mark.parametrize("room", [0, 1000, 65536], ids=["libc's buffer", "an odd one", "one of the whole file"])
@pytest.mark.parametrize("mode", ["r", "r+", "a+"])
def test_bytes_that_libc_reads_again(job: Job, apps: Apps, mode: str, room: int) -> None:
    """Seeks to where a stream stands, to the end and beyond it, with bytes pushed back, and parts of items."""
    command = [apps.build("stdio_rereads"), job.data / "file", "480", "0", mode, str(room)]
    seen, told = trace(job, command)
    assert seen.bytes_read() == told["kernel_read_bytes"]
    assert job.run(command).status == 0
    profile = job.profile()
    assert total(profile, "kernel_read_bytes", layers=["stdio"]) == told["kernel_read_bytes"]
    assert total(profile, "kernel_write_bytes", layers=["stdio"]) == told["kernel_write_bytes"]


def test_corners(job: Job, apps: Apps) -> None:
    command = [apps.build("stdio_corners"), job.data]
    seen, _ = trace(job, command)
    profile = job.profiled(command)
    names = profile.processes["program"].str.split("/").list.last()
    own = profile.processes.filter(names.str.starts_with("stdio_corners"))["process"].item()
    files = profile.files.filter(pl.col("process") == own)
    moved = {
        Path(path).name: (read, wrote) for path, read, wrote in files.select("path", "read_bytes", "write_bytes").rows()
    }
    assert moved["number"] == (4, 0)
    assert moved["token"] == (20_000, 0)
    assert moved["nul"] == (9, 0)
    assert moved["left"] == (0, len("left in the buffer"))
    rows = profile.slices.filter(pl.col("process") == own, pl.col("layer") == "stdio")
    assert rows["kernel_read_bytes"].sum() == seen.bytes_read("file") + seen.bytes_read("pipe")
    assert rows["kernel_write_bytes"].sum() == len("left in the buffer")


@pytest.mark.parametrize(
    ("way", "size", "processes"),
    [
        ("alone", 1_000_000, 1),
        ("fork", 2_000_000, 2),
        ("_exit", 1_000_000, 1),
        ("threads", 1_000_000, 1),
        ("wide", 1_000, 1),
    ],
)
def test_bytes_that_libc_writes_at_the_end(job: Job, apps: Apps, way: str, size: int, processes: int) -> None:
    """Characters put by macros into a large buffer, of which a forked child has a copy: what is written is counted, and
    a child that does not write it, and did nothing else, is no process of the profile."""
    profile = job.profiled([apps.build("stdio_left"), job.data / "file", way])
    assert (job.data / "file").stat().st_size == size
    assert total(profile, "kernel_write_bytes", layers=["stdio"], obj="file") == size
    assert total(profile, "write_bytes", layers=["kernel"]) == size
    assert profile.processes.height == processes


def end_where_libc_cannot_write(job: Job, program: Path, place: str, is_signal: bool, library: str) -> tuple[int, int]:
    """The status and what is in the file of a program that leaves a million characters to libc."""
    file, most = job.data / "file", 100_000
    file.unlink(missing_ok=True)
    reading, writing = os.pipe()
    os.close(reading)
    names = {"closed pipe": "-", "full device": "/dev/full"}
    done = subprocess.run(
        [program, names.get(place, file), "alone"],
        env=job.environment({"LD_PRELOAD": library, "SLICEWISE_QUIET": "1"}),
        stdout=writing if place == "closed pipe" else subprocess.DEVNULL,
        restore_signals=is_signal,  # Python ignores SIGPIPE and SIGXFSZ
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))) if place == "limit" else None,
        check=False,
    )
    os.close(writing)
    return done.returncode, file.stat().st_size if file.exists() else 0


@pytest.mark.parametrize("is_signal", [True, False])
@pytest.mark.parametrize("place", ["limit", "closed pipe", "full device"])
def test_bytes_that_libc_cannot_write_at_the_end(job: Job, apps: Apps, place: str, is_signal: bool) -> None:
    program = apps.build("stdio_left")
    bare = end_where_libc_cannot_write(job, program, place, is_signal, "")
    assert end_where_libc_cannot_write(job, program, place, is_signal, str(LIBRARY)) == bare
    assert total(job.profile(), "kernel_write_bytes", layers=["stdio"]) == bare[1]
    assert total(job.profile(), "write_bytes", layers=["kernel"]) == bare[1]


@pytest.mark.parametrize("way", ["writers", "flushers"])
def test_other_threads_that_write_at_the_end(job: Job, apps: Apps, way: str) -> None:
    """They may still write what is not counted; what is counted twice is what the stream held, at most."""
    job.must_run([apps.build("stdio_left", "-pthread"), job.data / "file", way])
    size = (job.data / "file").stat().st_size
    assert size > 0
    assert 0 < total(job.profile(), "kernel_write_bytes", layers=["stdio"], obj="file") <= size + (1 << 20)


@pytest.mark.parametrize("options", [(OUT_OF_LINE,), FORTIFIED], ids=["plain", "fortified"])
def test_wide_characters(job: Job, apps: Apps, options: tuple[str, ...]) -> None:
    command = [apps.build("stdio_wide", *options), job.data]
    _, told = trace(job, command, stdin="éc".encode())
    ended = job.run(command, stdin="éc".encode())
    assert (ended.status, ended.output, ended.errors) == (0, "€b1\n2\n".encode(), "")
    profile = job.profile()
    assert_conserved(profile, told)
    assert calls(profile) == {
        "fopen": 2, "fclose": 2, "fflush": 1,
        "fputwc": 4 + 5000 + 2, "fputws": 2, "fwprintf": 2 + 2, "fgetwc": 4 + 10 + 3, "fgetws": 3, "fwscanf": 1,
    }  # fmt: skip


def test_commands_words_and_messages(job: Job, apps: Apps) -> None:
    ended = job.run([apps.build("stdio_rest"), job.data])
    message = "No such file or directory\n"
    assert (ended.status, ended.output, ended.errors) == (0, b"", f"rest: {message}{message}")
    profile = job.profile()
    (process,) = profile.processes.filter(pl.col("program").str.contains("stdio_rest"))["process"].to_list()
    own = {row["operation"]: row["calls"] for row in profile.calls.filter(pl.col("process") == process).to_dicts()}
    assert own == {
        "popen": 2, "pclose": 2, "fgets": 1, "fputs": 2, "tmpfile": 1, "fwrite": 2, "fread": 3, "fseek": 1,
        "perror": 2, "fopen": 1, "fflush": 1, "fclose": 2,
    }  # fmt: skip
    streams = profile.slices.filter((pl.col("process") == process) & (pl.col("layer") == "stdio"))
    assert streams["write_bytes"].sum() == 13 + 8 + len("rest: ") + 2 * len(message) + 16
    assert streams["kernel_write_bytes"].sum() == streams["write_bytes"].sum()
    assert streams["read_bytes"].sum() == len("from a command\n") + 2 * 4
    assert job.segments() == []


def test_bytes_underneath_where_others_are_pushed_back(job: Job, apps: Apps) -> None:
    """What the kernel read is what the file had, and what a stream held when it was reopened is written, too."""
    profile = job.profiled([apps.build("stdio_pushed_back")])
    assert total(profile, "kernel_read_bytes", layers=["stdio"]) == 100_000
    assert total(profile, "kernel_write_bytes", layers=["stdio"]) == 100_000 + 2 * 1234
    assert total(profile, "write_bytes", layers=["stdio"]) == 100_000 + 2 * 1234
