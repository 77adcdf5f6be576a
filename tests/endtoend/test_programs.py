"""Programs as they come: output, files and exit status are the same with the library, and strace sees what it sees.

Calls and bytes are strace's of the same run. Where they are not, the program's entry names the gap: by how much strace
has more, and why. Some is libc's own, and the same everywhere (support/witness.py).
"""

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile
from support.oracle import READS, WRITES
from support.programs import Ended, Job, need
from support.witness import LIBC, LOADER, unexplained, witness

LIBC_READ_BYTES = 6_000  # a process: its list of locale names, the name service's files, the headers of libraries
SEEN_AT_LEAST = 0.995  # of the rest
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Program:
    """A shell command line, in a directory of its own, that leaves the same files whenever it runs.

    read_by_stdio, written_by_stdio: files whose calls underneath stdio nobody counts; gaps: by how much strace's
    numbers are more than the profile's.
    """

    script: str
    needs: tuple[str, ...]
    modules: str = ""
    status: int = 0
    read_by_stdio: str = ""
    written_by_stdio: str = "/scene/input$"
    gaps: dict[str, int] = field(default_factory=dict)
    unseen_read_bytes: int = 0
    unseen_written_bytes: int = 0


MAKE_INPUT = "seq 1 40000 > input\n"

GIT = """
export GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z GIT_CONFIG_NOSYSTEM=1 HOME=$PWD
git init -q repo && cd repo && git config pack.threads 1 && git config gc.auto 0
seq 150 | split -l 1 -a 3 - f
git add . && git -c user.name=a -c user.email=a@b commit -q -m one
seq 9 > more && git add . && git -c user.name=a -c user.email=a@b commit -q -m two
git gc -q && git fsck --full && git log --oneline && git archive HEAD | md5sum && git count-objects -v
rm .git/index
"""
GIT_STREAMS = r"/\.git/(COMMIT_EDITMSG|HEAD\.lock|packed-refs\.new|(objects/)?info/\w+_\w{6})$|/scene/repo/more$"

TAR = """
mkdir from to && tee from/input < input > /dev/null
tar -cf archive.tar --mtime=@0 from && tar -xf archive.tar -C to && cat to/from/input | tail -n 1
"""

ZSTD = """
mkdir from to && for i in 1 2 3; do seq $i 100000 > from/$i; done
zstd -q -T2 -3 input -o input.zst && zstd -dq input.zst -o output
tar -c --mtime=@0 from | zstd -q -T2 > from.tar.zst
zstd -dc from.tar.zst | tar -x -C to && tar -I zstd -cf again.tar.zst --mtime=@0 from
"""

RSYNC = """
mkdir -p from/deep && for i in 1 2 3; do seq $i 20000 > from/deep/$i; done && ln -s 1 from/deep/link
rsync -a from/ to/ && seq 9 >> from/deep/2 && rsync -a --no-whole-file --inplace from/ to/
rm from/deep/3 && rsync -a --delete --checksum --stats from/ to/ | grep -c 'Number of' && ls to/deep
"""

SQLITE = """
sqlite3 database '
    pragma journal_mode=wal;
    create table t (a, b);
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 5000)
        insert into t select i, hex(zeroblob(50)) from n;
    select count(*), sum(a) from t;
    pragma wal_checkpoint;
    vacuum;
    pragma integrity_check'
sqlite3 other 'create table t (a); insert into t values (1); begin; insert into t select a + 1 from t; rollback;
    select sum(a) from t; pragma mmap_size=1000000; select count(*) from t'
rm database other
"""

DD = """
dd if=/dev/zero of=a bs=64k count=10 oflag=direct conv=fsync status=none
dd if=a of=b bs=4k iflag=direct,fullblock oflag=sync,append conv=notrunc,fdatasync status=none
dd if=a of=c bs=1k count=100 skip=5 seek=7 conv=sparse,ucase status=none
dd if=a of=d bs=16k oflag=dsync iflag=nocache status=none
dd if=/dev/zero count=5 bs=1000 status=none | dd of=e iflag=fullblock obs=2k ibs=512 status=none
dd if=a ibs=1 count=1000 of=f obs=100 status=none
dd if=a of=g bs=1M status=none && cmp a g
"""

