"""What the kernel was asked for, as strace saw it in a run without the library: what profiles are held against.

A process's calls count from its scenario's first mark to its last (tests/apps/scenario.h), so that neither the loader's
calls nor those of libc's start and end are among them. Children and threads count from their beginning; a program that
takes the place of another from its own mark.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slicewise.profile.reader import Profile
from support.programs import Command, Job, calls, need, total

LINE = re.compile(
    r"(?:\[(?P<pointer>[0-9a-f]+)\] )?(?P<name>\w+)\((?P<arguments>.*)\)"
    r"\s+= (?P<result>-?\d+|0x[0-9a-f]+)(?:<.*>)?(?:\(deleted\))?(?: .*)?$"
)
BEGIN, END = '"/scenario/begin"', '"/scenario/end"'
DESCRIPTOR = re.compile(r"(?:^|, )-?\d+<(?P<target>.*?)>(?:\(deleted\))?(?=, |$)")
MAKES_THREADS = ("clone", "clone3", "fork", "vfork")
BY_LOADER = ("execve", "execveat")

# Which system calls stand behind which operations: the kernel has fewer doors than libc, and operations are compared by
# door.
DOORS = {
    "open": (("open", "openat", "openat2", "creat"), ("open", "openat", "creat", "mkstemp")),
    "close": (("close",), ("close",)),
    "close_range": (("close_range",), ("close_range",)),
    "dup": (("dup",), ("dup",)),
    "dup2": (("dup2", "dup3"), ("dup2",)),
    "fcntl": (("fcntl",), ("fcntl",)),
    "read": (("read",), ("read",)),
    "pread": (("pread64",), ("pread",)),
    "readv": (("readv",), ("readv",)),
    "preadv": (("preadv", "preadv2"), ("preadv",)),
    "write": (("write",), ("write", "dprintf")),
    "pwrite": (("pwrite64",), ("pwrite",)),
    "writev": (("writev",), ("writev",)),
    "pwritev": (("pwritev", "pwritev2"), ("pwritev",)),
    "lseek": (("lseek",), ("lseek",)),
    "fsync": (("fsync",), ("fsync",)),
    "fdatasync": (("fdatasync",), ("fdatasync",)),
    "stat": (("stat", "lstat", "fstat", "newfstatat"), ("stat", "lstat", "fstat", "fstatat")),
    "unlink": (("unlink", "unlinkat"), ("unlink", "unlinkat")),
    "rename": (("rename", "renameat", "renameat2"), ("rename", "renameat")),
    "mkdir": (("mkdir", "mkdirat"), ("mkdir", "mkdirat", "mkdtemp")),
    "statx": (("statx",), ("statx",)),
    "statfs": (("statfs", "fstatfs"), ("statfs", "fstatfs")),
    "access": (("access", "faccessat", "faccessat2"), ("access",)),
    "link": (("link", "linkat"), ("link",)),
    "symlink": (("symlink", "symlinkat"), ("symlink",)),
    "readlink": (("readlink", "readlinkat"), ("readlink",)),
    "rmdir": (("rmdir",), ("rmdir",)),
    "mknod": (("mknod", "mknodat"), ("mknod",)),
    "chmod": (("chmod", "fchmod", "fchmodat"), ("chmod", "fchmod")),
    "chown": (("chown", "lchown", "fchown", "fchownat"), ("chown", "fchown")),
    "utime": (("utime", "utimes", "utimensat", "futimesat"), ("utime", "futime")),
    "truncate": (("truncate", "ftruncate"), ("truncate", "ftruncate")),
    "fallocate": (("fallocate",), ("fallocate",)),
    "readahead": (("readahead",), ("readahead",)),
    "posix_fadvise": (("fadvise64",), ("posix_fadvise",)),
    "sync": (("sync", "syncfs", "sync_file_range"), ("sync", "syncfs", "sync_file_range")),
    "flock": (("flock",), ("flock",)),
    "ioctl": (("ioctl",), ("ioctl",)),
    "getdents": (("getdents64",), ("readdir", "getdents")),
    "getxattr": (("getxattr", "lgetxattr", "fgetxattr"), ("getxattr",)),
    "setxattr": (("setxattr", "lsetxattr", "fsetxattr"), ("setxattr",)),
    "listxattr": (("listxattr", "llistxattr", "flistxattr"), ("listxattr",)),
    "removexattr": (("removexattr", "lremovexattr", "fremovexattr"), ("removexattr",)),
    "name_to_handle_at": (("name_to_handle_at",), ("name_to_handle_at",)),
    "open_by_handle_at": (("open_by_handle_at",), ("open_by_handle_at",)),
    "sendfile": (("sendfile",), ("sendfile",)),
    "copy_file_range": (("copy_file_range",), ("copy_file_range",)),
    "splice": (("splice",), ("splice",)),
    "tee": (("tee",), ("tee",)),
    "vmsplice": (("vmsplice",), ("vmsplice",)),
}
# Which of its descriptors, in the order of its arguments, a system call moves bytes from and to. (Scenarios vmsplice
# into pipes alone.)
READS = dict.fromkeys(("read", "pread64", "readv", "preadv", "preadv2", "copy_file_range", "splice", "tee"), 0) | {
    "sendfile": 1
}
WRITES = dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "vmsplice"), 0) | {
    "copy_file_range": 1, "splice": 1, "tee": 1,
}  # fmt: skip
OBJECTS = ("file", "device", "pipe", "socket", "other")


@dataclass(frozen=True)
class SystemCall:
    name: str
    arguments: str
    result: int
    pointer: int = 0  # the instruction that entered the kernel, where strace was asked for it

    def target(self, place: int) -> str:
        """What one of its descriptors leads to, as strace names it."""
        targets = DESCRIPTOR.findall(self.arguments)
        if re.match(r"-?\d+(,|$)", self.arguments):  # the first one is no open descriptor
            targets.insert(0, "")
        return targets[place] if place < len(targets) else ""

    def object(self, place: int) -> str:
        """The same in the words of schema/enums.def."""
        target = self.target(place)
        if target.startswith("pipe:"):
            return "pipe"
        if target.startswith(("socket:", "UNIX", "TCP", "UDP")):
            return "socket"
        if target.startswith(("/memfd:", "/proc/", "/sys/")) or not target.startswith("/"):
            return "other"
        if "<char " in target or "<block " in target:
            return "device"
        is_fifo = os.path.exists(target) and stat.S_ISFIFO(os.stat(target).st_mode)
        return "pipe" if is_fifo else "file"


@dataclass(frozen=True)
class Trace:
    calls: list[SystemCall]

    def doors(self) -> Counter[str]:
        """How often each door of DOORS was gone through."""
        door_of = {name: door for door, (names, _) in DOORS.items() for name in names}
        return Counter(door_of[call.name] for call in self.calls if call.name in door_of)

    def bytes_read(self, obj: str | None = None) -> int:
        return _bytes(self.transfers(READS, obj))

    def bytes_written(self, obj: str | None = None) -> int:
        return _bytes(self.transfers(WRITES, obj))

    def errors(self) -> int:
        """Calls through the doors of DOORS that failed."""
        known = {name for names, _ in DOORS.values() for name in names}
        return sum(call.result < 0 for call in self.calls if call.name in known)

    def transfers(self, places: dict[str, int], obj: str | None = None) -> list[SystemCall]:
        """Those of READS, or of WRITES, from or to one kind of object."""
        return [
            call
            for call in self.calls
            if call.name in places and (obj is None or call.object(places[call.name]) == obj)
        ]


def _bytes(calls: list[SystemCall]) -> int:
    return sum(max(call.result, 0) for call in calls)


def doors_of(calls: dict[str, int]) -> Counter[str]:
    """A profile's POSIX calls by the doors that they went through."""
    door_of = {operation: door for door, (_, operations) in DOORS.items() for operation in operations}
    doors: Counter[str] = Counter()
    for operation, count in calls.items():
        if operation in door_of:
            doors[door_of[operation]] += count
    return doors


