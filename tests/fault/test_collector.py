"""The node's collector beside processes that die, disks that fill, clocks that step: what programs counted is in the
profile, whenever it happens.

SLICEWISE_TEST_REPEATS says how often each is tried, at moments of its own; without it a thousand processes are tried
once, and the others three times.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.profile.reader import Profile, read_profile
from support.programs import COLLECTOR, LIBRARY, SHARED_MEMORY, Apps, Job, job_in, need, total
from support.tally import assert_counts_tally, read_tallies, wait_for
from support.waiting import wait_until

REPEATS = int(os.environ.get("SLICEWISE_TEST_REPEATS", "3"))
REPEATS_OF_CROWDS = int(os.environ.get("SLICEWISE_TEST_REPEATS", "1"))
LONGEST_WAIT_SECONDS = 120
LONGEST_LIFE_SECONDS = 0.45
SLICE = "0.1"
CROWD = struct.Struct("4Q")


class Collector:
    """A node's collector of a job, which is drained and gone at the end of the block."""

    def __init__(self, job: Job, **settings: str) -> None:
        self._job = job
        self._environment = job.environment({"LD_PRELOAD": "", "SLICEWISE_SLICE": SLICE} | settings)
        self.output = ""
        self.errors = ""

    def __enter__(self) -> Collector:
        self.start()
        return self

    def start(self) -> None:
        self._process = subprocess.Popen(
            [COLLECTOR, "node"], env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_until(lambda: self.segment() is not None)

    def segment(self) -> Path | None:
        """Where its own samples lie."""
        return next((path for path in self._job.segments() if f".{self._process.pid}." in path.name), None)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self.output, self.errors = self._process.communicate(timeout=LONGEST_WAIT_SECONDS)


def segments_of_processes(job: Job) -> list[Path]:
    """Without the file that a killed collector had locked: the next one of the job takes it."""
    return [path for path in job.segments() if not path.name.startswith(".")]


class Attempt:
    """One repeat: a job with programs that count themselves, and a moment."""

    def __init__(self, job: Job, apps: Apps, other: Path, seed: str) -> None:
        self.job = job
        self.tallies: list[Path] = []
        self._program = apps.build("tally", "-pthread")
        self._other = other
        self._random = random.Random(seed)
        self.moment = self._random.random() * LONGEST_LIFE_SECONDS

    def start(
        self, mode: str = "restless", threads: int = 2, seconds: float = 60.0, **settings: str
    ) -> subprocess.Popen:
        tally = self._other / f"tally{len(self.tallies)}"
        data = self.job.data / tally.name
        data.mkdir()
        self.tallies.append(tally)
        arguments = [mode, str(threads), str(seconds), tally, data, self._other]
        return self.job.start([self._program, *arguments], **({"SLICEWISE_SLICE": SLICE} | settings))

    def wait(self) -> None:
        """Until the moment of this attempt has come, and all programs are at work."""
        for tally in self.tallies:
            wait_for(tally)
        time.sleep(self.moment)

    def assert_nothing_is_lost(self, threads: int, profile: Profile | None = None) -> Profile:
        assert self.job.recover(self.job.spool_dir).returncode == 0
        assert segments_of_processes(self.job) == []
        profile = profile or self.job.profile()
        assert "records_dropped" not in profile.mishaps["mishap"].to_list()
        assert_counts_tally(profile, read_tallies(self.tallies), threads)
        return profile


Attempts = Callable[..., Iterator[Attempt]]


@pytest.fixture
def attempts(tmp_path: Path, apps: Apps, request: pytest.FixtureRequest) -> Attempts:
    def repeat(times: int = REPEATS) -> Iterator[Attempt]:
        for number in range(times):
            folder = tmp_path / str(number)
            folder.mkdir()
            with (
                tempfile.TemporaryDirectory(prefix="slicewise-test-data-", dir=SHARED_MEMORY) as other,
                job_in(folder) as job,
            ):
                yield Attempt(job, apps, Path(other), f"{request.node.name} {number}")
            shutil.rmtree(folder)

    return repeat


def end(*processes: subprocess.Popen) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()


def test_one_of_many_is_killed(attempts: Attempts) -> None:
    for attempt in attempts():
        with Collector(attempt.job):
            lasting = [attempt.start(threads=1, seconds=0.7) for _ in range(3)]
            victim = attempt.start()
            attempt.wait()
            end(victim)
            assert [process.wait() for process in lasting] == [0, 0, 0]
            end(*lasting)
        profile = attempt.assert_nothing_is_lost(threads=2)
        assert sorted(profile.processes["ending"]) == ["exit", "exit", "exit", "killed"]


def test_all_are_killed(attempts: Attempts) -> None:
    for attempt in attempts():
        with Collector(attempt.job) as collector:
            victims = [attempt.start() for _ in range(3)]
            attempt.wait()
            end(*victims)
        assert "for up to" in collector.output
        profile = attempt.assert_nothing_is_lost(threads=6)
        assert set(profile.processes["ending"]) == {"killed"}
        assert profile.nodes["cost_ns"].max() > 0


@pytest.mark.parametrize("carries_on", [True, False], ids=["and the next one carries on", "and all others"])
def test_the_collector_is_killed(attempts: Attempts, carries_on: bool) -> None:
    for attempt in attempts():
        with Collector(attempt.job) as collector:
            victims = [attempt.start() for _ in range(2)]
            attempt.wait()
            collector.kill()
            if carries_on:
                collector.start()
            end(*victims)
        profile = attempt.assert_nothing_is_lost(threads=4)
        if carries_on:
            runs = profile.nodes.select("process", "pid").unique()
            assert runs.height in (1, 2)  # the first may not have come to a slice's turn
            assert set(profile.node_slices["process"]) <= set(runs["process"])


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[None]:
    """A file system of that size there."""
    need("mount", "umount")
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", place], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill(filler: Path) -> None:
    """With all that its file system has room for."""
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(1024)):
            pass


