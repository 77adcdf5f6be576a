"""Programs as they come: output, files and exit status are the same with the library, and it sees the kernel's bytes.

What libc reads for itself (its list of locale names, the name service's files, the headers of libraries that it opens)
is a few kilobytes a process, and no call of the program's. Where more than that goes by unseen, the program's entry
says how much, and why.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.programs import Ended, Job, need

LIBC_READ_BYTES = 6_000  # a process
SEEN_AT_LEAST = 0.995  # of the rest


@dataclass(frozen=True)
class Program:
    """A shell command line, in a directory of its own, that leaves the same files whenever it runs."""

    script: str
    needs: tuple[str, ...]
    status: int = 0
    unseen_read_bytes: int = 0
    unseen_written_bytes: int = 0


INPUT_BYTES = 228_894
MAKE_INPUT = "seq 1 40000 > input\n"

GIT = """
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
commit() { git -c user.name=a -c user.email=a@b -c gc.auto=0 commit -q -m "$1"; }
git init -q repo && cd repo && tee input < ../input > /dev/null && git add . && commit one
seq 9 > more && git add . && commit two
git fsck --full && git log --oneline && git archive HEAD | md5sum
rm .git/index
"""

TAR = """
mkdir from to && tee from/input < input > /dev/null
tar -cf archive.tar --mtime=@0 from && tar -xf archive.tar -C to && cat to/from/input | tail -n 1
"""

SQLITE = """
sqlite3 database '
    create table t (a, b);
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
        insert into t select i, hex(zeroblob(50)) from n;
    select count(*), sum(a) from t;
    vacuum;
    pragma integrity_check'
rm database
"""

PYTHON = f"""
cat > program.py << 'END'
import multiprocessing, subprocess, sys

def half(name):
    with open(name + ".half", "wb") as out, open(name, "rb") as file:
        out.write(file.read()[::2])
    return name

if __name__ == "__main__":
    for i in range(4):
        open(f"part{{i}}", "wb").write(bytes([i]) * 300_000)
    with multiprocessing.Pool(2) as pool:
        print(pool.map(half, [f"part{{i}}" for i in range(4)]))
    child = [sys.executable, "-S", "-c", "print(len(open('part0.half').read()))"]
    print(subprocess.run(child, capture_output=True).stdout)
END
{sys.executable} program.py
"""

GCC = """
echo '#include <stdio.h>' > program.c
echo 'int main(void) { return printf("%d", 6 * 7) != 2; }' >> program.c
gcc -O1 program.c -o program && ./program
"""

DD = """
dd if=/dev/zero of=out bs=64k count=100 conv=fsync status=none
dd if=out of=again bs=1M status=none && cmp out again
"""

PERL = """
perl -ne 'print $_ * 2, "\\n" if /7$/' input > out
perl -e 'open F, "<out"; print scalar(@{[<F>]}), "\\n"'
"""

FIO = """
fio --name=j --filename=f --rw=randrw --size=4m --bs=16k --ioengine=psync --randseed=1 --output=/dev/null && wc -c < f
rm f
"""

PROGRAMS = {
    "git": Program(MAKE_INPUT + GIT, ("git",)),
    "tar": Program(MAKE_INPUT + TAR, ("tar",)),
    "gzip": Program(MAKE_INPUT + "gzip -nc input > input.gz; gzip -dc input.gz | cmp - input", ("gzip",)),
    "sqlite3": Program(SQLITE, ("sqlite3",)),
    "python": Program(PYTHON, ()),
    "gcc": Program(GCC, ("gcc",)),
    "dd": Program(DD, ("dd",)),
    # cp moves data by copy_file_range where it can, which nobody wraps yet.
    "cp": Program(
        MAKE_INPUT + "cp input one && cp -r one two && mv one three && ls | sort",
        ("cp",),
        unseen_read_bytes=2 * INPUT_BYTES,
        unseen_written_bytes=2 * INPUT_BYTES,
    ),
    "sort": Program(MAKE_INPUT + "sort -rn -S 1M input -o sorted && uniq sorted | head -n 3", ("sort",)),
    "find": Program("mkdir -p a/b && touch a/b/c && find a -type f | xargs -n1 basename | tee list", ("find", "xargs")),
    "perl": Program(MAKE_INPUT + PERL, ("perl",)),
    "bash": Program(
        MAKE_INPUT + "while read -r n; do (( n % 9000 )) || echo $n >> some; done < input; cat some; (exit 9)",
        ("bash",),
        status=9,
    ),
    "awk": Program(MAKE_INPUT + "awk '{ s += $1 } END { print s > \"sum\" }' input; cat sum", ("awk",)),
    "fio": Program(FIO, ("fio",)),
    # error() prints from within libc.
    "failing": Program(
        "cat no-such-file; ls no-such-directory; exit 42", ("cat",), status=42, unseen_written_bytes=300
    ),
}


def files_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run_in_new_folder(job: Job, program: Program, *, is_profiled: bool) -> tuple[Ended, dict[str, str]]:
    """The same folder each time, for programs note where they are."""
    if job.data.exists():
        shutil.rmtree(job.data)
    work = job.data / "work"
    work.mkdir(parents=True)
    command = ["bash", "-c", program.script]
    ended = job.run(command, cwd=work) if is_profiled else job.run_plainly(command, cwd=work)
    return ended, files_below(work)


def assert_seen(profile: Profile, direction: str, unseen_bytes: int) -> None:
    """Our bytes against the kernel's, of processes that ended so that its last count is in."""
    ended = profile.processes.filter(pl.col("ending") != "killed").select("process")
    rows = profile.slices.join(ended, on="process")
    kernel = rows.filter(pl.col("layer") == "kernel")[f"{direction}_bytes"].sum()
    posix = rows.filter(pl.col("layer") == "posix")[f"{direction}_bytes"].sum()
    stdio = rows.filter(pl.col("layer") == "stdio")[f"kernel_{direction}_bytes"].sum()
    expected = kernel - unseen_bytes - (LIBC_READ_BYTES * ended.height if direction == "read" else 0)
    assert posix + stdio >= expected * SEEN_AT_LEAST, direction
    if "kernel_count_partial" not in profile.mishaps["mishap"]:
        assert posix + stdio <= kernel, direction


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(job: Job, name: str) -> None:
    program = PROGRAMS[name]
    need("bash", *program.needs)
    plain, plain_files = run_in_new_folder(job, program, is_profiled=False)
    profiled, profiled_files = run_in_new_folder(job, program, is_profiled=True)
    assert plain.status == program.status, plain.errors
    assert (profiled.status, profiled.output) == (plain.status, plain.output)
    assert without_process_ids(profiled.errors) == without_process_ids(plain.errors)
    assert profiled_files == plain_files
    assert job.recover(job.spool_dir).returncode == 0  # whoever wrote to a pipe that nobody reads any more is killed
    assert job.segments() == []
    profile = job.profile()
    assert_seen(profile, "read", program.unseen_read_bytes)
    assert_seen(profile, "write", program.unseen_written_bytes)


def without_process_ids(text: str) -> str:
    return re.sub(r"\b\d{2,}\b", "N", text)
