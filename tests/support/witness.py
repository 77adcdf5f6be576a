"""A real program under the library and strace at once: each system call and who made it, beside the profile.

One run and not two, for programs do not do the same twice: threads take turns, and temporary files have other names.
The instruction that entered the kernel tells the program's calls of libc's functions, which a profile has to equal,
from the profiler's own, the loader's, libc's for itself, and those that somebody made past libc.
"""

from __future__ import annotations

import bisect
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from slicewise.profile.reader import Profile
from support.oracle import (
    BY_LOADER,
    DOORS,
    MAKES_THREADS,
    OBJECTS,
    READS,
    WRITES,
    SystemCall,
    Trace,
    doors_of,
    first_of,
    lines,
)
from support.programs import LIBRARY, Command, Ended, Job, calls, need, total

# Who makes a system call. EXIT is the program's (libc flushes streams) after the profiler's last look at it, which says
# what that will be.
PROFILER, LOADER, LIBC, PROGRAM, EXIT, PAST_LIBC = "profiler", "loader", "libc", "program", "exit", "past libc"
MAPPED = re.compile(r"NULL, (?P<bytes>\d+), .*<(?P<path>/.*)>, 0$")
SEGMENT = re.compile(r"/slicewise-\d+/[^/\"]+(?=\")")
MOST_LOADER_BYTES = 1 << 18
KILLED = "+++ killed by SIGKILL +++\n"
SEMAPHORE = re.compile('["<]/dev/shm/sem[.]')  # libc's sem_open opens, fills, links and unlinks a file by itself
SHARES_MEMORY = ("CLONE_VM", "CLONE_THREAD")

# Doors that libc goes through within other functions, too: readdir, fdopen, stdio's transfers.
INNER_DOORS = {"read", "write", "getdents", "fcntl"}
LIBC_FILES = re.compile(r'(\d<|, ")(/|/etc/\w+(\.conf)?|/usr/share/zoneinfo/.*)[>"]')
COPIES = ("sendfile", "copy_file_range", "splice", "tee")  # one that fails is an error of the writing side
AIO_DOORS = {"pread": "aio_read", "pwrite": "aio_write", "fsync": "aio_fsync"}
STDIO_OPENS = ("fopen", "freopen", "tmpfile")
NOTHING = "(?!)"
HOUSEKEEPING = {"close", "close_range", "dup", "dup2", "dup3", "fcntl"}
COUNTED = {name for names, _ in DOORS.values() for name in names} | READS.keys() | WRITES.keys()
# The rest is not asked for: to stop at each call is slow.
UNTRACED = "!rt_sigprocmask,rt_sigaction,madvise,futex,getrusage,prlimit64,brk,gettid"
TRACE = ("strace", "-ff", "-yy", "--instruction-pointer", "-s", "0", "--seccomp-bpf", "-e", f"trace={UNTRACED}")
TIMEOUT_SECONDS = 600


@dataclass(frozen=True)
class Witnessed:
    """A command's end and, by their makers, its system calls with those of all its children.

    last_of_killed: the program's last calls in processes that were killed; whoever is killed on the way back from the
    kernel has no chance to count.
    """

    ended: Ended
    by: dict[str, Trace]
    last_of_killed: list[SystemCall]

    def without_last_of_killed(self) -> Witnessed:
        last = {id(call) for call in self.last_of_killed}
        rest = Trace([call for call in self.by[PROGRAM].calls if id(call) not in last])
        return replace(self, by=self.by | {PROGRAM: rest}, last_of_killed=[])


