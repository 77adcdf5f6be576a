"""Everybody else on the node, as root's collector samples them by user: bytes by slice against the kernel's own count,
who is left out, and what a site hides."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.command_line import json_of, slicewise_command
from support.kernel_witness import Witness
from support.programs import COLLECTOR, LIBRARY, Apps, need, need_built
from support.waiting import wait_until

SLICE_NS = 1_000_000_000
SECONDS = 6
STEADY, LOOPING = 54321, 54322
SHORT_BYTES, SHORT_TIMES = 400_000, 60
TOLERANCE = 0.05
# What two looks at one process need beside a busy machine, of a slice.
UNSURE_SHARE = 0.01
NOT_NAMED = 0xFFFFFFFF
# The capabilities by their numbers: CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE.
POWERS = 1 << 2 | 1 << 19


def _status(process: int) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())


def as_user(user: int) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


@dataclass(frozen=True)
class Recording:
    places: dict[str, Path]
    digests: dict[str, Digest]
    witness: Witness


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Which every user can reach."""
    need("setpriv", "zstd")
    need_built(LIBRARY, COLLECTOR)
    if os.geteuid() != 0:
        pytest.skip("needs root, to be several users")
    if int(_status(os.getpid())["CapEff"], 16) & POWERS != POWERS:
        pytest.skip("the kernel forbids root to look at other users' processes here")
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture(scope="module")
def recorded(folder: Path, apps: Apps) -> Recording:
    """Two jobs of root's, one with a collector that names users and one with a collector that hides them, beside a
    user's steady program, the same in a profiled job, and another user's shell that begins short programs."""
    environment = os.environ | {"SLICEWISE_DIR": str(folder / "profiles"), "SLICEWISE_SLICE": str(SLICE_NS / 1e9)}
    library = shutil.copy(LIBRARY, folder / "library")
    programs = {
        name: shutil.copy(apps.build("paced_writer"), folder / f"paced-{name}")
        for name in ("own", "steady", "profiled")
    }
    for user in (STEADY, LOOPING):
        (folder / str(user)).mkdir()
        os.chown(folder / str(user), user, user)

    def start(words: list, user: int = 0, **settings: str) -> subprocess.Popen:
        words = [*(as_user(user) if user else ()), "env", *(f"{k}={v}" for k, v in settings.items()), *map(str, words)]
        where = folder / str(user) if user else folder
        return subprocess.Popen(words, cwd=where, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def profiled(job: str, **settings: str) -> dict[str, str]:
        return {"LD_PRELOAD": library, "SLICEWISE_JOB": job, "SLICEWISE_QUIET": "1"} | settings

    loop = f"i=0; while [ $i -lt {SHORT_TIMES} ]; do head -c {SHORT_BYTES} /dev/zero > short; i=$((i+1)); done; sleep 2"
    modes = ("named", "hidden")
    collectors = [start([COLLECTOR, "node", "--job", mode, "--others", mode]) for mode in modes]
    jobs = [start([programs["own"], SECONDS, folder / mode], **profiled(mode)) for mode in modes]
    neighbours = [
        start([programs["steady"], SECONDS - 1.5, "data"], STEADY),
        start([programs["profiled"], SECONDS - 2, "other"], STEADY,
              **profiled("theirs", SLICEWISE_DIR=str(folder / str(STEADY)))),
    ]  # fmt: skip
    neighbours.append(start(["sh", "-c", f"sleep 2.2; {loop}"], LOOPING))
    witness = Witness(Path(programs["steady"]))
    try:
        while any(process.poll() is None for process in (*jobs, *neighbours)):
            time.sleep(0.02)
            witness.look()
        for collector in collectors:
            collector.terminate()
        assert [process.wait(60) for process in (*jobs, *neighbours, *collectors)] == [0] * 7
    finally:
        for process in (*jobs, *neighbours, *collectors):
            process.kill()
    places = {mode: folder / "profiles" / mode for mode in modes}
    return Recording(places, {mode: Digest(read_profile(place)) for mode, place in places.items()}, witness)


def test_a_users_bytes_by_slice_are_the_kernels(recorded: Recording) -> None:
    """Within 5 %, and none of the program with a profile that the same user ran meanwhile."""
    rows = recorded.digests["named"].others.filter(pl.col("user") == STEADY)
    sampled = {row["slice"]: row for row in rows.iter_rows(named=True)}
    counted = recorded.witness.by_slice(SLICE_NS)
    assert len(counted) >= 2
    usual = recorded.witness.last * SLICE_NS / 1e9 / SECONDS
    for number, count in counted.items():
        unsure_ns = sampled[number]["unsure_ns"]
        begin_ns, end_ns = number * SLICE_NS - unsure_ns, (number + 1) * SLICE_NS
        told = recorded.witness.most_in(unsure_ns, begin_ns, end_ns) if unsure_ns > UNSURE_SHARE * SLICE_NS else 0
        assert abs(sampled[number]["write_bytes"] - count) <= TOLERANCE * max(count, usual) + told, number
    assert rows["processes"].min() == 1
    assert rows["write_bytes"].sum() <= (1 + TOLERANCE) * recorded.witness.last


def test_short_processes_count_with_the_shell_that_waited_for_them(recorded: Recording) -> None:
    moved = read_profile(recorded.places["named"]).node_others.filter(pl.col("user") == LOOPING)
    assert moved["write_bytes"].sum() == pytest.approx(SHORT_TIMES * SHORT_BYTES, rel=TOLERANCE)
    assert moved["read_bytes"].sum() == pytest.approx(SHORT_TIMES * SHORT_BYTES, rel=TOLERANCE)


def test_hidden_hides_who_it_was_and_not_how_much(recorded: Recording) -> None:
    raw = read_profile(recorded.places["hidden"]).node_others
    assert set(raw["user"].unique()) <= {0, NOT_NAMED}
    hidden = raw.filter(pl.col("user") == NOT_NAMED)
    assert hidden["write_bytes"].sum() >= (1 - TOLERANCE) * (recorded.witness.last / 2 + SHORT_TIMES * SHORT_BYTES)
    for user in (STEADY, LOOPING):
        (profile,) = recorded.places["hidden"].glob("*.swz")
        unpacked = subprocess.run(["zstd", "-dc", profile], capture_output=True, check=True).stdout
        assert str(user).encode() not in unpacked


@pytest.mark.parametrize(("mode", "said"), [("named", f"user {STEADY} wrote"), ("hidden", "all other users together")])
def test_report_names_the_neighbours(recorded: Recording, tmp_path: Path, mode: str, said: str) -> None:
    words = ("report", recorded.places[mode], "--html", tmp_path / "page.html")
    text = " ".join(slicewise_command(*words).text.split())
    assert "Unprofiled neighbours on " in text
    assert said in text
    page = (tmp_path / "page.html").read_text()
    assert "Unprofiled neighbours on this job" in page
    others = json_of(*words)["others"]
    moved = {user["user"]: user for user in others["users"]}
    assert set(moved) >= ({STEADY, LOOPING} if mode == "named" else {None})
    for user in moved.values():
        assert sum(one["write_bytes"] for one in user["slices"]) == user["write_bytes"]
    if mode == "hidden":
        assert set(moved) <= {None, 0}
        assert str(STEADY) not in text + page


def collect(folder: Path, *words: str, user: int = 0) -> subprocess.CompletedProcess[str]:
    program = shutil.copy(COLLECTOR, folder / "collect")
    command = [*(as_user(user) if user else ()), program, "node", "--job", "job", *words]
    environment = os.environ | {"SLICEWISE_DIR": str(folder / "profiles")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize(
    ("words", "user", "said"),
    [(["--others", "named"], STEADY, "only root may see"), (["--others", "all"], 0, "named or hidden")],
)
def test_who_may_not_is_told_in_one_line(folder: Path, words: list[str], user: int, said: str) -> None:
    done = collect(folder, *words, user=user)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def _held(process: int) -> set[str]:
    """What kinds of things its descriptors lead to."""
    kinds = set()
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            kinds.add(path.readlink().name.split(":")[0])
    return kinds


def _is_alive(process: int) -> bool:
    """Whether it is there and not only a zombie, whom somebody else may wait for."""
    try:
        return not _status(process)["State"].startswith("Z")
    except OSError:
        return False


def _looker_of(collector: subprocess.Popen) -> int:
    """The process beside the collector, once both have the rights that they keep."""
    children = Path(f"/proc/{collector.pid}/task/{collector.pid}/children")
    wait_until(lambda: children.read_text().split())
    looker = int(children.read_text().split()[0])
    wait_until(lambda: int(_status(looker)["CapPrm"], 16) & ~POWERS == 0)
    wait_until(lambda: set(_status(collector.pid)["Uid"].split()) == {str(STEADY)})
    return looker


def test_who_looks_keeps_two_powers_and_ends_with_the_collector(folder: Path) -> None:
    """The collector itself has the rights of the job's user, and no others."""
    environment = os.environ | {"SLICEWISE_DIR": str(folder / str(STEADY) / "own"), "SLICEWISE_SLICE": "0.5"}
    command = [COLLECTOR, "node", "--job", "watched", "--user", str(STEADY), "--others", "hidden"]
    collector = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        looker = _looker_of(collector)
        status, own = _status(looker), _status(collector.pid)
        # Between looks; during one it reads files below /proc.
        wait_until(lambda: _held(looker) == {"null", "socket"})
    finally:
        collector.kill()
        collector.wait()
    assert status["NoNewPrivs"] == "1"
    for powers in ("CapPrm", "CapEff"):
        assert int(status[powers], 16) & ~POWERS == 0
    assert int(status["CapInh"], 16) == 0
    assert int(own["CapPrm"], 16) == 0
    wait_until(lambda: not _is_alive(looker))
    subprocess.run([COLLECTOR, "recover", "--user", str(STEADY)], env=environment, capture_output=True, check=False)
    (Path("/dev/shm") / f"slicewise-{STEADY}" / ".node.watched").unlink(missing_ok=True)


def test_a_root_without_these_powers_is_told_so_in_one_line(folder: Path) -> None:
    """As in most containers: what can be read is counted, and the profile says how much cannot."""
    environment = os.environ | {"SLICEWISE_DIR": str(folder / "weak"), "SLICEWISE_SLICE": "0.5"}
    weak = ["setpriv", "--bounding-set=-sys_ptrace,-dac_read_search", "--inh-caps=-all"]
    command = [*weak, COLLECTOR, "node", "--job", "weak", "--samples", "--others", "named"]
    neighbour = subprocess.Popen([*as_user(LOOPING), "sleep", "60"])
    collector = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert collector.stderr is not None
    try:
        said = collector.stderr.readline()  # once it has looked
        collector.terminate()
        assert collector.stderr.read() == b""
        assert collector.wait(30) == 0
    finally:
        for process in (neighbour, collector):
            process.kill()
            process.wait()
        collector.stderr.close()
    assert b"root needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH" in said