def test_the_disk_is_full_and_then_freed(attempts: Attempts) -> None:
    for attempt in attempts():
        disk = attempt.job.folder / "disk"
        disk.mkdir()
        attempt.job.settings["SLICEWISE_DIR"] = str(disk)
        attempt.job.spool_dir = disk / "job"
        with small_disk(disk, 2048):
            filler = disk / "filler"
            with Collector(attempt.job):
                victims = [attempt.start(mode="steady") for _ in range(2)]
                attempt.wait()
                fill(filler)
                time.sleep(0.25)
                filler.unlink()
                end(*victims)
            assert attempt.job.recover(attempt.job.spool_dir).returncode == 0
            profile = attempt.job.profile(is_damaged=True)
            assert all(damage.frames == 0 for damage in profile.damage)  # torn ones were written again
            attempt.assert_nothing_is_lost(threads=4, profile=profile)


def test_the_spool_is_removed_and_made_anew(attempts: Attempts) -> None:
    for attempt in attempts():
        kept = attempt.job.folder / "kept"
        with Collector(attempt.job):
            victims = [attempt.start() for _ in range(2)]
            attempt.wait()
            with contextlib.suppress(FileNotFoundError):
                attempt.job.spool_dir.rename(kept)
            wait_until(attempt.job.spool_dir.exists)
            end(*victims)
        attempt.job.recover(attempt.job.spool_dir)
        for file in kept.glob("*.swz"):  # what was taken away, put back: then everything is there
            file.rename(attempt.job.spool_dir / f"removed-{file.name}")
        attempt.assert_nothing_is_lost(threads=4)