def witness(job: Job, command: Command, *, stdin: bytes = b"", cwd: Path | None = None, **settings: str) -> Witnessed:
    """Run a command under the library, and the whole of it under strace."""
    need("strace", "nm")
    files = job.folder / "witnessed"
    files.mkdir()
    tracing = [*TRACE, "-o", files / "thread", "-E", f"LD_PRELOAD={LIBRARY.resolve()}", *command]
    ended = job.run_plainly(tracing, stdin=stdin, cwd=cwd, timeout_seconds=TIMEOUT_SECONDS, **settings)
    by: dict[str, list[SystemCall]] = {maker: [] for maker in (PROFILER, LOADER, LIBC, PROGRAM, EXIT, PAST_LIBC)}
    last: dict[Path, SystemCall] = {}
    walked = list(_walk(first_of(files), _Image()))
    sleepers = _sleepers(walked)
    for file, maker, call, image in walked:
        if maker == PROGRAM and id(image) in sleepers:
            continue
        by[maker].append(call)
        if maker == PROGRAM and call.name in COUNTED:  # the profiler, too, calls libc's geteuid and the like
            last[file] = call
    killed = [call for file, call in last.items() if file.read_text(errors="replace").endswith(KILLED)]
    return Witnessed(ended, {maker: Trace(calls) for maker, calls in by.items()}, killed)


def unexplained(
    profile: Profile, seen: Witnessed, gaps: dict[str, int], read_by_stdio: str = "", written_by_stdio: str = ""
) -> dict[str, tuple[int, int]]:
    """The differences that are not the named gaps, which is none if all is well: without and with the last calls of
    killed processes, which may be counted or not.
    """
    most = differences(profile, seen, read_by_stdio, written_by_stdio)
    least = differences(profile, seen.without_last_of_killed(), read_by_stdio, written_by_stdio)
    bounds = {
        name: (least.get(name, 0), most.get(name, 0)) for name in sorted(gaps.keys() | most.keys() | least.keys())
    }
    return {name: (low, high) for name, (low, high) in bounds.items() if not low <= gaps.get(name, 0) <= high}


def differences(
    profile: Profile, seen: Witnessed, read_by_stdio: str = "", written_by_stdio: str = ""
) -> dict[str, int]:
    """By how much strace's numbers are more than the profile's: empty if nothing was missed or made up.

    Bytes are compared for each kind of object, calls that move them for files, others by doors. Files that match
    `..._by_stdio` were read or written by stdio alone: the profile has their bytes, and not how many calls those took.
    What libc writes of open streams after the last handler, the profile has among what streams wrote.
    """
    program, counted = seen.by[PROGRAM], calls(profile)
    strace: Counter[str] = Counter()
    ours: Counter[str] = Counter()
    for way, places, streams in (("read", READS, read_by_stdio), ("write", WRITES, written_by_stdio)):
        for obj in OBJECTS:
            underneath = total(profile, f"kernel_{way}_bytes", layers=["stdio", "async"], obj=obj)
            moved = program.transfers(places, obj) + seen.by[EXIT].transfers(places, obj)
            strace[f"{obj} {way} bytes"] = sum(max(call.result, 0) for call in moved)
            ours[f"{obj} {way} bytes"] = total(profile, f"{way}_bytes", obj=obj) + underneath
        is_stream = re.compile(streams or NOTHING).search
        for call in program.transfers(places, "file"):
            is_half = way == "read" and call.name in COPIES and call.result < 0
            strace[f"file {way} calls"] += not is_half and not is_stream(call.target(places[call.name]))
        ours[f"file {way} calls"] = total(profile, f"{way}_ops", obj="file") + counted.get(f"aio_{way}", 0)
    doors, our_doors = _doors_of_program(program, read_by_stdio or NOTHING), doors_of(counted)
    our_doors["open"] += sum(counted.get(name, 0) for name in STDIO_OPENS)
    for door, request in AIO_DOORS.items():
        our_doors[door] += counted.get(request, 0)
    our_doors["stat"] -= counted.get("fstat", 0)
    for door in DOORS.keys() - INNER_DOORS:
        strace[door], ours[door] = doors[door], our_doors[door]
    strace["transfers past libc"] = len(seen.by[PAST_LIBC].transfers(READS | WRITES))
    return {name: strace[name] - ours[name] for name in sorted(strace) if strace[name] != ours[name]}


