"""The measurements: each runs programs of tests/bench under some libraries and gives rows."""

import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from figures import ROWS, Row, Values, in_turns
from libraries import BARE, OURS, Library, with_sites, with_threads

CHUNKS = 150
ROUNDS = 11
CALLS_A_CHUNK = 256  # of tests/bench/calls.c
STARTS = 25
MANY_THREADS = 32
NEW_MOUNTS = 10
SLICES_OF_AN_HOUR = 900
PACKED_EVERY = 96  # records
IOR_RANKS, IOR_BLOCKS = 4, 49_152
SITE_CALLS, SITE_WAITS = 20_000, 200
TIMEOUT_SECONDS = 300
STDIO = [
    "getc", "getc_unlocked", "putc", "fgets", "getline", "fread_8", "fread", "fwrite", "fputs", "fprintf", "fscanf",
    "fgetwc", "fputwc",
]  # fmt: skip
CALLS = [
    "write", "write_to_file", "pwrite", "pread", "lseek", "lseek_alone", *STDIO, "fdatasync", "fcntl", "stat", "open",
    "mpi_test", "mpi_send", "library_call", "region",
]  # fmt: skip
NAMES = ["open_missing", "stat_missing", "access", "chmod", "truncate", "rename", "symlink"]
MOUNTS = [20, 1000]
NEW_FILES = ["new_file", "new_file_exclusive", "new_file_10", "new_file_1000", "new_file_100000"]
CALLS_OF_TWO = ["write", "pwrite", "pread", "lseek"]
SHORT = ["true", "few_calls"]
# Each MPI's launcher of two ranks that are bound to processors, and how it sets a variable for them.
LAUNCHERS_OF_TWO = {
    "openmpi": (
        ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "core", "-np", "2"],
        lambda name, value: ["-x", f"{name}={value}"],
    ),
    "mpich": (["mpiexec.mpich", "-bind-to", "core", "-n", "2"], lambda name, value: ["-genv", name, value]),
}