def assert_same(profile: Profile, seen: Trace, unseen_objects: tuple[str, ...] = ()) -> None:
    """The profile's operations, bytes by object (but for some that strace does not tell apart) and errors are seen."""
    assert doors_of(calls(profile)) == seen.doors()
    for obj in set(OBJECTS).difference(unseen_objects):
        assert total(profile, "read_bytes", obj=obj) == seen.bytes_read(obj), obj
        assert total(profile, "write_bytes", obj=obj) == seen.bytes_written(obj), obj
    assert total(profile, "errors") == seen.errors()


def trace(job: Job, command: Command, *, stdin: bytes = b"") -> tuple[Trace, dict[str, int]]:
    """Run a scenario, which must succeed, under strace alone: what strace saw, and what the scenario told."""
    need("strace")
    files = job.folder / "trace"
    files.mkdir()
    ended = job.run_plainly(["strace", "-ff", "-yy", "-s", "0", "-o", files / "thread", *command], stdin=stdin)
    assert ended.status == 0, ended.errors
    return Trace(list(_walk(first_of(files), is_counted=False))), ended.told


def first_of(files: Path) -> Path:
    """Of strace's files, one a thread, that of the thread that no other one made."""
    children = {child for file in files.iterdir() for child in _children(file)}
    (first,) = [file for file in files.iterdir() if int(file.suffix[1:]) not in children]
    return first


def lines(file: Path) -> Iterator[SystemCall]:
    """The calls of one of strace's files that returned."""
    for line in file.read_text(errors="replace").splitlines():
        if found := LINE.match(line):
            result = int(found["result"], 16 if "x" in found["result"] else 10)
            yield SystemCall(found["name"], found["arguments"], result, int(found["pointer"] or "0", 16))


def _children(file: Path) -> Iterator[int]:
    for call in lines(file):
        if call.name in MAKES_THREADS and call.result > 0:
            yield call.result


def _walk(file: Path, *, is_counted: bool) -> Iterator[SystemCall]:
    for call in lines(file):
        if BEGIN in call.arguments:
            is_counted = True
        elif END in call.arguments or (call.name in BY_LOADER and call.result == 0):
            is_counted = False
        elif is_counted:
            yield call
        if call.name in MAKES_THREADS and call.result > 0:
            yield from _walk(file.with_suffix(f".{call.result}"), is_counted=is_counted)
