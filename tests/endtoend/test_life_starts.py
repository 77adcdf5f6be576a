"""Processes that begin and end in rarer ways: cleaned environments, clone, daemons, workers, other users, crowds."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.coverage import coverage, unprofiled_programs
from slicewise.digest.digest import Digest
from slicewise.profile.reader import Profile, read_profile
from support.programs import APPS, LIBRARY, SHARED_MEMORY, Apps, Job, calls, need, total

EXECS = ("execve", "execvpe", "execle", "fexecve", "execveat", "execv", "execvp", "execl", "execlp")
SPAWNS = ("posix_spawn", "posix_spawnp")
NOBODY = 65534


def written(profile: Profile) -> list[tuple[str, int]]:
    """How each process ended and what it wrote by POSIX calls, in the order of bytes."""
    by_process = profile.slices.filter(pl.col("layer") == "posix").group_by("process").agg(pl.col("write_bytes").sum())
    rows = profile.processes.join(by_process, on="process", how="left").sort("write_bytes", nulls_last=False)
    return rows.select("ending", "write_bytes").rows()


@pytest.mark.parametrize("environment", ["kept", "none"])
@pytest.mark.parametrize("way", EXECS + SPAWNS)
def test_kept_and_cleaned_environment(job: Job, apps: Apps, way: str, environment: str) -> None:
    ended = job.run([apps.build("life_start"), way, environment])
    assert (ended.status, ended.errors) == (7, "")
    profile = job.profile()
    assert written(profile) == [("exec" if way in EXECS else "exit", 100), ("exit", 200)]
    assert profile.processes["pid"].n_unique() == (1 if way in EXECS else 2)
    assert job.segments() == []


def test_exec_that_fails(job: Job, apps: Apps) -> None:
    assert job.run([apps.build("life_start"), "nowhere", "kept"]).status == 7
    profile = job.profile()
    assert written(profile) == [("exit", 150)]
    assert calls(profile)["exec"] == 1


@pytest.mark.parametrize("way", ["execve", "posix_spawn"])
def test_environment_with_other_libraries_to_preload(job: Job, apps: Apps, way: str) -> None:
    other = apps.build("life_plug_in", "-DPLUG_IN", "-shared", "-fPIC")
    ended = job.run([apps.build("life_start"), way, "other", other])
    assert (ended.status, ended.errors) == (7, "")
    profile = job.profile()
    assert total(profile, "write_bytes") == 100 + 200 + 200  # the other library's destructor writes as well
    assert (job.data / "plug_in").stat().st_size == 200


@pytest.mark.parametrize(("environment", "settings"), [("refused", {}), ("none", {"SLICEWISE_CARRY": "0"})])
@pytest.mark.parametrize("way", ["execve", "posix_spawn"])
def test_not_carried_where_it_cannot_be_or_may_not(
    job: Job, apps: Apps, way: str, environment: str, settings: dict[str, str]
) -> None:
    assert job.run([apps.build("life_start"), way, environment], **settings).status == 7
    job.recover(job.spool_dir)
    assert [bytes_written for _, bytes_written in written(job.profile())] == [100]


@pytest.mark.parametrize("way", ["kept", "none", "other"])
def test_commands_by_the_shell(job: Job, apps: Apps, way: str) -> None:
    """What system and popen run is profiled in an emptied environment too, and does what it would do without us."""
    other = apps.build("life_plug_in", "-DPLUG_IN", "-shared", "-fPIC")
    job.must_run([apps.build("life_commands"), way, other])
    assert (job.data / "said").read_text() == (job.data / "copy").read_text() == "it's sh\n"
    assert (job.data / "taken").read_text() == "given"
    job.recover(job.spool_dir)
    profile = job.profile()
    assert calls(profile)["system"] == 2
    assert calls(profile)["popen"] == 2
    moved = profile.files.group_by(pl.col("path").str.split("/").list.last()).agg(pl.col("write_bytes").sum())
    assert dict(moved.filter(pl.col("path").is_in(["said", "copy", "taken"])).iter_rows()) == {
        "said": 8, "copy": 8, "taken": 5,
    }  # fmt: skip


def test_commands_are_left_alone_if_told_to(job: Job, apps: Apps) -> None:
    assert job.run([apps.build("life_commands"), "none"], SLICEWISE_CARRY="0").status == 0
    profile = job.profile()
    assert profile.processes.height == 1


def test_env_i(job: Job) -> None:
    """The everyday case: a shell's `env -i`; and the job is still the one that the first process named."""
    script = "env -i PATH=$PATH sh -c 'echo inner > inner; env -i cat inner > copy'"
    job.must_run(["sh", "-c", script], SLICEWISE_JOB="")
    (spool_dir,) = [path for path in job.folder.iterdir() if path.name.startswith("dash-")]
    job.spool_dir = spool_dir
    profile = job.profile()
    assert "cat" in profile.processes["program"].str.split("/").list.last().to_list()
    assert job.segments() == []