# The part of the load that is taken closes what it opens: it is repeated, and a client has a table of its open files.
DBENCH = r"""
head -n 1500 /usr/share/dbench/client.txt |
    awk '/NTCreateX/ && !/_OK/ { next }  # it succeeds in a second round, and nothing closes it
        { print; time = $1 ~ /^[0-9]/ ? $1 " " : "" }  # in some versions each line has one
        /NTCreateX/ { open[$(NF - 1)]++ } /Close/ { open[$(NF - 1)]-- }
        END { for (handle in open) while (open[handle]-- > 0) print time "Close", handle, "NT_STATUS_OK" }' > load
dbench --timelimit 1 --loadfile load --directory . 2 > /dev/null
"""

PYTHON_COPIES = f"""
cat > program.py << 'END'
import mmap, multiprocessing, os, shutil, subprocess, sys

def half(name):
    with open(name + ".half", "wb") as out, open(name, "rb") as file:
        out.write(file.read()[::2])
    return name

if __name__ == "__main__":
    for i in range(4):
        open(f"part{{i}}", "wb").write(bytes([i]) * 300_000)
    for method in "fork", "spawn":
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(half, [f"part{{i}}" for i in range(4)]))
            pool.close()
            pool.join()
    child = [sys.executable, "-S", "-c", "print(len(open('part0.half').read()))"]
    print(subprocess.run(child, capture_output=True).stdout)
    shutil.copy("part1", "copy")
    with open("part2", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:5] = b"hello"
        memory.flush()
    with open("part3", "rb") as source, open("range", "wb") as target:
        print(os.copy_file_range(source.fileno(), target.fileno(), 100_000))
        print(os.sendfile(target.fileno(), source.fileno(), 5_000, 100_000))
END
{PYTHON} program.py
"""

H5PY = f"""
cat > program.py << 'END'
import h5py, numpy
with h5py.File("data.h5", "w") as file:
    file.create_dataset("plain", data=numpy.arange(100_000.0), track_times=False)
    file.create_dataset("packed", data=numpy.arange(100_000).reshape(100, 1000), chunks=(10, 100), compression="gzip")
    file["packed"][3] = 7
with h5py.File("data.h5", "r") as file:
    print(file["plain"][5:10], file["packed"][3, :4], file["packed"][()].sum())
END
{PYTHON} program.py && rm data.h5
"""

MEMMAP = f"""
cat > program.py << 'END'
import numpy
written = numpy.memmap("mapped", dtype="f8", mode="w+", shape=(1000, 100))
written[:] = 3
written.flush()
found = numpy.memmap("mapped", dtype="f8", mode="r", shape=(1000, 100))
print(found.sum())
numpy.save("saved.npy", found)
print(numpy.load("saved.npy", mmap_mode="r")[3, 4], numpy.load("saved.npy").sum())
END
{PYTHON} program.py
"""

GCC = """
echo '#include <stdio.h>' > program.c
echo 'int main(void) { return printf("%d", 6 * 7) != 2; }' >> program.c
gcc -O1 program.c -o program && ./program
"""

PERL = """
perl -ne 'print $_ * 2, "\\n" if /7$/' input > out
perl -e 'open F, "<out"; print scalar(@{[<F>]}), "\\n"'
"""

BASH = """
head -n 300 input > part
env -u PWD bash -c 'while read -r n; do (( n % 90 )) || echo $n >> some; done < part; cat some; (exit 9)'
"""

# The script is read, and sought in, by stdio; libc's realpath asks the kernel.
PYTHON_ITSELF = {"file read calls": 3, "lseek": 2, "readlink": 1}
OPENSSL = r"/openssl\.cnf$"