class Bench:
    """The programs, the libraries, and a directory that is thrown away."""

    def __init__(self, build: Path, libraries: dict[str, Library], directory: Path) -> None:
        self.build, self.programs, self.directory = build, build / "bench", directory
        self.libraries = libraries
        self.data = directory / "data"
        self.data.mkdir()
        self.profiles = directory / "profiles"
        self.skewed = [self._with_skewed_clock(library) for library in libraries.values()]

    def calls(self) -> list[Row]:
        """ns a call, of every kind; of some with two threads, and of eight on one descriptor."""
        rows = [self._timed(kind, 1) for kind in CALLS]
        rows += [self._timed(kind, 2) for kind in CALLS_OF_TWO]
        return [*rows, self._timed("shared", 1), self._timed("shared", 8)]

    def names(self) -> list[Row]:
        """ns a call that names a path, or fails at one; and of one that fails where there are many more mounts."""
        rows = [self._timed(kind, 1) for kind in NAMES]
        if may_mount():
            for count in MOUNTS:
                values = in_turns(
                    self.libraries.values(), ROUNDS, lambda library, mounts=count: self._ns_beside(mounts, library)
                )
                rows.append(self._row(f"open_missing_{count}_mounts", "ns", values["ns"]))
        return rows

    def system_calls(self) -> list[Row]:
        """System calls a call that names a path, and of a program with ten small calls: strace's count, the same on a
        busy machine.
        """

        def measure(library: Library) -> dict[str, float]:
            return {kind: self._system_calls(kind, library) for kind in NAMES} | {"few_calls": self._few_calls(library)}

        values = in_turns(self.libraries.values(), 1, measure)
        return [self._row(name, "syscalls", of) for name, of in values.items()]

    def new_files(self) -> list[Row]:
        """ns a file that is made, written to and closed: by one thread, at first and after others; by eight at once."""
        return [*(self._timed(kind, 1) for kind in NEW_FILES), self._timed("new_file", 8, by="wall")]

    def calls_by_vdso(self) -> list[Row]:
        """The same call where the processor's counter must not be used."""
        values = in_turns(
            self.libraries.values(), ROUNDS, lambda library: self._ns("pwrite", 1, library, SLICEWISE_CLOCK="vdso")
        )
        return [self._row("vdso", "ns", values["ns"])]

    def short_processes(self) -> list[Row]:
        """Microseconds: of a child that only leaves, from fork to its end; from the spawn to the end of `true`, and of
        a program with ten small calls.
        """

        def measure(library: Library) -> dict[str, float]:
            forks = float(self._run([self.programs / "processes", "fork", str(STARTS)], library)) / 1e3
            spawned = {name: statistics.median(self._spawned(name, library)["us"]) for name in SHORT}
            return {"fork": forks} | spawned

        values = in_turns(self.libraries.values(), ROUNDS, measure)
        return [self._row(name, "us", of) for name, of in values.items()]

    def faults(self, rounds: int = 3) -> list[Row]:
        """Page faults of short processes, and of a child that only leaves: the same on a busy machine."""

        def measure(library: Library) -> dict[str, float]:
            short = {name: statistics.median(self._spawned(name, library)["faults"]) for name in SHORT}
            few, more = (statistics.median(self._spawned(name, library)["faults"]) for name in ("fork_once", "forks"))
            return short | {"fork": (more - few) / STARTS}

        values = in_turns(self.libraries.values(), rounds, measure)
        return [self._row(name, "faults", of) for name, of in values.items()]

    def exits(self) -> list[Row]:
        """Milliseconds from a program's last deed to its end."""
        usual = in_turns(self.libraries.values(), ROUNDS, lambda library: self._exit(library, 1, 10))
        hour = in_turns(self.skewed, ROUNDS, lambda library: self._exit(library, SLICES_OF_AN_HOUR, 10_000))
        return [self._row("exit", "ms", usual["ms"]), self._row("exit_after_an_hour", "ms", hour["ms"])]

    def memory(self, rounds: int = ROUNDS) -> list[Row]:
        """Resident KiB: of a process, of that what is not the library's own file, and of each thread more."""

        def measure(library: Library) -> dict[str, float]:
            one, many = (self._resident(library, threads) for threads in (0, MANY_THREADS))
            own, own_of_many = (resident["Anonymous"] + resident["Pss_Shmem"] for resident in (one, many))
            return {"memory": one["Rss"], "memory_own": own, "memory_thread": (own_of_many - own) / MANY_THREADS}

        values = in_turns(self.libraries.values(), rounds, measure)
        return [self._row(name, "KiB", of) for name, of in values.items()]

    def disk(self, rounds: int = 1) -> list[Row]:
        """Bytes of profile: each slice more, of one thread and of 8; of a process that did next to nothing."""

        def measure(library: Library) -> dict[str, float]:
            return {
                "disk_slice": self._spooled_a_slice(library, 1),
                "disk_slice_8": self._spooled_a_slice(library, 8),
                "disk_process": self._spooled(library, 1, 1),
            }

        values = in_turns(self.skewed, rounds, measure)
        return [self._row(name, "bytes", of) for name, of in values.items()]

    def slow_paths(self) -> list[Row]:
        """Microseconds of the first call of a slice, and of one that also packs a batch."""

        def measure(library: Library) -> dict[str, float]:
            ns = sorted(self._steady(library, SLICES_OF_AN_HOUR, 1))
            turn = ns[len(ns) // 2] / 1e3
            # A slice makes a record for the file system and one for the kernel's count.
            packs = ns[-2 * SLICES_OF_AN_HOUR // PACKED_EVERY :]
            return {"turn": turn, "pack": statistics.median(packs) / 1e3}

        values = in_turns(self.skewed, ROUNDS, measure)
        return [self._row(name, "us", of) for name, of in values.items()]

    def sites(self) -> list[Row]:
        """Processor time of I/O below 24 frames, and of one sample, with call sites over the same without: what is
        bare here is Slicewise with SLICEWISE_SITE_MS=0."""
        usual = in_turns(with_sites(self.libraries, "10"), ROUNDS, lambda library: self._sites("write", library))
        sampled = in_turns(with_sites(self.libraries, "1"), ROUNDS, lambda library: self._sites("wait", library))
        return [self._row("site_io", "ms", usual["write"]), self._row("site_sample", "us", sampled["wait"])]

    def locks(self) -> list[Row]:
        """ns of locking and unlocking a mutex, and where two threads wait for it, with their waits timed."""
        both = with_threads(self.libraries)
        free = in_turns(both, ROUNDS, lambda library: self._ns("lock", 1, library))
        held = in_turns(both, ROUNDS, lambda library: self._ns("lock_held", 2, library, "wall"))
        return [self._row("lock_timed", "ns", free["ns"]), self._row("lock_held_timed", "ns", held["ns"])]

    def first_opens(self) -> list[Row]:
        """Microseconds that the first open on a mount takes over a later one."""
        if not may_mount():
            return []
        values = in_turns(self.libraries.values(), ROUNDS, self._first_opens)
        return [self._row("first_open", "us", values["us"])]

    def whole_program(self) -> list[Row]:
        """The worst case of a whole MPI program: seconds of its I/O, ms of MPI_Finalize, bytes written."""
        ior = os.environ.get("IOR")
        mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        if mpirun is None or not (self.programs / "ior_like").exists():
            return []
        program = [str(self.programs / "ior_like"), str(IOR_BLOCKS), str(self.data)]
        if ior:
            shape = {"-a": "POSIX", "-t": "4k", "-b": f"{IOR_BLOCKS * 4}k", "-o": str(self.data / "ior")}
            program = [ior, "-F", *(word for option in shape.items() for word in option)]
        launcher = [mpirun, "--allow-run-as-root", "--oversubscribe", "-np", str(IOR_RANKS), "env"]
        bare = self.libraries[BARE]

        def measure(library: Library) -> dict[str, float]:
            shutil.rmtree(self.profiles, ignore_errors=True)
            # The launcher itself is no part of the program.
            ours = library.environment().items() - bare.environment().items()
            began = time.perf_counter()
            printed = self._run([*launcher, *(f"{name}={value}" for name, value in ours), *program], bare)
            measured = {"ior_wall": time.perf_counter() - began, "ior_bytes": float(self._bytes_of(library))}
            if not ior:
                measured |= zip(("ior_io", "ior_finalize"), map(float, printed.split()), strict=True)
            return measured

        values = in_turns(self.libraries.values(), ROUNDS, measure)
        units = {"ior_wall": "s", "ior_io": "s", "ior_finalize": "ms", "ior_bytes": "bytes"}
        return [self._row(name, units[name], of) for name, of in values.items()]

    def ping_pong(self) -> list[Row]:
        """ns of half a round trip of one byte between two ranks, each on a processor of its own: past the library (that
        is bare here) and through it, in short windows that take turns within one run. Each MPI that is there is
        measured.
        """
        ours = self.libraries[OURS].environment().items() - self.libraries[BARE].environment().items()
        rows = []
        for name, (launcher, setting) in LAUNCHERS_OF_TWO.items():
            program = self.programs / f"ping_pong.{name}"
            if shutil.which(launcher[0]) is None or not program.exists() or (os.cpu_count() or 1) < 2:
                continue
            settings = [word for one, value in ours for word in setting(one, value)]
            printed = self._run([*launcher, *settings, program, str(ROUNDS)], self.libraries[BARE])
            named, past = zip(*(map(float, line.split()) for line in printed.splitlines()), strict=True)
            rows.append(self._row(f"ping_pong_{name}", "ns", {BARE: list(past), OURS: list(named)}))
        return rows

    def _spawned(self, name: str, library: Library) -> dict[str, list[float]]:
        """Of STARTS processes, microseconds from the spawn to the end, and page faults."""
        own = str(self.programs / "processes")
        command = {
            "true": ["/bin/true"],
            "few_calls": [own, "few", str(self.data)],
            "fork_once": [own, "fork", "1"],
            "forks": [own, "fork", str(1 + STARTS)],
        }[name]
        environment = library.environment()
        silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        spent: dict[str, list[float]] = {"us": [], "faults": []}
        for _ in range(STARTS):
            began = time.perf_counter()
            process = os.posix_spawn(command[0], command, environment, file_actions=silent)
            _, status, usage = os.wait4(process, 0)
            spent["us"].append((time.perf_counter() - began) * 1e6)
            spent["faults"].append(usage.ru_minflt)
            if status != 0:
                raise RuntimeError(f"{' '.join(command)} under {library.name} failed")
        return spent

    def _timed(self, kind: str, threads: int, by: str = "time") -> Row:
        values = in_turns(self.libraries.values(), ROUNDS, lambda library: self._ns(kind, threads, library, by))
        return self._row(kind if threads == 1 else f"{kind}_{threads}", "ns", values["ns"])

    def _empty_data(self) -> None:
        shutil.rmtree(self.data)
        self.data.mkdir()

    def _row(self, name: str, unit: str, values: Values) -> Row:
        return Row(name, ROWS[name]["what"], unit, values)

    def _ns(self, kind: str, threads: int, library: Library, by: str = "time", **settings: str) -> dict[str, float]:
        if kind in NEW_FILES:  # those of the round before would not be new
            self._empty_data()
        command = [self.programs / "calls", by, kind, str(CHUNKS), str(threads), self.data]
        return {"ns": float(self._run(command, library, **settings))}

    def _ns_beside(self, mounts: int, library: Library) -> dict[str, float]:
        settings = [f"{name}={value}" for name, value in library.environment().items()]
        command = [self.programs / "calls", "time", "open_missing", str(CHUNKS), "1", self.data]
        printed = self._run(
            beside_mounts(mounts, self.directory, ["env", "-i", *settings, *command]), self.libraries[BARE]
        )
        return {"ns": float(printed)}

    def _system_calls(self, kind: str, library: Library) -> float:
        """Of the chunks after the first."""
        few, more = (self._traced(["calls", "time", kind, str(chunks), "1"], library) for chunks in (1, 3))
        return (more - few) / (2 * CALLS_A_CHUNK)

    def _few_calls(self, library: Library) -> float:
        return float(self._traced(["processes", "few"], library))

    def _traced(self, command: list[str], library: Library) -> int:
        """System calls of one of the programs."""
        trace, bare = self.directory / "trace", self.libraries[BARE].environment()
        ours = library.environment(SLICEWISE_SLICE="60")  # the end of a slice makes some
        settings = [f"-E{name}={value}" for name, value in ours.items() if bare.get(name) != value]
        program = [self.programs / command[0], *command[1:], self.data]
        self._run(["strace", "-f", "-qq", "-o", trace, *settings, *program], self.libraries[BARE])
        return len(trace.read_text().splitlines())

    def _sites(self, kind: str, library: Library) -> dict[str, float]:
        calls = {"write": SITE_CALLS, "wait": SITE_WAITS}[kind]
        return {kind: float(self._run([self.programs / "sites", kind, str(calls), self.data], library))}

    def _exit(self, library: Library, slices: int, files: int) -> dict[str, float]:
        self._empty_data()
        command = [self.programs / "life", "exit", str(slices), str(files), self.data]
        with subprocess.Popen(command, env=library.environment(), stdout=subprocess.PIPE) as process:
            last_deed = int(process.stdout.read())
            process.wait()
            end = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return {"ms": (end - last_deed) / 1e6}

    def _resident(self, library: Library, threads: int) -> dict[str, float]:
        """In one slice, without samples of call sites, which take 96 KiB once whoever waits for 10 ms first, and with
        one arena of malloc: how many more there are depends on who waits for whom.
        """
        settings = {"SLICEWISE_SLICE": "60", "SLICEWISE_SITE_MS": "0"} if library.name == OURS else {}
        command = ["env", "MALLOC_ARENA_MAX=1", self.programs / "life", "memory", str(threads), "0", self.data]
        printed = self._run(command, library, **settings)
        return {name: float(kib) for name, kib in re.findall(r"(\w+):\s+(\d+) kB", printed)}

    def _steady(self, library: Library, slices: int, threads: int) -> list[int]:
        printed = self._run([self.programs / "life", "steady", str(slices), str(threads), self.data], library)
        return [int(line) for line in printed.split()]

    def _spooled_a_slice(self, library: Library, threads: int) -> float:
        few, many = (self._spooled(library, slices, threads) for slices in (SLICES_OF_AN_HOUR // 2, SLICES_OF_AN_HOUR))
        return (many - few) / (SLICES_OF_AN_HOUR // 2)

    def _spooled(self, library: Library, slices: int, threads: int) -> float:
        shutil.rmtree(self.profiles, ignore_errors=True)
        self._steady(library, slices, threads)
        return float(self._bytes_of(library))

    def _bytes_of(self, library: Library) -> int:
        return sum(file.stat().st_size for file in self.profiles.rglob("*.swz")) if library.name == OURS else 0

    def _first_opens(self, library: Library) -> dict[str, float]:
        places = [self.data / f"mount{number}" for number in range(NEW_MOUNTS)]
        for place in places:
            place.mkdir(exist_ok=True)
        command = on_new_mounts([self.programs / "life", "mounts", "20", "0"], library.environment(), places)
        printed = self._run(command, self.libraries[BARE])
        pairs = [(int(first), int(later)) for first, later in (line.split() for line in printed.splitlines())]
        return {"us": statistics.median(first - later for first, later in pairs) / 1e3}

    def _run(self, command: list[str | Path], library: Library, **settings: str) -> str:
        environment = library.environment(**settings)
        done = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} under {library.name} failed: {done.stderr[-2000:]}")
        return done.stdout

    def _with_skewed_clock(self, library: Library) -> Library:
        preload = (
            f"{library.path}:{self.programs / 'skewed_clock.so'}" if library.path else self.programs / "skewed_clock.so"
        )
        return replace(library, path=preload, settings=library.settings | {"SLICEWISE_CLOCK": "vdso"})


def on_new_mounts(
    command: list[str | Path], environment: dict[str, str], places: list[Path], others: Mapping[Path, str] | None = None
) -> list[str]:
    """The command with the places as further arguments, each on a file system that nobody saw before: in a mount
    namespace of the command's own, which takes them with it. The environment is given to the command alone. `others`:
    further places with options of their file systems."""
    options = dict.fromkeys(places, "rw") | dict(others or {})
    mounting = [shlex.join(["mount", "-t", "tmpfs", "-o", of, "bench", str(place)]) for place, of in options.items()]
    settings = [f"{name}={value}" for name, value in environment.items()]
    running = shlex.join(["env", "-i", *settings, *map(str, command), *map(str, places)])
    return ["unshare", "--mount", "sh", "-c", " && ".join([*mounting, f"exec {running}"])]


def beside_mounts(count: int, directory: Path, command: list[str | Path]) -> list[str | Path]:
    """The command on a machine that has so many more mounts."""
    return [sys.executable, Path(__file__).with_name("many_mounts.py"), str(count), directory / "mounts", *command]


def may_mount() -> bool:
    """Whether on_new_mounts will do: it takes root."""
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "bench", "/mnt"]
    return (
        shutil.which("unshare") is not None and subprocess.run(probe, check=False, capture_output=True).returncode == 0
    )
