"""Which files were written past the page cache: by the flags that they are open with, however these were given."""

import pytest
from support.programs import Job, need

PYTHON = "/usr/bin/python3"
SET_LATER = "import fcntl, os; f = os.open('out', os.O_CREAT | os.O_WRONLY); {}; os.write(f, bytes(1 << 20))"


@pytest.mark.parametrize(
    ("command", "past"),
    [
        (["dd", "if=/dev/zero", "of=out", "bs=64k", "count=16"], False),
        (["dd", "if=/dev/zero", "of=out", "bs=64k", "count=16", "oflag=dsync"], True),
        (["dd", "if=/dev/zero", "of=out", "bs=64k", "count=16", "oflag=sync"], True),
        # A log of little beside it is open as usual.
        (["sh", "-c", "echo begin > log; dd if=/dev/zero of=out bs=64k count=16 oflag=dsync; echo end > log"], True),
        ([PYTHON, "-c", SET_LATER.format("os.set_inheritable(f, True)")], False),
        ([PYTHON, "-c", SET_LATER.format("g = os.open('g', os.O_CREAT | os.O_SYNC)")], False),
        ([PYTHON, "-c", SET_LATER.format("f = os.open('/proc/self/fd/%d' % f, os.O_WRONLY | os.O_DSYNC)")], True),
    ],
    ids=["dd", "dsync", "sync", "beside a log", "python", "another file's", "opened again"],
)
def test_files_that_are_open_past_the_cache_are_marked(job: Job, command: list[str], past: bool) -> None:
    need("dd")
    assert job.run(command, cwd=job.data).status == 0
    files = job.profile().files
    (out,) = files.filter(files["write_bytes"] == 1 << 20).iter_rows(named=True)
    assert (out["past_cache"] > 0) == past
    others = files.filter(files["write_bytes"] < 1 << 20)
    assert others["past_cache"].sum() == 0


def test_a_flag_that_is_set_later_counts(job: Job) -> None:
    """O_DIRECT, which fcntl can set, where the file system takes it."""
    set_it = "fcntl.fcntl(f, fcntl.F_SETFL, os.O_DIRECT)"
    aligned = SET_LATER.replace("bytes(1 << 20)", "mmap.mmap(-1, 1 << 20)").replace("import ", "import mmap, ")
    if job.run_plainly([PYTHON, "-c", aligned.format(set_it)], cwd=job.data).status != 0:
        pytest.skip("this file system takes no O_DIRECT")
    assert job.run([PYTHON, "-c", aligned.format(set_it)], cwd=job.data).status == 0
    (past,) = job.profile().files.filter(job.profile().files["write_bytes"] == 1 << 20)["past_cache"]
    assert past > 0


VECTORED = "import os; f = os.open('out', os.O_CREAT | os.O_WRONLY); {}"
COMMIT = "[os.pwritev(f, [bytes(1 << 18)], i << 18, {}) for i in range(4)]"


@pytest.mark.parametrize(
    ("writes", "past"),
    [
        (COMMIT.format("os.RWF_DSYNC"), 2),
        (COMMIT.format("os.RWF_SYNC"), 2),
        (COMMIT.format("0"), 0),
        # One commit among cached writes makes no file one of synchronous writes.
        (COMMIT.format("os.RWF_DSYNC * (i == 3)"), 0),
        # By its number: 328 is pwritev2.
        (
            "import ctypes as c; b = c.create_string_buffer(1 << 20); v = (c.c_size_t * 2)(c.addressof(b), 1 << 20); "
            "c.CDLL(None).syscall(c.c_long(328 if os.uname().machine == 'x86_64' else 287), f, v, 1, c.c_long(0), "
            "c.c_long(0), 2)",
            2,
        ),
    ],
    ids=["dsync", "sync", "cached", "one commit", "by number"],
)
def test_calls_that_ask_to_be_synchronous_count(job: Job, writes: str, past: int) -> None:
    assert job.run([PYTHON, "-c", VECTORED.format(writes)], cwd=job.data).status == 0
    (out,) = job.profile().files.filter(job.profile().files["write_bytes"] == 1 << 20)["past_cache"]
    assert out == past


def test_a_file_that_is_made_anew_keeps_its_mark(job: Job) -> None:
    """Each is another file of the same name: their rows become one."""
    again = "f = os.open('out', os.O_CREAT | os.O_WRONLY | os.O_DSYNC); os.write(f, bytes(1 << 18)); "
    replaced = again + "g = os.dup(f); os.unlink('out'); "
    assert job.run([PYTHON, "-c", "import os; " + replaced * 3 + again], cwd=job.data).status == 0
    (out,) = job.profile().files.filter(job.profile().files["write_bytes"] == 1 << 20)["past_cache"]
    assert out == 2