PROGRAMS = {
    "git": Program(GIT, ("git", "split"), read_by_stdio=r"/\.git/(config|logs/.*)$", written_by_stdio=GIT_STREAMS),
    "tar": Program(MAKE_INPUT + TAR, ("tar",), written_by_stdio="/scene/(from/)?input$"),
    "zstd": Program(
        MAKE_INPUT + ZSTD,
        ("tar", "zstd"),
        read_by_stdio=r"/input$|/input\.zst$|/from\.tar\.zst$",
        written_by_stdio=r"/scene/from/\d$|/scene/input$|\.zst$|/output$",
        gaps={"lseek": 8},  # of what stdio writes
    ),
    "rsync": Program(
        RSYNC,
        ("rsync",),
        read_by_stdio=r"/openssl\.cnf$",
        written_by_stdio=r"/from/deep/\d$",
        gaps={"stat": -3},  # of an open directory, by fstatat: as strace shows fstat
    ),
    "gzip": Program(MAKE_INPUT + "gzip -nc input > input.gz; gzip -dc input.gz | cmp - input", ("gzip",)),
    "sqlite3": Program(SQLITE, ("sqlite3",)),
    "dd": Program(DD, ("dd",)),
    "dbench": Program(DBENCH, ("dbench",), read_by_stdio="/load$", written_by_stdio="/load$"),
    "python": Program(PYTHON_COPIES, (PYTHON,), gaps=PYTHON_ITSELF),
    "h5py": Program(
        H5PY,
        (PYTHON,),
        modules="h5py numpy",
        read_by_stdio=OPENSSL,
        gaps=PYTHON_ITSELF,
        unseen_read_bytes=100_000,  # the loader's, of a hundred libraries
    ),
    "numpy": Program(
        MEMMAP,
        (PYTHON,),
        modules="numpy",
        read_by_stdio=OPENSSL,
        gaps=PYTHON_ITSELF | {"file read calls": 3 + 4, "file write calls": 2, "lseek": 2 + 5},  # its files, by stdio
    ),
    "gcc": Program(GCC, ("gcc",)),
    "cp": Program(MAKE_INPUT + "cp input one && cp -r one two && mv one three && ls | sort", ("cp",)),
    "sort": Program(
        MAKE_INPUT + "sort -rn -S 1M input -o sorted && uniq sorted | head -n 3",
        ("sort",),
        read_by_stdio="/input$|/sorted$|/sort\\w{6}$",
        written_by_stdio="/input$|/sorted$|/sort\\w{6}$",
        gaps={"close": 1, "dup2": 1, "stat": 1, "lseek": -4},  # within freopen and mkstemp; its own, in streams
    ),
    "find": Program(
        "mkdir -p a/b && touch a/b/c && find a -type f | xargs -n1 basename | tee list",
        ("find", "xargs"),
        written_by_stdio="/list$",
    ),
    "perl": Program(MAKE_INPUT + PERL, ("perl",)),
    "bash": Program(
        MAKE_INPUT + BASH,
        ("bash",),
        status=9,
        written_by_stdio="/input$|/part$|/some$",
        gaps={"ioctl": -2, "stat": 4},  # of terminals, by ioctl itself; within eaccess
    ),
    "awk": Program(
        MAKE_INPUT + "awk '{ s += $1 } END { print s > \"sum\" }' input; cat sum",
        ("awk",),
        written_by_stdio="/input$|/sum$",
    ),
    # error() prints from within libc.
    "failing": Program(
        "cat no-such-file; ls no-such-directory; exit 42", ("cat",), status=42, unseen_written_bytes=300,
        gaps={"pipe write bytes": 110},
    ),
}  # fmt: skip


def need_all(program: Program) -> None:
    need(*program.needs)
    for module in program.modules.split():
        if subprocess.run([PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode != 0:
            pytest.skip(f"{PYTHON} has no {module}: apt install python3-{module}")


def files_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def new_folder(job: Job) -> Path:
    """The same folder each time, for programs note where they are."""
    if job.data.exists():
        shutil.rmtree(job.data)
    work = job.data / "scene"
    work.mkdir(parents=True)
    return work


def run_in_new_folder(job: Job, program: Program, *, is_profiled: bool) -> tuple[Ended, dict[str, str]]:
    work, command = new_folder(job), ["sh", "-c", program.script]
    ended = job.run(command, cwd=work, SLICEWISE_SLICE="0.1") if is_profiled else job.run_plainly(command, cwd=work)
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
    need_all(program)
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


@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name != "gcc"]
)  # the linker's calls are nearly all underneath stdio
def test_strace_saw_the_same(job: Job, name: str) -> None:
    program = PROGRAMS[name]
    need_all(program)
    work = new_folder(job)
    seen = witness(job, ["sh", "-c", program.script], cwd=work)
    assert seen.ended.status == program.status, seen.ended.errors
    assert job.recover(job.spool_dir).returncode == 0
    assert unexplained(job.profile(), seen, program.gaps, program.read_by_stdio, program.written_by_stdio) == {}
    for maker in (LIBC, LOADER):
        for places in (READS, WRITES):
            assert not [call for call in seen.by[maker].transfers(places) if call.target(0).startswith(str(work))]