def test_clone(job: Job, apps: Apps) -> None:
    profile = job.profiled([apps.build("life_clone")])
    assert written(profile) == [
        ("underscore_exit", 20), ("underscore_exit", 50), ("underscore_exit", 300), ("exit", 1 + 2 + 4000),
    ]  # fmt: skip
    assert calls(profile)["clone"] == 4
    assert job.segments() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its root directory")
def test_child_with_zeroed_thread_local_storage(job: Job, apps: Apps) -> None:
    """It does what it would do without us, uncounted, and its parent is counted as ever."""
    ended = job.run([apps.build("life_zeroed")])
    assert (ended.status, ended.errors) == (7, "")
    profile = job.profile()
    assert written(profile) == [("exit", 200)]
    assert profile.mishaps.is_empty()
    assert job.segments() == []


@pytest.mark.parametrize("is_kept", [0, 1])
def test_daemon(job: Job, apps: Apps, is_kept: int) -> None:
    fifo = job.folder / "fifo"
    os.mkfifo(fifo)
    process = job.start([apps.build("life_daemon"), fifo, str(is_kept)])
    _, errors = process.communicate(timeout=60) if not is_kept else (b"", b"")
    with fifo.open("rb") as done:  # opened once the daemon has written, at its end once it is gone
        assert done.read() == b""
    process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, b"")
    assert written(job.profile()) == [("underscore_exit", 5), ("exit", 30)]
    assert job.segments() == []


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(job: Job, method: str) -> None:
    job.must_run([sys.executable, APPS / "life_workers.py", method])
    job.recover(job.spool_dir)
    profile = job.profile()
    by_file = (
        profile.files.filter(pl.col("path").str.contains("/worker")).group_by("path").agg(pl.col("write_bytes").sum())
    )
    sizes = {Path(path).name: size for path, size in by_file.iter_rows()}
    assert sizes == {f"worker{number}": 1000 * number for number in range(1, 6)}
    assert profile.processes["ending"].is_in(["exit", "underscore_exit", "exec"]).all()


@pytest.mark.parametrize("way", ["deep", "apart", "both"])
def test_library_bound_apart(job: Job, apps: Apps, way: str) -> None:
    plug_in = apps.build("life_plug_in", "-DPLUG_IN", "-shared", "-fPIC")
    profile = job.profiled([apps.build("life_apart"), plug_in, way])
    assert total(profile, "write_bytes", obj="file") == 3000
    assert total(profile, "write_bytes", layers=["kernel"]) == 3000 + 10 + 200  # the witness
    assert profile.mishaps.select("mishap", "count").rows() == [("bound_apart", 1)]
    (gap,) = [gap for gap in coverage(Digest(profile)).gaps if gap.direction == "write"]
    assert (gap.cause, gap.bytes) == ("bound_apart", 210)
    assert job.segments() == []


@pytest.mark.parametrize("search", ["", "$ORIGIN/"])
def test_library_beside_the_program(job: Job, apps: Apps, search: str) -> None:
    """The loader looks for it from where the program lies that opens it, whoever stands in front of dlopen."""
    plug_in = apps.build("life_plug_in", "-DPLUG_IN", "-shared", "-fPIC")
    program = apps.build("life_apart", "-Wl,--enable-new-dtags,-rpath,$ORIGIN")
    assert plug_in.parent == program.parent
    profile = job.profiled([program, search + plug_in.name, "near"])
    assert total(profile, "write_bytes", obj="file") == 3000 + 10 + 200
    assert calls(profile)["dlopen"] == 2
    assert profile.mishaps.is_empty()