def _doors_of_program(program: Trace, streams: str) -> Counter[str]:
    """Without what libc asks within other functions: of new streams and directories, of terminals, of its own files."""

    def is_inner(call: SystemCall) -> bool:
        if call.name == "fstat" or (call.name == "newfstatat" and "AT_EMPTY_PATH" in call.arguments):
            return True
        if call.name == "ioctl":
            return re.search(", (TC|TIOC)", call.arguments) is not None
        if call.name == "lseek" and re.search(streams, call.target(0)):
            return True
        return call.name in ("lseek", "newfstatat") and LIBC_FILES.search(call.arguments) is not None

    return Trace([call for call in program.calls if not is_inner(call)]).doors()


@dataclass
class _Image:
    """What lies where in a process, as far as its calls tell: the loader makes the first, and maps the libraries."""

    libraries: dict[str, range] = field(default_factory=dict)
    first_pointer: int | None = None
    segment: str = ""
    is_left: bool = False

    def maker(self, pointer: int) -> str:
        if self.first_pointer is None:
            self.first_pointer = pointer
        for path, place in self.libraries.items():
            if pointer in place:
                if Path(path) == LIBRARY.resolve():
                    return PROFILER
                if "/libc.so" not in path:
                    return PAST_LIBC
                return EXIT if self.is_left else _maker_in_libc(path, pointer - place.start)
        return LOADER if abs(pointer - self.first_pointer) < MOST_LOADER_BYTES else PAST_LIBC

    def learn(self, maker: str, call: SystemCall) -> None:
        if call.name == "mmap" and call.result > 0 and (mapped := MAPPED.match(call.arguments)):
            self.libraries[mapped["path"]] = range(call.result, call.result + int(mapped["bytes"]))
        if maker == PROFILER and call.result >= 0 and (named := SEGMENT.search(call.arguments)):
            if "O_EXCL" in call.arguments:
                self.segment = named[0]
            self.is_left |= call.name == "unlinkat" and named[0] == self.segment


def _maker_in_libc(libc: str, offset: int) -> str:
    """libc calls functions of its own that are no cancellation points, and that nobody can stand in front of."""
    addresses, names = _functions(libc)
    return LIBC if "_nocancel" in names[bisect.bisect_right(addresses, offset) - 1] else PROGRAM


@cache
def _functions(library: str) -> tuple[list[int], list[str]]:
    command = ["nm", "--dynamic", "--defined-only", "--numeric-sort", library]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [(int(address, 16), name) for address, kind, name in map(str.split, listed.splitlines()) if kind in "TWi"]
    return [address for address, _ in symbols], [name for _, name in symbols]


def _sleepers(walked: list[tuple[Path, str, SystemCall, _Image]]) -> set[int]:
    """The images in which the engine never woke, for they did nothing but keep house among descriptors: none of their
    calls is counted.
    """
    others = {id(image) for _, maker, call, image in walked if maker == PROGRAM and call.name in COUNTED - HOUSEKEEPING}
    return {id(image) for *_, image in walked if not image.segment} - others


def _walk(file: Path, image: _Image) -> Iterator[tuple[Path, str, SystemCall, _Image]]:
    for call in lines(file):
        if call.name in BY_LOADER and call.result == 0:
            image = _Image()
            continue
        maker = LIBC if SEMAPHORE.search(call.arguments) else image.maker(call.pointer)
        yield file, maker, call, image
        image.learn(maker, call)
        if call.name in MAKES_THREADS and call.result > 0:
            child = file.with_suffix(f".{call.result}")
            is_shared = call.name == "vfork" or any(flag in call.arguments for flag in SHARES_MEMORY)
            own = replace(image, libraries=dict(image.libraries), segment="")
            yield from _walk(child, image if is_shared else own)
