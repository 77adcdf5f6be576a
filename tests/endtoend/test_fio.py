"""fio, engine by engine: calls and bytes as fio reports them, or the gap is named."""

import json

import pytest
import slicewise
from slicewise.analysis.overlap.overlap import overlap
from slicewise.profile.reader import Profile
from support.programs import TIMEOUT_SECONDS, Job, calls, need, total
from support.witness import PAST_LIBC, unexplained, witness

CALLS = ("sync", "psync", "vsync", "pvsync", "pvsync2")
REQUESTS = {"libaio": ("libaio_read", "libaio_write"), "posixaio": ("aio_read", "aio_write")}
ALL = (*CALLS, *REQUESTS, "mmap", "io_uring")
# libpmem, which fio is linked with, walks a directory with libc's fts at its start.
GAPS = {"open": 1, "close": 1, "stat": 1}
MOST_OF_LOADER = 1 << 20
SIZE, BLOCK = 4 << 20, 16 << 10
# Of the six that two writers take who begin together.
LEAST_SECONDS_TOGETHER = 3


def command_of(job: Job, engine: str) -> list[str]:
    return [
        "fio", "--name=test", f"--directory={job.data}", f"--size={SIZE}", f"--bs={BLOCK}", "--rw=readwrite",
        "--iodepth=8", f"--ioengine={engine}", "--output-format=json", "--end_fsync=1",
    ]  # fmt: skip


def run_fio(job: Job, engine: str) -> tuple[Profile, dict[str, dict[str, int]]]:
    """fio's profile and, by direction, what fio says that it did (`io_bytes`, `total_ios`)."""
    need("fio")
    ended = job.run(command_of(job, engine))
    assert ended.status == 0, ended.errors
    output = ended.output.decode()
    if "Operation not permitted" in output + ended.errors:
        pytest.skip(f"the kernel forbids {engine}")
    told = json.loads(output[output.index("{") :])["jobs"][0]
    assert told["error"] == 0
    return job.profile(), {direction: told[direction] for direction in ("read", "write")}


@pytest.mark.parametrize("engine", CALLS)
def test_engines_of_calls(job: Job, engine: str) -> None:
    """What the kernel counted is what was seen, but for what the loader reads for itself."""
    profile, told = run_fio(job, engine)
    unseen = {
        way: total(profile, f"{way}_bytes", layers=["kernel"])
        - total(profile, f"{way}_bytes")
        - total(profile, f"kernel_{way}_bytes", layers=["stdio"])
        for way in ("read", "write")
    }
    assert unseen["write"] == 0
    assert 0 <= unseen["read"] < MOST_OF_LOADER
    assert total(profile, "write_bytes", obj="file") >= told["write"]["io_bytes"]
    assert "async" not in profile.slices["layer"].to_list()


@pytest.mark.parametrize("engine", REQUESTS)
def test_engines_of_requests(job: Job, engine: str) -> None:
    profile, told = run_fio(job, engine)
    for way, name in zip(("read", "write"), REQUESTS[engine], strict=True):
        assert total(profile, f"{way}_bytes", layers=["async"], obj="file") == told[way]["io_bytes"]
        assert total(profile, f"{way}_ops", layers=["async"], obj="file") == told[way]["total_ios"]
        assert calls(profile)[name] == told[way]["total_ios"]
    assert profile.mishaps.is_empty()


def test_io_uring_is_known_by_number(job: Job) -> None:
    """fio enters the kernel by instructions of its own: the ring tells how many requests it made, not their bytes."""
    profile, told = run_fio(job, "io_uring")
    mishaps = dict(profile.mishaps.select("mishap", "count").iter_rows())
    assert mishaps["uring_used"] == 1
    the_last_sync = 1
    assert mishaps["uring_unseen"] == told["read"]["total_ios"] + told["write"]["total_ios"] + the_last_sync
    assert total(profile, "write_bytes", layers=["async"]) == 0


def test_mmap_is_known_by_its_mappings(job: Job) -> None:
    profile, _ = run_fio(job, "mmap")
    assert total(profile, "mapped_bytes", obj="file") == SIZE
    assert total(profile, "sync_ops", obj="file") >= 1


@pytest.mark.parametrize("engine", ALL)
def test_strace_saw_the_same(job: Job, engine: str) -> None:
    need("fio")
    seen = witness(job, command_of(job, engine), cwd=job.data)
    assert seen.ended.status == 0, seen.ended.errors
    assert unexplained(job.profile(), seen, GAPS) == {}
    past_libc = {call.name for call in seen.by[PAST_LIBC].calls}
    assert past_libc == ({"io_uring_enter"} if engine == "io_uring" else set())


def test_a_log_beside_a_worker_changes_no_overlap(job: Job) -> None:
    """Each fio is a parent that writes what it says to a file on the same disk, one of them twice a second, and a
    worker that does the I/O. Both workers write at one rate, so the jobs stand 1 to 1 in all respects.
    """
    need("fio")
    running = []
    for name, says in (("chatty", "--status-interval=500ms"), ("quiet", "--eta=never")):
        command = (
            f"exec fio --name={name} --directory={job.data} --size=48m --bs=64k --rw=write --ioengine=psync "
            f"--rate=8m --end_fsync=1 {says} > {job.data}/{name}.log"
        )
        running.append(job.start(["sh", "-c", command], SLICEWISE_JOB=name, SLICEWISE_SLICE="0.5"))
    for process in running:
        _, errors = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 0, errors.decode()
    assert (job.data / "chatty.log").stat().st_size > 1000
    found = overlap([slicewise.read(job.folder / name) for name in ("chatty", "quiet")])
    wrote = found.directions["write"]
    assert found.main_direction == "write"
    assert [(one.processes, one.bytes) for one in wrote.jobs] == [(1, 48 << 20)] * 2
    assert wrote.basis is not None
    assert wrote.basis.kind == "every process"
    assert wrote.basis.seconds >= LEAST_SECONDS_TOGETHER
    assert wrote.ratio is not None
    assert (wrote.ratio.processes, wrote.ratio.nodes) == (1, 1)
    assert wrote.ratio.region == pytest.approx(1, abs=0.25)
    assert wrote.ratio.overall == pytest.approx(1, abs=0.25)
