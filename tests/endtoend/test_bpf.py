"""What BPF counts of the job's control group and of all others by file system, where root asks for it: bytes against
what programs wrote, whose rights the collector has, what is said where it is refused, and that nothing stays behind."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import read_profile
from support.programs import COLLECTOR, LIBRARY, need, need_built

HIERARCHIES = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
NO_GROUP = "no control group of cgroup v2 can be made here"
KERNEL_REFUSES = re.compile(r"--bpf: the kernel does not (load|run) the program")
SYSCALL_BPF, PROGRAM_BY_NUMBER = 321, 13
SOMEBODY = 54323
BYTES = 100 * 102_400

# Both file systems are the script's alone. $1 joins the job's group; the collector counts from its first turn on.
SCRIPT = """
mkdir a b && mount -t tmpfs a a && mount -t tmpfs b b || exit 77
"$COLLECTOR" node --bpf --samples $OPTIONS & collector=$!
sleep 1.5
in_group='echo $$ > "$1/cgroup.procs" && busybox dd if=/dev/zero of=a/x bs=102400 count=100 && cp a/x b/y'
sh -c "$in_group" sh "$GROUP" || exit 1
sh -c 'mkdir "$1/step" && echo $$ > "$1/step/cgroup.procs" && cat a/x > /dev/null' sh "$GROUP" || exit 1
dd if=/dev/zero of=b/z bs=10240 count=100 || exit 1
LD_PRELOAD="$LIBRARY" dd if=/dev/zero of=a/w bs=1024 count=1 || exit 1
sleep 1.2
kill "$collector" && wait "$collector"
"""


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group of the test's own."""
    need_built(COLLECTOR, LIBRARY)
    if os.geteuid() != 0:
        pytest.skip("needs root, to load programs into the kernel")
    need("unshare", "busybox", "setpriv")
    hierarchy = next((place for place in HIERARCHIES if (place / "cgroup.controllers").exists()), None)
    if hierarchy is None:
        pytest.skip(NO_GROUP)
    made = hierarchy / f"slicewise-test-{os.getpid()}"
    try:
        made.mkdir()
    except OSError:
        pytest.skip(NO_GROUP)
    try:
        yield made
    finally:
        for place in (made / "step", made):
            with contextlib.suppress(FileNotFoundError):
                place.rmdir()


def _settings(group: Path, folder: Path) -> dict[str, str]:
    segments = folder / "segments"
    segments.mkdir(exist_ok=True)
    return os.environ | {
        "SLICEWISE_DIR": str(folder / "profiles"), "SLICEWISE_JOB": group.name, "SLICEWISE_SLICE": "0.5",
        "SLICEWISE_CGROUP": f"/{group.name}", "SLICEWISE_SEGMENT_DIR": str(segments), "SLICEWISE_QUIET": "1",
        "GROUP": str(group), "COLLECTOR": str(COLLECTOR), "LIBRARY": str(LIBRARY),
    }  # fmt: skip


def _need_kernel(said: str) -> None:
    if refusal := KERNEL_REFUSES.search(said):
        pytest.skip(refusal.group())