def test_a_tail_that_was_cut_off_is_named_and_costs_itself_alone(attempts: Attempts) -> None:
    for attempt in attempts():
        with Collector(attempt.job):
            victims = [attempt.start() for _ in range(2)]
            attempt.wait()
            end(*victims)
        written = total(attempt.assert_nothing_is_lost(threads=4), "write_bytes")
        (file,) = attempt.job.spool_dir.iterdir()
        whole = file.stat().st_size
        os.truncate(file, whole - random.Random(whole).randrange(1, whole // 3))
        try:
            before = attempt.job.profile(is_damaged=True)
        except UserError:  # it was short, and no process is left of it
            continue
        left = total(before, "write_bytes")
        # What is missing is named; what is damaged need not have held writes: it may be samples, or be there twice.
        assert left <= written
        assert before.damage or left == written
        ended = attempt.job.run(["cat", "/dev/null"], SLICEWISE_SLICE=SLICE)  # appends behind the cut
        assert ended.status == 0
        after = attempt.job.profile(is_damaged=True)
        assert after.processes.height == before.processes.height + 1
        assert total(after, "write_bytes") == left
        assert bool(after.damage) == bool(before.damage)


def test_the_clock_is_set(attempts: Attempts, apps: Apps) -> None:
    """By ten seconds, forth and back: no call is lost, and whoever reads it is told."""
    clock = apps.build("stepping_clock", "-shared", "-fPIC")
    for number, attempt in enumerate(attempts()):
        offset = attempt.job.folder / "offset"
        offset.write_bytes(struct.pack("<q", 0))
        step = (10, -10)[number % 2] * 10**9
        both = {"LD_PRELOAD": f"{LIBRARY}:{clock}", "CLOCK_OFFSET": str(offset)}
        with Collector(attempt.job, LD_PRELOAD=str(clock), CLOCK_OFFSET=str(offset)):
            lasting = [attempt.start(mode="steady", threads=1, seconds=1.0, **both) for _ in range(2)]
            attempt.wait()
            with offset.open("r+b") as file:
                file.write(struct.pack("<q", step))
            assert [process.wait() for process in lasting] == [0, 0]
            end(*lasting)
        profile = attempt.assert_nothing_is_lost(threads=0)
        mishaps = dict(profile.mishaps.group_by("mishap").agg(pl.col("count").sum()).iter_rows())
        assert mishaps.get("clock_stepped", 0) >= 1
        assert profile.node_slices["sampled_ns"].max() < LONGEST_WAIT_SECONDS * 10**9


def run_crowd(attempt: Attempt, apps: Apps, *, every: int, with_collector: bool = True) -> tuple[Profile, str]:
    """A thousand processes, of which every so many'th is killed: nothing of any is lost. Also what was said."""
    job, tally = attempt.job, attempt.job.folder / "tally"
    with Collector(job) if with_collector else contextlib.nullcontext():
        moment = round(attempt.moment * 1e6)
        ended = job.run([apps.build("crowd"), "1000", str(every), str(moment), tally, job.data])
        assert ended.status == 0, ended.errors
    children, writes, bytes_written, killed = CROWD.unpack_from(tally.read_bytes())
    assert job.recover(job.spool_dir).returncode == 0
    assert job.segments() == []
    profile = job.profile()
    crowd = profile.processes.filter(pl.col("program").str.contains("/crowd"))
    assert crowd.height == children + 1
    assert (crowd["ending"] == "killed").sum() == killed
    # Each that was killed may have had one call counted that it had not come to tell of.
    assert 0 <= total(profile, "write_ops", obj="file") - writes <= killed
    assert 0 <= total(profile, "write_bytes", obj="file") - bytes_written <= killed * 4096
    return profile, ended.errors


def test_a_thousand_processes_on_a_node(attempts: Attempts, apps: Apps) -> None:
    for attempt in attempts(REPEATS_OF_CROWDS):
        profile, said = run_crowd(attempt, apps, every=3)
        assert said == ""
        assert profile.nodes["cost_bytes"].max() < 16 << 20


@pytest.mark.parametrize("with_collector", [False, True])
def test_more_processes_than_fit_into_shared_memory(attempts: Attempts, apps: Apps, with_collector: bool) -> None:
    """64 MiB, most an MPI's, for a thousand that live for many slices: the rest finds room in TMPDIR, and says so."""
    for attempt in attempts(REPEATS_OF_CROWDS):
        job = attempt.job
        job.settings |= {"TMPDIR": str(job.folder), "SLICEWISE_SLICE": SLICE}
        with small_disk(job.segment_dir, 64 << 10):
            (job.segment_dir / "mpi").write_bytes(bytes(48 << 20))
            profile, _ = run_crowd(attempt, apps, every=5, with_collector=with_collector)
            assert set(profile.processes["place"]) == {"shm", "tmpdir"}


@pytest.mark.parametrize("with_collector", [False, True])
def test_shared_memory_fills_up_meanwhile(attempts: Attempts, with_collector: bool) -> None:
    """Others take all of it before the first slice is over: slices may be joined then, and nothing is lost."""
    for attempt in attempts(REPEATS_OF_CROWDS):
        with small_disk(attempt.job.segment_dir, 128 << 10):
            with Collector(attempt.job) if with_collector else contextlib.nullcontext():
                victims = [attempt.start(SLICEWISE_SLICE="0.5") for _ in range(2)]
                attempt.wait()
                fill(attempt.job.segment_dir / "filler")
                time.sleep(2)
                end(*victims)
            profile = attempt.assert_nothing_is_lost(threads=4)
            assert set(profile.processes["place"]) == {"shm"}


@pytest.mark.parametrize("way", ["missing", "read-only"])
def test_without_shared_memory(attempts: Attempts, way: str) -> None:
    """The file in TMPDIR takes its place, for the collector too."""
    for attempt in attempts():
        job = attempt.job
        job.settings["TMPDIR"] = str(job.folder)
        with contextlib.ExitStack() as stack:
            if way == "missing":
                job.settings["SLICEWISE_SEGMENT_DIR"] = str(job.folder / "nowhere")
            else:
                stack.enter_context(small_disk(job.segment_dir, 64))
                subprocess.run(["mount", "-o", "remount,ro", job.segment_dir], check=True)
                job.settings["SLICEWISE_SEGMENT_DIR"] = str(job.segment_dir)
            job.segment_dir = job.folder  # where they are to be found
            with Collector(job):
                victims = [attempt.start() for _ in range(2)]
                attempt.wait()
                end(*victims)
            profile = attempt.assert_nothing_is_lost(threads=4)
            assert set(profile.processes["place"]) == {"tmpdir"}


def test_one_collector_a_job_and_node(job: Job) -> None:
    with Collector(job):
        second = subprocess.run(
            [COLLECTOR, "node"], env=job.environment({"LD_PRELOAD": ""}), capture_output=True, text=True, check=False
        )
        assert (second.returncode, second.stderr) == (0, "")
        assert "already" in second.stdout
        other = job.environment({"LD_PRELOAD": "", "SLICEWISE_JOB": "other"})
        started = subprocess.run([COLLECTOR, "node", "--detach"], env=other, capture_output=True, check=True)
        assert started.stdout == b""
        subprocess.run([COLLECTOR, "stop"], env=other, check=True, timeout=LONGEST_WAIT_SECONDS)
    assert list(job.segment_dir.glob("slicewise-*/.node.*")) == []
    assert not job.spool_dir.exists()  # no process, no profile


def test_samples_of_a_node_without_processes(job: Job, apps: Apps) -> None:
    """As of a file server: they lie beside those of the node where the job runs."""
    assert job.run([apps.build("life_ending"), "exit"], SLICEWISE_SLICE=SLICE).status == 3
    (own,) = job.spool_dir.iterdir()
    own.rename(own.with_name("elsewhere.swz"))
    environment = job.environment({"LD_PRELOAD": "", "SLICEWISE_SLICE": SLICE})
    node = subprocess.Popen([COLLECTOR, "node", "--samples"], env=environment, stdout=subprocess.PIPE)
    wait_until(job.segments)
    time.sleep(0.5)
    node.terminate()
    node.communicate(timeout=LONGEST_WAIT_SECONDS)
    assert sorted(file.name for file in job.spool_dir.iterdir()) == sorted([own.name, "elsewhere.swz"])
    profile = job.profile()
    assert profile.processes.height == 1
    assert profile.nodes["host"].cast(pl.String).unique().to_list() == [os.uname().nodename]
    assert profile.node_slices["slice"].n_unique() >= 3
    assert job.segments() == []


def test_it_ends_with_its_parent(job: Job) -> None:
    parent = subprocess.Popen(["sleep", "600"])
    command = [COLLECTOR, "node", "--parent", str(parent.pid)]
    node = subprocess.Popen(command, env=job.environment({"LD_PRELOAD": ""}), stdout=subprocess.PIPE)
    wait_until(job.segments)
    end(parent)
    assert node.wait(timeout=LONGEST_WAIT_SECONDS) == 0
    node.communicate()
    assert job.segments() == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["node"], "no job is named"),
        (["node", "--parent", "999999999"], "cannot be watched"),
        (["node", "--user", "nobody-of-this-name"], "there is no such user"),
        (["node", "--frobnicate"], "usage"),
        (["live", "--every", "soon"], "usage"),
        (["recover", "one", "two"], "usage"),
    ],
)
def test_wrong_arguments(job: Job, arguments: list[str], said: str) -> None:
    environment = job.environment({"LD_PRELOAD": "", "SLICEWISE_JOB": "" if said == "no job is named" else "job"})
    done = subprocess.run([COLLECTOR, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_short_processes_leave_their_segments_to_the_collector(job: Job, apps: Apps) -> None:
    """A process that has seen the collector does not wait for the spool as it ends."""
    with Collector(job):
        process = job.start(
            [apps.build("tally", "-pthread"), "steady", "1", "0.5", job.folder / "tally", job.data, job.data],
            SLICEWISE_SLICE=SLICE,
        )
        wait_for(job.folder / "tally")
        assert process.wait() == 0
        process.communicate()
    assert job.segments() == []
    profile = job.profile()
    assert profile.processes["ending"].to_list() == ["exit"]
    assert_counts_tally(profile, read_tallies([job.folder / "tally"]), 0)


def test_root_acts_with_the_users_rights_alone(job: Job, apps: Apps) -> None:
    """A user's segment that names a place where only root may write: recovery for that user does not write there."""
    need("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root, to act for somebody else")
    place = job.segment_dir  # which everybody can reach
    place.chmod(0o755)
    for name in ("segments", "data", "profiles", "guarded"):
        (place / name).mkdir()
        (place / name).chmod(0o1777 if name != "guarded" else 0o700)
    shutil.copy(LIBRARY, place / "library")
    shutil.copy(apps.build("life_ending"), place / "program")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env"]
    settings = [f"LD_PRELOAD={place / 'library'}", f"SLICEWISE_SEGMENT_DIR={place / 'segments'}", "SLICEWISE_QUIET=1"]
    for directory in ("profiles", "guarded"):
        job.run_plainly(
            [*nobody, *settings, f"SLICEWISE_DIR={place / directory}", place / "program", "kill"], cwd=place / "data"
        )
    environment = job.environment({"LD_PRELOAD": "", "SLICEWISE_SEGMENT_DIR": str(place / "segments")})
    everybody = [COLLECTOR, "recover", "--all-users"]
    done = subprocess.run(everybody, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "belongs to another user" in done.stderr
    (made,) = (place / "profiles").glob("*/*.swz")
    assert made.stat().st_uid == 65534
    assert made.stat().st_mode & 0o777 == 0o600
    assert list((place / "guarded").iterdir()) == []
    assert read_profile(made).processes["ending"].to_list() == ["killed"]


def test_the_group_may_read_by_a_setting(job: Job, apps: Apps) -> None:
    job.run([apps.build("life_ending"), "kill"], SLICEWISE_GROUP="1")
    (segment,) = job.segments()
    assert (segment.stat().st_mode & 0o777, segment.parent.stat().st_mode & 0o777) == (0o640, 0o750)
    assert job.recover().returncode == 0
    (spool,) = job.spool_dir.iterdir()
    assert (spool.stat().st_mode & 0o777, job.spool_dir.stat().st_mode & 0o777) == (0o640, 0o750)


def test_links_in_the_way_are_not_followed(job: Job, apps: Apps) -> None:
    target = job.folder / "target"
    target.write_bytes(b"mine")
    job.spool_dir.mkdir()
    for way in ("symlink_to", "hardlink_to"):
        spool = job.spool_dir / f"{os.uname().nodename}.swz"
        getattr(spool, way)(target)
        assert job.run([apps.build("life_ending"), "exit"]).errors.startswith(f"slicewise: {spool}")
        spool.unlink()
    job.spool_dir.rmdir()
    (job.folder / "elsewhere").mkdir()
    job.spool_dir.symlink_to(job.folder / "elsewhere")
    assert job.run([apps.build("life_ending"), "exit"]).errors.startswith(f"slicewise: {job.spool_dir}")
    assert list((job.folder / "elsewhere").iterdir()) == []
    assert target.read_bytes() == b"mine"
    job.spool_dir.unlink()
    assert job.recover().returncode == 0
    assert job.profile().processes.height == 3