@pytest.fixture
def open_job() -> Iterator[Job]:
    """A job whose places every user can reach and write to (those of pytest are its user's alone)."""
    with (
        tempfile.TemporaryDirectory(prefix="slicewise-test-") as folder,
        tempfile.TemporaryDirectory(prefix="slicewise-test-", dir=SHARED_MEMORY) as segments,
    ):
        job = Job(Path(folder), Path(segments))
        for place in (job.folder, job.data, job.segment_dir):
            place.chmod(0o1777)
        yield job


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that runs as another user")
def test_setuid_program(open_job: Job, apps: Apps) -> None:
    """The loader refuses to preload us into it: it runs as if we were not there, and whoever started it is profiled."""
    need("setpriv")
    job = open_job
    library = job.folder / LIBRARY.name
    shutil.copy(LIBRARY, library)
    job.settings["LD_PRELOAD"] = str(library)
    program = job.data / "life_start"
    shutil.copy(apps.build("life_start"), program)
    program.chmod(0o4755)
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    ended = job.run([*user, "sh", "-c", f"{program} after; echo status $?"])
    assert (ended.status, ended.output, ended.errors) == (0, b"status 7\n", "")
    profile = job.profile()
    assert (job.data / "start").stat().st_size == 200
    assert total(profile, "write_bytes", obj="file") == 0
    assert "life_start" not in profile.processes["program"].str.split("/").list.last().to_list()
    # setpriv began as root, who does not write into another user's profile: what it left has one of its own
    refused = job.recover()
    assert refused.returncode == 1
    assert "belongs to another user" in refused.stderr
    assert len(job.segments()) == 1
    job.must_recover("--into", job.folder / "roots")
    (program,) = read_profile(job.folder / "roots" / "job").processes["program"]
    assert Path(program).name == "setpriv"
    assert job.segments() == []


def test_a_build_of_many_short_programs(job: Job) -> None:
    """make, its shells, and what they begin: what did I/O is there once, as the program that it became; what did
    nothing is not there.
    """
    targets = [f"t{number}" for number in range(60)]
    rules = (
        f"all: {' '.join(targets)}\n{' '.join(targets)}:\n\t@/bin/true; /bin/true && /bin/echo $@ > $@; test -s $@\n"
    )
    (job.data / "Makefile").write_text(rules)
    profile = job.profiled(["make", "-s", "-j8"])
    ends = profile.processes.select(pl.col("program").str.split("/").list.last(), "ending").rows()
    assert (ends.count(("true", "exit")), ends.count(("echo", "exit")), ends.count(("make", "exit"))) == (0, 60, 1)
    moved = total(profile, "kernel_write_bytes", layers=["stdio"], obj="file")  # echo ends lines in line
    assert moved == sum(len(f"{name}\n") for name in targets)
    assert profile.mishaps.is_empty()
    assert unprofiled_programs(Digest(profile)) == []
    assert job.segments() == []


def test_no_descriptor_is_left_open(job: Job) -> None:
    """What a program sees of its own descriptors is what it would see without us."""
    listing = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    plain = job.run_plainly([sys.executable, "-c", listing])
    profiled = job.run([sys.executable, "-c", listing])
    assert (profiled.status, profiled.output) == (0, plain.output)


def test_library_is_carried_once(job: Job) -> None:
    """However long the chain of cleaned environments, the list of libraries does not grow."""
    ended = job.run(["env", "-i", "env", "-i", "env"])
    assert ended.status == 0
    lines = ended.output.decode().splitlines()
    assert [line for line in lines if line.startswith("LD_PRELOAD=")] == [f"LD_PRELOAD={LIBRARY}"]
    assert len(lines) == len({line.split("=")[0] for line in lines})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_program_that_becomes_another_user(open_job: Job) -> None:
    """It began as root, and its segment and directory are root's: what it did afterwards is counted too."""
    job = open_job
    program = f"import os; os.setgid({NOBODY}); os.setuid({NOBODY}); open('file', 'wb', 0).write(bytes(123))"
    ended = job.run(["/usr/bin/python3", "-c", program])
    assert ended.status == 0
    job.recover(job.spool_dir)
    assert total(job.profile(), "write_bytes", obj="file") == 123
    assert job.segments() == []


def test_handlers_at_fork(job: Job, apps: Apps) -> None:
    job.must_run([apps.build("life_at_fork")])
    assert written(job.profile()) == [("exit", 1), ("exit", 20 + 300)]
    assert job.segments() == []


def test_a_file_that_was_made_but_is_empty(job: Job) -> None:
    """As whoever was killed between making it and writing the schema leaves it."""
    job.spool_dir.mkdir(mode=0o700)
    (job.spool_dir / f"{os.uname().nodename}.swz").touch(0o600)
    assert job.run(["/bin/cat", "/dev/null"]).status == 0
    assert job.profile().processes.height == 1
