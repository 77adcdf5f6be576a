"""What the habits of a program's calls are told from: a job's calls, with the seconds of the runtime that they took.

Digest's frames and call sites in. Seconds are of the runtime: of processes side by side those of the one with most, of
threads side by side the mean one's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import polars as pl

from slicewise.analysis.job.busiest import busiest_ns
from slicewise.analysis.job.sites import Sites
from slicewise.digest.activity import Direction
from slicewise.digest.digest import Digest
from slicewise.digest.processes import WITHOUT_PATH, usage_in_sum
from slicewise.digest.schema import FRAMES
from slicewise.digest.slices import sums
from slicewise.estimate import Estimate
from slicewise.kinds import KINDS
from slicewise.scalars import real, whole
from slicewise.symbols.resolve import CodePlace

Habit = Literal[
    "syncs", "last syncs", "small writes", "small reads", "small buffers", "independent MPI-IO",
    "collective pieces", "shared file", "random reads", "reads again", "mapped again", "scratch files",
    "piped copies", "opens", "rewrites", "small files", "failing calls", "looks", "locks", "stream seeks",
    "one directory", "metadata at the begin", "one rank", "uneven ranks", "names by one rank", "formatted text",
    "brief processes",
]  # fmt: skip

# How often a call is a habit: one that waits; any.
OFTEN, MANY = 100, 1000
# Bytes a call, or between two syncs or opens: more are no small ones. And what a large transfer has at least.
SMALL, LARGE = 64 << 10, 256 << 10
# Bytes by large transfers that show what these cost: less may be chance.
SHOWN = 16 << 20
# Files with less of the calls' time than this part of what the file with most has are not told of, if they have no more
# together than that of all.
TRIVIAL_FILE, TRIVIAL_FILES = 0.01, 0.05
# What is advised: one sync for so many, pieces of so many bytes.
A_BATCH, A_PIECE = 100, 1 << 20
# What large transfers cost in another run, as a factor.
UNSURE_FACTOR = 2.0
# Such a call waits for a device or a server (ns).
WAITS_NS = 50_000
# Samples of call sites that show how time divides among calls, within a fifth (binomial).
ENOUGH_SAMPLES = 30
# An open and a close, or a wait for a lock, cost the same each time but for this part; and around them more is done.
OF_AN_OPEN = 0.2
# What an interpreter does around a call (ns): CPython 3.11 took 8,000 for open() and close(), 1,500 for os.stat(), node
# 2,200 for statSync(), bash 5.2 for a redirection 1,500. And what of that goes most likely: it was 0.6 to 1.
AROUND_AN_OPEN_NS, AROUND_NS = 8_000, 2_500
# What a compiled program does around a call (ns): 3 million flushes by C++ took 290 ms besides; around an open and a
# close, with a stream's buffer, Fortran took 1,300.
AROUND_COMPILED_NS, AROUND_COMPILED_OPEN_NS = 100, 1_000
LIKELY = 0.75
# What a package does around an open (ns), with other calls, at most: pandas took 0.5 to 1.3 million to append to a CSV
# file, and 4 to 13 million to write a Parquet file, zarr 5 to 10 million to append a row, on a quiet machine and a busy
# one. And what a script does for a byte of what it writes (node's JSON: 14).
AROUND_A_PACKAGE_NS, AROUND_A_BYTE_NS = 10_000_000, 20
# Of bytes or of time: so much is nearly all.
ALMOST_ALL = 0.9
# What of a wait for locks, or for a sync that can go on meanwhile, goes at least, if the change is made.
AT_LEAST = 0.5
# A process that lives for so little time (ns) did little but begin and end.
BRIEF_NS = 100_000_000

# What is read or written so often is so again; of the files with most of it, how many sizes are asked for.
TIMES_AGAIN, MOST_ASKED = 2.0, 50

# Functions that open a file, and close it; those that give one that was written another's name.
OPENINGS = ("open", "openat", "creat", "fopen")
CLOSES = ("close", "fclose")
RENAMES = ("rename", "renameat", "renameat2")
# How shells' programs are named.
SHELLS = r"^(bash|dash|ksh|sh|zsh)( |$)"
# Where Python's packages are, with those of its own library that read a directory at each open (dbm's: 10 ms for 800
# records); and that library, by which they may open files.
OF_A_PACKAGE = re.compile(r"/(site|dist)-packages/|/lib/python3[^/]*/(dbm/|shelve\.py|tarfile|zipfile)")
OF_PYTHON = re.compile(r"/lib/python3[^/]*/")


@dataclass(frozen=True)
class CostlyHabit:
    """seconds: what the calls cost; saving: of these what the change saves (None: this run does not show it). calls;
    bytes: of one, or between two. file: the one path, else empty, of `files`. site: from where most are made. times:
    how often the same is done. who: the process, if it is one; or which functions. has_more: there are more files than
    those, which have no rows of their own.
    """

    habit: Habit
    seconds: float
    saving: Estimate | None
    calls: int
    bytes: float
    file: str = ""
    files: int = 0
    site: tuple[CodePlace, ...] = ()
    times: float = 1.0
    who: str = ""
    has_more: bool = False


@dataclass(frozen=True)
class JobCalls:
    """slices, files: rows of `process_slices` and `files` of the job's own processes. kept: which part of the seconds
    in calls others did not cost. size_of: paths to the sizes of those files that are still as they were.
    """

    digest: Digest
    slices: pl.DataFrame
    files: pl.DataFrame
    found: Sites
    runtime: float
    size_of: Callable[[Sequence[str]], Mapping[str, int]]
    kept: float = 1.0

    @cached_property
    def own(self) -> pl.DataFrame:
        """`slices` added up: process, storage, the columns that add up, and the most threads."""
        return self.slices.group_by("process", "storage").agg(*sums(), pl.col("threads").max())

    @cached_property
    def _lives(self) -> pl.DataFrame:
        """process, start_ns, end_ns, and alone: the part of a process's time in calls that is left if threads that
        surely were in calls at once count as one; a process then was in calls for longer than its slice lasted.
        """
        ns = pl.sum_horizontal("^(read|write|meta|sync)_ns$")
        threads = pl.when(ns > self.digest.slice_ns).then(pl.col("threads").clip(1)).otherwise(1)
        in_turn = self.slices.group_by("process").agg(alone=(ns / threads).sum() / ns.sum().clip(1))
        lives = self.digest.processes.select("process", "start_ns", "end_ns")
        return lives.join(in_turn, on="process", how="left").with_columns(pl.col("alone").fill_null(1.0).clip(0, 1))

    def of_runtime(self, spent: pl.DataFrame) -> float:
        """Seconds of the runtime in some calls. spent: process, ns (one row each or several). At each time it is that
        of the process alive which spends most of its life so; other processes wait meanwhile, or do the same.
        """
        by_process = spent.group_by("process").agg(pl.col("ns").sum()).filter(pl.col("ns") > 0)
        lived = by_process.join(self._lives, on="process").with_columns(pl.col("ns") * pl.col("alone"))
        rows = lived.filter(pl.col("ns") > 0).sort("start_ns", "process").select("start_ns", "end_ns", "ns")
        return self.kept * busiest_ns(list(rows.iter_rows())) / 1e9

    def of_all(self, spent: pl.DataFrame, *names: str) -> float:
        """The same of rows with such columns: `read_ns` ..."""
        return self.of_runtime(spent.select("process", ns=pl.sum_horizontal(*names)))

    @cached_property
    def part(self) -> float:
        """By which seconds in any calls become seconds of the runtime."""
        names = [f"{kind}_ns" for kind in KINDS]
        ns = real(self.own.select(pl.sum_horizontal(names).sum()).item())
        return self.of_all(self.own, *names) * 1e9 / ns if ns else self.kept

    @property
    def opens(self) -> int:
        """Calls that opened a file; also those of files that nothing was transferred with, which no row has."""
        return max(self.called(OPENINGS), int(self.files["opens"].sum()))

    @cached_property
    def calls(self) -> pl.DataFrame:
        """Rows of `calls` of the job's own processes."""
        others = self.digest.processes.filter(~pl.col("is_of_job"))
        return self.digest.calls.join(others, on="process", how="anti")

    def called(self, operations: Sequence[str]) -> int:
        """How often these functions were called."""
        return int(self.calls.filter(pl.col("operation").is_in(list(operations)))["calls"].sum())

    @cached_property
    def servers(self) -> pl.DataFrame:
        """storage: those that are on no node."""
        return self.digest.storages.filter(pl.col("node") == "").select("storage")

    @property
    def is_shell(self) -> pl.Expr:
        """Whether a row is a shell's."""
        shells = self.digest.processes.filter(pl.col("program").str.contains(SHELLS))
        return pl.col("process").is_in(shells["process"].implode())

    @cached_property
    def scratch(self) -> pl.DataFrame:
        """Rows of files on a server that one process alone writes and reads again."""
        points = self.digest.mounts.join(self.servers, on="storage", how="semi")["point"].unique().to_list()
        named = self.files.filter(pl.col("path") != "", pl.col("process").n_unique().over("path") == 1)
        moved = pl.min_horizontal("read_bytes", "write_bytes"), pl.max_horizontal("read_bytes", "write_bytes")
        is_there = pl.any_horizontal(pl.lit(False), *(pl.col("path").str.starts_with(f"{point}/") for point in points))
        return named.filter(is_there, moved[0] > 0, moved[0] >= ALMOST_ALL * moved[1])

    @cached_property
    def scratch_closes(self) -> float:
        """The part of the time in closes that scratch files have: that of the bytes written, for which they wait."""
        return min(1.0, real(self.scratch["write_bytes"].sum()) / max(1.0, real(self.own["write_bytes"].sum())))

    def seconds(self, kind: str) -> float:
        return self.of_all(self.own, f"{kind}_ns")

    def accesses(self, way: Direction) -> pl.DataFrame:
        """The rows of `accesses` of a direction; none of a job of which they are not known."""
        known = "accesses" not in self.digest.not_kept
        rows = self.digest.accesses if known else pl.DataFrame(schema=FRAMES["accesses"].polars_schema)
        return rows.filter(pl.col("direction") == way)

    @property
    def computing(self) -> float:
        return max(0.0, self.runtime - self.of_all(self.own, *(f"{kind}_ns" for kind in KINDS)))

    @cached_property
    def delay(self) -> float:
        """How many times as long as on free processors the program computed: by what its first threads waited for one,
        and no more than its computing is of the time that it ran outside of the kernel.
        """
        of_job = self.digest.processes.filter("is_of_job")
        own = usage_in_sum(self.digest.usage).join(of_job, on="process", how="semi")
        ran, waited, user = (real(own[name].sum()) / 1e9 for name in ("first_thread_ns", "delayed_ns", "user_ns"))
        return max(1.0, min(1 + waited / ran, self.computing / user)) if ran > 0 and user > 0 else 1.0

    @cached_property
    def while_computing(self) -> pl.DataFrame:
        """process, at_once_ns: of processes with I/O in several threads the calls at least that went on while it
        computed, as far as calls and computing took longer together than it lived. Threads compute side by side: the
        first one's computing counts, and that of the others if one thread can have done it.
        """
        took = self.own.group_by("process").agg(
            calls_ns=pl.sum_horizontal(f"{kind}_ns" for kind in KINDS).sum(), threads=pl.col("threads").max()
        )
        lives = self._lives.with_columns(life_ns=pl.col("end_ns") - pl.col("start_ns"))
        first = (pl.col("first_thread_ns") - pl.col("system_ns")).clip(0)
        others = pl.col("user_ns") - pl.coalesce(first, 0)
        of_others = pl.when(others <= pl.col("life_ns")).then(others).otherwise(0)
        of_one = pl.min_horizontal("user_ns", pl.max_horizontal(first, of_others))
        rows = took.filter(pl.col("threads") > 1).join(usage_in_sum(self.digest.usage), on="process")
        at_once = (pl.col("alone") * pl.col("calls_ns") + of_one - pl.col("life_ns")).clip(0)
        return rows.join(lives, on="process").select("process", at_once_ns=at_once)

    @cached_property
    def fetched_bytes(self) -> int:
        """What the kernel fetched from storages for the job; 0 where its count was not kept."""
        return 0 if "coverage" in self.digest.not_kept else int(self.digest.coverage["read_storage"].sum())

    @cached_property
    def opened_again(self) -> pl.DataFrame:
        """Rows of files that are opened again and again. is_rewritten: what was written took the place of what was
        there, since the file is much smaller, or was renamed each time; little_each: that, or little was transferred.
        """
        wrote, opens = pl.col("write_bytes"), pl.col("opens")
        again = self.files.filter(opens >= OFTEN, pl.col("path") != "")
        by_path = again.filter(wrote > 0).group_by("path").agg(wrote.sum()).sort("write_bytes", "path")
        sizes = self.size_of(by_path["path"].tail(MOST_ASKED).to_list())
        size = pl.col("path").replace_strict(sizes, default=None, return_dtype=pl.Int64)
        is_renamed = size.is_null() & (2 * self.called(RENAMES) >= opens) & (wrote >= SMALL * opens)
        is_rewritten = is_renamed | (wrote >= TIMES_AGAIN * size).fill_null(value=False) & (wrote > 0)
        little_each = is_rewritten | (pl.sum_horizontal("read_bytes", "write_bytes") < SMALL * opens)
        return again.with_columns(is_rewritten=is_rewritten, little_each=little_each)

    def by_packages(self, operations: Sequence[str]) -> float:
        """How many of these calls Python's packages made, without what is imported."""
        of_them = self.samples(operations).group_by("stack").agg(pl.col("calls").sum())
        return sum((calls for stack, calls in of_them.iter_rows() if _is_by_package(self.found.stacks[stack])), 0.0)

    def to_kernel(self, way: Direction) -> float:
        """The part of the calls of a direction that no stream's buffer serves; 1 where that is not known."""
        if "distributions" in self.digest.not_kept:
            return 1.0
        of_way = self.digest.distributions.filter(pl.col("kind") == way)
        by_what = dict(of_way.group_by("what").agg(pl.col("calls").sum()).iter_rows())
        return min(1.0, by_what["latency"] / by_what["size"]) if by_what.get("size") else 1.0

    def with_what_is_around(
        self,
        saving: Estimate,
        calls: int,
        each_ns: int = AROUND_NS,
        compiled_ns: int = AROUND_COMPILED_NS,
        by_packages: float = 0.0,
        written: int = 0,
    ) -> Estimate:
        """The same, with what the program does around each of the calls, an interpreter (each_ns) or another
        (compiled_ns), for those that packages make, and for bytes that are written: from nothing to all that it may be.
        All of it takes longer where the program waits for processors. No more than the runtime.
        """
        name = pl.col("path").str.extract(f"({WITHOUT_PATH})")
        runs_script = self.digest.processes.select(pl.col("program").str.starts_with(pl.concat_str(name, pl.lit(" "))))
        around, more = self.part * calls * compiled_ns / 1e9, 0.0  # s of processor time
        if runs_script.to_series().any():
            around = self.part * (calls * each_ns + written * AROUND_A_BYTE_NS) / 1e9
            more = self.part * by_packages * AROUND_A_PACKAGE_NS / 1e9
        around, more = min(self.computing, around * self.delay), min(self.runtime - saving.high, more)
        likely, most = max(LIKELY * around, more / 2), max(around, more)
        value, high = (min(self.runtime, one) for one in (saving.value + likely, saving.high + most))
        return replace(saving, value=value, high=high)

    def samples(self, operations: Sequence[str], least: int = 0) -> pl.DataFrame:
        """Samples of these functions' call sites; no rows if there are fewer than `least`."""
        of_them = self.found.samples.filter(pl.col("operation").is_in(list(operations)))
        return of_them if int(of_them["samples"].sum()) >= least else of_them.clear()

    def sampled_ns(self, operations: Sequence[str]) -> pl.DataFrame:
        """process, ns: in some metadata calls, by samples of call sites; no rows if these are too few to tell."""
        return self.samples(operations, ENOUGH_SAMPLES).group_by("process").agg(ns=pl.col("seconds").sum() * 1e9)

    def sampled(self, operations: Sequence[str]) -> float:
        """The same as seconds of the runtime; 0: too few samples."""
        return min(self.of_runtime(self.sampled_ns(operations)), self.seconds("meta"))

    def site(self, operations: Sequence[str]) -> tuple[CodePlace, ...]:
        """The call site of these functions with most time; empty: none was sampled."""
        of_them = self.samples(operations)
        if of_them.is_empty():
            return ()
        most = of_them.group_by("stack").agg(pl.col("seconds").sum()).sort("seconds", "stack", descending=[True, False])
        return self.found.stacks[whole(most["stack"][0])]

    def operations(self, kind: str) -> list[str]:
        """The functions of a kind that were sampled."""
        return [
            name for name in self.found.samples["operation"].unique() if self.digest.kind_of_operation(name) == kind
        ]

    def site_of(self, kind: str) -> tuple[CodePlace, ...]:
        return self.site(self.operations(kind))

    def storage_of(self, files: pl.DataFrame) -> pl.DataFrame:
        """The same rows with the storage that the path is on, by the longest mount point; null: not known."""
        points = self.digest.mounts.select("storage", "point").unique().filter(pl.col("point") != "")
        paths = files.select("path").unique()
        fits = paths.join(points, how="cross").filter(
            pl.col("path").str.starts_with(pl.col("point").str.strip_chars_end("/") + "/")
        )
        longest = fits.sort("path", pl.col("point").str.len_bytes(), "storage").unique("path", keep="last")
        return files.join(longest.select("path", "storage"), on="path", how="left")

    def at_large(self, way: Direction, rows: pl.DataFrame, seconds: float, whole: int = 0) -> Estimate | None:
        """What of the seconds of some rows of `files` is saved, if as many bytes are moved by large transfers, as some
        process made with a file of the same storages; None if this run made few. whole: the bytes of the files, all of
        which may have to be moved instead.
        """
        ops, moved = pl.col(f"{way}_ops"), pl.col(f"{way}_bytes")
        large = self.files.filter(pl.col("path") != "", ops > 0, moved >= LARGE * ops)
        storages = self.storage_of(rows)["storage"].unique()
        large = self.storage_of(large).filter(pl.col("storage").is_in(storages.implode(), nulls_equal=True))
        size, ns = real(rows[f"{way}_bytes"].sum()), real(rows[f"{way}_ns"].sum())
        shown = real(large[f"{way}_bytes"].sum())
        if shown < SHOWN or not ns:
            return None
        rest = seconds * (size / shown) * (real(large[f"{way}_ns"].sum()) / ns)
        of_whole = rest * max(1.0, whole / size)
        rests = of_whole * UNSURE_FACTOR, (rest + of_whole) / 2, rest / UNSURE_FACTOR
        low, value, high = (max(0.0, seconds - one) for one in rests)
        return Estimate(value, low, high, "what large transfers of this run cost")


def _is_by_package(stack: tuple[CodePlace, ...]) -> bool:
    frames = (place.file for place in reversed(stack) if place.file and not place.module)
    ours = next((file for file in frames if OF_A_PACKAGE.search(file) or not OF_PYTHON.search(file)), "")
    return OF_A_PACKAGE.search(ours) is not None


def that_count(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Rows without those of files that make up next to nothing: each, beside the file with most; and all together."""
    of_file = pl.col(column).sum().over("path")
    little = rows.filter(of_file < TRIVIAL_FILE * of_file.max())
    is_little = real(little[column].sum()) < TRIVIAL_FILES * real(rows[column].sum())
    return rows.filter(of_file >= TRIVIAL_FILE * of_file.max()) if is_little else rows