@pytest.mark.parametrize("others", ["", "named"])
def test_bytes_by_group_and_file_system(group, tmp_path, others):
    tmp_path.chmod(0o755)
    options = f"--others {others}" if others else ""
    ended = subprocess.run(
        ["unshare", "-m", "bash", "-c", SCRIPT], cwd=tmp_path, env=_settings(group, tmp_path) | {"OPTIONS": options},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    _need_kernel(ended.stderr)
    assert ended.returncode == 0, ended.stderr
    assert "--bpf" not in ended.stderr
    profile = read_profile(tmp_path / "profiles" / group.name)
    rows = profile.node_cgroup_mounts.join(profile.node_devices, on=["process", "device"])
    moved = rows.group_by("kind", "name", "source").agg(
        pl.col("read_bytes", "write_bytes", "read_ops", "write_ops").sum()
    )
    of = {(row["kind"], row["name"]): row for row in moved.iter_rows(named=True) if str(tmp_path) in row["name"]}
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    job = f"/{group.name}"
    # The job's step, a group below the job's, has read the file once more.
    assert (of["cgroup_mount", a]["write_bytes"], of["cgroup_mount", a]["read_bytes"]) == (BYTES, 2 * BYTES)
    assert (of["cgroup_mount", b]["write_bytes"], of["cgroup_mount", b]["read_bytes"]) == (BYTES, 0)
    assert of["cgroup_mount", a]["write_ops"] == 100
    assert {row["source"] for (kind, _), row in of.items() if kind == "cgroup_mount"} == {job}
    assert (of["others_mount", b]["write_bytes"], of["others_mount", b]["write_ops"]) == (1_024_000, 100)
    assert of["others_mount", a]["write_bytes"] == 1024
    # Whose it was is told only where the site names others; the kernel's own texts are no storage.
    assert (of["others_mount", b]["source"] != "") == bool(others)
    assert not any(name.startswith(("/proc", "/sys")) for name in moved["name"])


def _program_of(process: int) -> int | None:
    """The number of the program that a process holds in the kernel."""
    for about in Path(f"/proc/{process}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if found := re.search(r"^prog_id:\s+(\d+)", about.read_text(), re.MULTILINE):
                return int(found.group(1))
    return None


def _is_loaded(number: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    about = (ctypes.c_uint32 * 32)(number)
    fd = libc.syscall(SYSCALL_BPF, PROGRAM_BY_NUMBER, ctypes.byref(about), ctypes.sizeof(about))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def test_a_killed_collector_leaves_no_program_behind(group, tmp_path):
    # With a user's rights: the sums are read by the descriptor alone.
    tmp_path.chmod(0o777)
    settings = _settings(group, tmp_path)
    (tmp_path / "segments").chmod(0o777)
    words = [COLLECTOR, "node", "--bpf", "--samples", "--user", str(SOMEBODY)]
    said = tmp_path / "said"
    with said.open("w") as errors, subprocess.Popen(words, env=settings, cwd="/", stderr=errors) as collector:
        try:
            program, until = None, time.monotonic() + 20
            while program is None and collector.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                _need_kernel(said.read_text())
                program = _program_of(collector.pid)
            time.sleep(1.0)  # for the first look
            assert "--bpf" not in said.read_text()
            assert f"\nUid:\t{SOMEBODY}\t{SOMEBODY}" in Path(f"/proc/{collector.pid}/status").read_text()
            assert program is not None
            assert _is_loaded(program)
        finally:
            collector.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while _is_loaded(program) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_loaded(program)


HIDE = """
library=$(ldconfig -p | sed -n 's/.*libbpf.so.1 .*=> //p' | head -1)
mount --bind /dev/null "$(readlink -f "$library")" || exit 77
exec "$@"
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"], "the kernel does not load"),
        (["unshare", "-m", "bash", "-c", HIDE, "bash"], r"libbpf\.so\.1 is missing \(apt-get install libbpf1\)"),
    ],
    ids=["without the right", "without the library"],
)  # fmt: skip
def test_what_is_refused_is_said_in_one_line_and_sampling_goes_on(group, tmp_path, words, said):
    tmp_path.chmod(0o777)
    settings = _settings(group, tmp_path) | {"SLICEWISE_CGROUP": ""}
    (tmp_path / "segments").chmod(0o777)
    node = ["timeout", "-s", "TERM", "1.3", str(COLLECTOR), "node", "--bpf", "--samples"]
    ended = subprocess.run([*words, *node], env=settings, cwd="/", capture_output=True, text=True, check=False)
    assert "samples in" in ended.stdout
    (line,) = [line for line in ended.stderr.splitlines() if "bpf" in line]
    assert re.search(f"--bpf: {said}.*sampling goes on$", line)
