"""stress-ng's I/O stressors, a fixed amount of work each: what strace saw of them is what was counted."""

import pytest
from slicewise.profile.reader import Profile
from support.programs import Job, need, total
from support.witness import Witnessed, differences, unexplained, witness

# What a group's stressors do beyond what can be seen, or named otherwise: by how much strace has more.
SYSLOG = {"close": 3}  # libc's, at the beginning and at the end: of its socket
GROUPS = {
    "data": (
        "--hdd 1 --hdd-ops 20 --hdd-bytes 4m --seek 1 --seek-ops 20 --seek-size 1m --readahead 1 --readahead-ops 20"
        " --readahead-bytes 2m --sync-file 1 --sync-file-ops 4 --sync-file-bytes 1m --revio 1 --revio-ops 20"
        " --revio-bytes 2m --fallocate 1 --fallocate-ops 4 --fallocate-bytes 1m --fiemap 1 --fiemap-ops 20"
        " --fiemap-bytes 1m --io 1 --io-ops 2",
        {},
    ),
    "copies": (
        "--splice 1 --splice-ops 20 --splice-bytes 64k --tee 1 --tee-ops 20 --sendfile 1 --sendfile-ops 20"
        " --sendfile-size 64k --vm-splice 1 --vm-splice-ops 20 --vm-splice-bytes 64k",
        # strace does not tell that a vmsplice is of a pipe's reading end.
        {"pipe read bytes": -20 * 4096, "pipe write bytes": 20 * 4096},
    ),
    "names": (
        "--dir 1 --dir-ops 20 --dir-dirs 64 --dirdeep 1 --dirdeep-ops 20 --dirdeep-dirs 2 --dirdeep-inodes 64"
        " --dentry 1 --dentry-ops 20 --dentries 32 --rename 1 --rename-ops 20 --utime 1 --utime-ops 20 --chmod 1"
        " --chmod-ops 4 --chown 1 --chown-ops 20 --open 1 --open-ops 50 --open-max 64 --xattr 1 --xattr-ops 1"
        " --file-ioctl 1 --file-ioctl-ops 20 --fcntl 1 --fcntl-ops 20 --fstat 1 --fstat-ops 1 --touch 1 --touch-ops 20",
        {"utime": -20},  # libc refuses a name that is none, and asks nobody
    ),
    "mixed": ("--iomix 1 --iomix-ops 20 --iomix-bytes 4m", {}),
    "locks": ("--flock 1 --flock-ops 20 --lockf 1 --lockf-ops 20 --locka 1 --locka-ops 20", {}),
    "requests": ("--aiol 1 --aiol-ops 20 --io-uring 1 --io-uring-ops 20 --msync 1 --msync-ops 20 --msync-bytes 1m", {}),
}


# strace ends, and all with it, where a process is killed just as it is stopped. strace says so; another try may do.
STRACE_LOST_ONE = "strace: ptrace("
TRIES = 3


def stress(given: Job, stressors: str) -> tuple[Profile, Witnessed]:
    need("stress-ng")
    command = ["stress-ng", "--temp-path", ".", *stressors.split()]
    for number in range(TRIES):
        folder, segments = given.folder / str(number), given.segment_dir / str(number)
        folder.mkdir()
        segments.mkdir()  # its own: a try that strace ended may still be dying when it is recovered
        job = Job(folder, segments)
        seen = witness(job, command, cwd=job.data, SLICEWISE_SLICE="0.1")
        if STRACE_LOST_ONE not in seen.ended.errors:
            break
    assert seen.ended.status == 0, seen.ended.errors
    assert list(job.data.iterdir()) == []
    assert job.recover(job.spool_dir).returncode == 0
    assert job.segments() == []
    profile = job.profile(is_damaged=True)
    # Stressors kill their children. The kernel then ends a write to the spool after any page; it is written again.
    assert all(one.kind == "damaged" and not one.lost_frames for one in profile.damage), profile.damage
    return profile, seen


@pytest.mark.parametrize("group", GROUPS)
def test_strace_saw_the_same(job: Job, group: str) -> None:
    stressors, gaps = GROUPS[group]
    profile, seen = stress(job, stressors)
    assert unexplained(profile, seen, SYSLOG | gaps) == {}


def test_requests_that_nobody_asks_about(job: Job) -> None:
    """The stressor leaves some of its requests to themselves: they are named, and there are no others."""
    profile, seen = stress(job, "--aio 1 --aio-ops 40")
    missing = differences(profile, seen)
    requests = sum(missing.pop(name, 0) for name in ("file read calls", "file write calls", "fsync", "fdatasync"))
    unclaimed = profile.mishaps.filter(mishap="requests_unclaimed")["count"].sum()
    assert 0 <= requests <= unclaimed <= 16
    assert missing.keys() - {"pread", "pwrite", "file read bytes", "file write bytes"} == SYSLOG.keys()
    assert total(profile, "write_ops", layers=["async"]) > 0
