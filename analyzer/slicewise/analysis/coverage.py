"""How much of the kernel's count of bytes (of every descriptor) calls show, in which processes least, and what the rest
may have been. What stdio moved underneath counts as seen.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import polars as pl

from slicewise.analysis.sampled import Sampled, sampled_bytes, sampled_processes
from slicewise.constants import LITTLE_BYTES
from slicewise.digest.activity import DIRECTIONS, Direction
from slicewise.digest.digest import Digest
from slicewise.digest.processes import count_processes, is_profiled
from slicewise.digest.quality import Imported, imported
from slicewise.kept_once import kept_once
from slicewise.scalars import whole

# The kernel's last count of a process is there only if it ended by itself, and is complete only without these problems.
ENDINGS_WITH_KERNEL_COUNT = ("exit", "underscore_exit", "exec", "stood_down")
KILLED = "killed"
PROBLEMS_OF_KERNEL_COUNT = ("no_kernel_count", "kernel_count_partial")
# What marks a process in which calls could not be seen.
BOUND_APART, RING_USED, RING_UNSEEN = "bound_apart", "uring_used", "uring_unseen"
RING_OPERATIONS = "uring_"

# Why nothing is known of a program: it still runs and has not told of itself yet, or could not be profiled.
UNHEARD = "unheard"
# Of a job none of whose processes the library could count: it ran already, or nobody preloaded the library.
OUTSIDE = "begun without the library"

# What the loader and libc read for themselves: a few headers, tables and locales, in calls of a buffer at most.
MOST_SMALL_BYTES, MOST_SMALL_CALL_BYTES = 256 << 10, 8 << 10
# What a process read and wrote unseen is one copy if the two are that close.
MOST_COPY_DIFFERENCE = 0.1
# Storage that calls do not account for is told from so much on.
LEAST_STORED_SHARE = 0.1
# The kernel counts whole pages, also for a call on a few bytes of one: a page as a rule, and as much as the largest of
# its folios where a file system has large ones (ext4, XFS). Names and inodes that calls change are pages too.
PAGE_BYTES, LARGEST_FOLIO_BYTES = 4 << 10, 2 << 20
# Mapped files of so many bytes at least may have had all that was stored beyond calls: pages are fetched again.
MAY_BE_EVICTED_BYTES = 16 << 20
WORST_NAMED = 3
LEAST_BYTES_TO_NAME, MOST_SHARE_TO_NAME = 4096, 0.99

Cause = Literal["small", "copied", "bound_apart", "dropped", "past_libc", "io_uring", "mapped", "pages", "uncounted"]
# Calls and requests that were seen, and could not be counted.
DROPPED = ["calls_dropped", "records_dropped", "requests_untracked", "requests_unclaimed"]
# Not about calls: what was fetched from or sent to storage beyond what calls moved.
STORAGE_CAUSES: tuple[Cause, ...] = ("io_uring", "mapped", "pages")
NOT_MEASURED: dict[Direction, int | None] = {"read": None, "write": None}


@dataclass(frozen=True)
class Unprofiled:
    """A program that was begun `times` times and could not be profiled; its path, empty where it is not known. With the
    reason UNHEARD it may as well be that it still runs.
    """

    program: str
    reason: str
    times: int


@dataclass(frozen=True)
class Gap:
    """Bytes of one direction on which the wrappers and the kernel differ, and the likely cause: a guess.

    causes: small (reads such as those of the loader and libc; whose was not measured), bound_apart (the process opened
    libraries that bind past what is preloaded), copied (about as many in the other direction: copied within the
    kernel), dropped (the process has a problem that says calls or requests were not counted), past_libc (calls past the
    functions that are wrapped, or the loader's; whose was not measured), io_uring (fetched from or sent to storage by a
    process whose rings could not be followed), mapped (fetched from or sent to storage without a call), pages (fetched
    from or sent to storage around calls, for the kernel counts whole pages: no call went by unseen), uncounted (seen,
    but not in the kernel's count: asynchronous). calls: at most so
    many; None where the kernel's and ours cannot be compared.
    """

    direction: Direction
    cause: Cause
    bytes: int
    calls: int | None
    processes: int


@dataclass(frozen=True)
class Rings:
    """io_uring: its bytes are not in the kernel's count. `processes` made rings; `requests` were seen to complete,
    `unseen` completed unseen, bytes and all."""

    processes: int
    requests: int
    unseen: int


@dataclass(frozen=True)
class ProcessCoverage:
    """What was seen of one process and what the kernel counted of it, and the likely causes, the most bytes first.
    read, write: shares; None where the kernel counted nothing.
    """

    process: str
    program: str
    read: float | None
    write: float | None
    read_seen_bytes: int
    write_seen_bytes: int
    kernel_read_bytes: int
    kernel_write_bytes: int
    causes: list[Cause]


@dataclass(frozen=True)
class LeastSeen:
    """A process of whose bytes much was not seen. share: of `kernel_bytes`."""

    process: str
    program: str
    direction: Direction
    share: float
    kernel_bytes: int


@dataclass(frozen=True)
class Coverage:
    """What share of the kernel's bytes was seen, all descriptors taken together; None where the kernel counted nothing.

    kernel_read_bytes, kernel_write_bytes: what the shares are of: the processes' own and those of programs that could
    not be profiled, as far as known. processes: those whose kernel count is complete, over which the shares are; of:
    all of the job; killed: those of the job that were killed (a pool's workers by their parent, for instance), whose
    last count nobody could ask the kernel for. unprofiled_read_bytes, unprofiled_write_bytes: what the kernel counted
    for programs that could not be profiled: the more of what `slicewise run` and what the nodes' collectors saw; None
    where nobody measured it. sampled: those of these programs' processes that a collector sampled. gaps: the most bytes
    first. least_seen, by_process: the most unseen bytes first. io_uring: None where no process made a ring. imported:
    of a job from another profiler's log, where nobody asked the kernel; else None. is_sampled_alone: no process of the
    job was profiled, and it is known by those that were sampled.
    """

    read: float | None
    write: float | None
    kernel_read_bytes: int
    kernel_write_bytes: int
    processes: int
    of: int
    unprofiled: list[Unprofiled]
    unprofiled_read_bytes: int | None
    unprofiled_write_bytes: int | None
    gaps: list[Gap]
    least_seen: list[LeastSeen]
    io_uring: Rings | None
    by_process: list[ProcessCoverage]
    killed: int = 0
    imported: Imported | None = None
    sampled: list[Sampled] = field(default_factory=list)
    is_sampled_alone: bool = False


def _share(seen: int, kernel: int) -> float | None:
    """What share of the kernel's count was seen; None where that is 0."""
    return min(1.0, seen / kernel) if kernel else None


@kept_once
def coverage(digest: Digest) -> Coverage:
    """What share of the kernel's count of bytes the wrappers saw. A killed process, or one whose kernel count is
    incomplete, is left out: its count is not the whole. What programs moved that could not be profiled is part of the
    kernel's count where it is known.
    """
    processes = digest.processes.filter("is_of_job")
    troubled = digest.mishaps.filter(pl.col("mishap").is_in(PROBLEMS_OF_KERNEL_COUNT))
    ended = processes.filter(pl.col("ending").is_in(ENDINGS_WITH_KERNEL_COUNT))
    complete = ended.join(troubled, on="process", how="anti")
    by_process = coverage_by_process(digest, complete)
    unprofiled = unprofiled_programs(digest)
    is_sampled_alone = digest.processes.filter(is_profiled()).is_empty()
    sampled = sampled_processes(digest)
    if is_sampled_alone and not unprofiled:
        sampled = [replace(one, reason=OUTSIDE) for one in sampled]
    launched = _unprofiled_bytes(digest) if unprofiled else NOT_MEASURED
    unprofiled_bytes = {way: _more(launched[way], bytes_) for way, bytes_ in sampled_bytes(sampled).items()}
    kernel = {way: whole(by_process[f"{way}_kernel"].sum()) + (unprofiled_bytes[way] or 0) for way in DIRECTIONS}
    seen = {way: whole(by_process[f"{way}_seen"].sum()) for way in DIRECTIONS}
    gap_rows = _gap_rows(by_process)
    return Coverage(
        read=_share(seen["read"], kernel["read"]),
        write=_share(seen["write"], kernel["write"]),
        kernel_read_bytes=kernel["read"],
        kernel_write_bytes=kernel["write"],
        processes=count_processes(complete),
        of=count_processes(processes),
        unprofiled=unprofiled,
        unprofiled_read_bytes=unprofiled_bytes["read"],
        unprofiled_write_bytes=unprofiled_bytes["write"],
        gaps=_gaps(gap_rows),
        least_seen=_least_seen(by_process),
        io_uring=_rings(digest, processes),
        by_process=_each_process(by_process, gap_rows),
        killed=count_processes(processes.filter(pl.col("ending") == KILLED)),
        imported=imported(digest),
        sampled=sampled,
        is_sampled_alone=is_sampled_alone,
    )


def _more(one: int | None, other: int | None) -> int | None:
    """The greater of what two measured, of whom either may have measured nothing."""
    return max(known) if (known := [count for count in (one, other) if count is not None]) else None


def coverage_by_process(digest: Digest, processes: pl.DataFrame) -> pl.DataFrame:
    """One row a process of `processes`: process, label, program, the columns of the digest's frame `coverage`, and
    is_bound_apart, has_dropped, has_unseen_rings: what marks it by its problems."""
    kinds = (("is_bound_apart", [BOUND_APART]), ("has_dropped", DROPPED), ("has_unseen_rings", [RING_UNSEEN]))
    marks = {
        name: pl.col("process").is_in(digest.mishaps.filter(pl.col("mishap").is_in(problems))["process"].implode())
        for name, problems in kinds
    }
    whose = processes.select("process", "label", program="path")
    return digest.coverage.join(whose, on="process").with_columns(**marks)


def unprofiled_programs(digest: Digest) -> list[Unprofiled]:
    """The programs that the job's processes began and that could not be profiled, the most frequent first. Whoever
    began one noted it; a Go program with libraries notes itself. A process that became one without a note (its program
    is not known) is there too. One that was profiled after all is not.
    """
    hosts = digest.processes.select("process", "node")
    listed: dict[tuple[str, str], int] = {}
    noted_pids = pl.DataFrame(schema={"node": pl.String, "pid": pl.Int64})
    if not digest.unprofiled.is_empty():
        later = digest.processes.select("node", "pid", "start_ns").sort("start_ns")
        noted = (
            digest.unprofiled.join(hosts, on="process", how="left")
            .sort("time_ns")
            .join_asof(
                later,
                left_on="time_ns",
                right_on="start_ns",
                by=["node", "pid"],
                strategy="forward",
                check_sortedness=False,
            )
        )
        unseen = noted.with_columns(times=pl.col("times") - pl.col("start_ns").is_not_null()).filter(
            pl.col("times") > 0
        )
        noted_pids = unseen.select("node", "pid")
        for program, reason, times in unseen.select("program", "reason", "times").iter_rows():
            listed[program, reason] = listed.get((program, reason), 0) + times
    # Go programs with libraries: the wrappers are there, and Go's own calls pass them by.
    go = digest.mishaps.filter(pl.col("mishap") == "go_program")
    go_programs = [(path, "go") for path in digest.processes.join(go, on="process", how="semi")["path"]]
    for program, reason in (*_launched_unprofiled(digest), *go_programs):
        listed[program, reason] = listed.get((program, reason), 0) + 1
    # Processes whose last program that is known was replaced by another one.
    last = digest.processes.sort("start_ns").group_by("node", "pid").agg(pl.col("ending").last())
    vanished = last.filter(pl.col("ending") == "exec").join(noted_pids, on=["node", "pid"], how="anti").height
    if vanished:
        # A launch is noted as it ends: before that nobody says that the job is over.
        listed["", UNHEARD if digest.launches.is_empty() else "unknown"] = vanished
    return [
        Unprofiled(program, reason, times)
        for (program, reason), times in sorted(listed.items(), key=lambda entry: (-entry[1], entry[0]))
    ]


def _launched_unprofiled(digest: Digest) -> list[tuple[str, str]]:
    if digest.launches.is_empty():
        return []
    launched = digest.launches.filter(pl.col("reason") != "unknown")
    profiled = digest.processes.filter(is_profiled())
    return list(launched.join(profiled, on=["node", "pid"], how="anti").select("program", "reason").iter_rows())


def _unprofiled_bytes(digest: Digest) -> dict[Direction, int | None]:
    """What the kernel counted for launched commands and their descendants, less what it counted for those profiled.
    None where no command's count is there. Of a killed process nobody knows the kernel's last count: what was seen of
    it is taken for all of it, if that is more than what was last looked at.
    """
    if digest.launches.is_empty():
        return NOT_MEASURED
    there = digest.processes.join(digest.launches, on="node", how="semi")
    seen = coverage_by_process(digest, there).select("process", "read_seen", "write_seen")
    own = there.join(seen, on="process", how="left").group_by("node", "pid")
    ours = {"read": 0, "write": whole(digest.launches["own_bytes"].sum())}
    moved: dict[Direction, int | None] = {}
    for way in DIRECTIONS:
        counted = pl.col(f"all_{way}_bytes").max()  # not the sum: exec goes on counting
        known = whole(own.agg(known=pl.max_horizontal(counted, pl.col(f"{way}_seen").sum()))["known"].sum())
        moved[way] = max(0, whole(digest.launches[f"{way}_bytes"].sum()) - known - ours[way])
    return moved


def _gap_rows(by_process: pl.DataFrame) -> pl.DataFrame:
    """One row a process, direction and cause: process, direction, cause, bytes, calls."""
    frames = []
    read, write = (pl.col(f"{way}_kernel") - pl.col(f"{way}_seen") for way in DIRECTIONS)
    is_copied = (
        (read > 0) & (write > 0) & ((read - write).abs() <= MOST_COPY_DIFFERENCE * pl.max_horizontal(read, write))
    )
    names = {name: pl.lit(name) for name in get_args(Cause)}
    no_count = pl.lit(None, pl.Int64)
    for way in DIRECTIONS:
        seen, kernel, storage = (pl.col(f"{way}_{what}") for what in ("seen", "kernel", "storage"))
        unseen, calls = kernel - seen, (pl.col(f"{way}_calls_kernel") - pl.col(f"{way}_calls_seen")).clip(0)
        is_small = (unseen <= MOST_SMALL_BYTES) & (unseen <= calls * MOST_SMALL_CALL_BYTES) & pl.lit(way == "read")
        cause = (
            pl.when(is_copied & ~pl.col("is_bound_apart") & ~pl.col("has_dropped"))
            .then(names["copied"])
            .when(is_small)
            .then(names["small"])
            .when("is_bound_apart")
            .then(names["bound_apart"])
            .when("has_dropped")
            .then(names["dropped"])
            .otherwise(names["past_libc"])
        )
        stored = storage - kernel - pl.col(f"{way}_requested")
        mapped = pl.when("has_unseen_rings").then(0).otherwise(_stored_by_mappings(stored, pl.col(f"{way}_touches")))
        around = pl.when("has_unseen_rings").then(0).otherwise(stored - mapped)
        is_told = (stored > LITTLE_BYTES) & (stored > LEAST_STORED_SHARE * kernel)
        kinds = (
            (unseen > 0, cause, unseen, pl.when("has_stdio").then(no_count).otherwise(calls)),
            (unseen < 0, names["uncounted"], -unseen, no_count),
            (is_told & pl.col("has_unseen_rings"), names["io_uring"], stored, no_count),
            *(
                (is_told & (part > LEAST_STORED_SHARE * stored), names[cause], part, no_count)
                for cause, part in (("mapped", mapped), ("pages", around))
            ),
        )
        frames += [
            by_process.filter(which).select("process", direction=pl.lit(way), cause=named, bytes=moved, calls=counted)
            for which, named, moved, counted in kinds
        ]
    return pl.concat(frames)


def _stored_by_mappings(stored: pl.Expr, touches: pl.Expr) -> pl.Expr:
    """How many of the bytes that were stored beyond those of calls mapped files must have, or likely have, moved. At
    least what calls cannot have made even with the largest folios. Beyond that at most what was mapped, as far as calls
    with plain pages do not account for it; of pages that are evicted and fetched again, more.
    """
    at_least = stored - touches * LARGEST_FOLIO_BYTES
    mapped = pl.col("mapped").fill_null(stored)
    most = pl.when(mapped >= MAY_BE_EVICTED_BYTES).then(stored).otherwise(mapped)
    likely = pl.min_horizontal(stored - touches * PAGE_BYTES, most)
    return pl.max_horizontal(at_least, likely, 0)


def _gaps(gap_rows: pl.DataFrame) -> list[Gap]:
    whole_calls = pl.when(pl.col("calls").null_count() == 0).then(pl.col("calls").sum())
    sums = gap_rows.group_by("direction", "cause").agg(pl.col("bytes").sum(), whole_calls, pl.len().alias("processes"))
    gaps = [Gap(*row) for row in sums.select("direction", "cause", "bytes", "calls", "processes").iter_rows()]
    return sorted(gaps, key=lambda gap: (-gap.bytes, gap.direction, gap.cause))


def _rings(digest: Digest, processes: pl.DataFrame) -> Rings | None:
    own = digest.mishaps.join(processes, on="process", how="semi")
    users = own.filter(pl.col("mishap").is_in([RING_USED, RING_UNSEEN]))["process"].n_unique()
    if not users:
        return None
    requests = digest.calls.join(processes, on="process", how="semi").filter(
        pl.col("operation").str.starts_with(RING_OPERATIONS)
    )
    unseen = own.filter(pl.col("mishap") == RING_UNSEEN)
    return Rings(users, int(requests["calls"].sum()), int(unseen["count"].sum()))


def _each_process(by_process: pl.DataFrame, gap_rows: pl.DataFrame) -> list[ProcessCoverage]:
    causes = (
        gap_rows.sort("bytes", "direction", "cause", descending=[True, False, False])
        .group_by("process", maintain_order=True)
        .agg(pl.col("cause").unique(maintain_order=True).alias("causes"))
    )
    unseen = sum((pl.col(f"{way}_kernel") - pl.col(f"{way}_seen")).clip(0) for way in DIRECTIONS)
    rows = by_process.join(causes, on="process", how="left").sort(
        unseen, "label", "process", descending=[True, False, False]
    )
    return [
        ProcessCoverage(
            process=row["label"],
            program=row["program"],
            read=_share(row["read_seen"], row["read_kernel"]),
            write=_share(row["write_seen"], row["write_kernel"]),
            read_seen_bytes=row["read_seen"],
            write_seen_bytes=row["write_seen"],
            kernel_read_bytes=row["read_kernel"],
            kernel_write_bytes=row["write_kernel"],
            causes=row["causes"] or [],
        )
        for row in rows.iter_rows(named=True)
    ]


def _least_seen(by_process: pl.DataFrame) -> list[LeastSeen]:
    rows = []
    for way in DIRECTIONS:
        seen, kernel = pl.col(f"{way}_seen"), pl.col(f"{way}_kernel")
        poor = by_process.filter(kernel >= LEAST_BYTES_TO_NAME, seen < kernel * MOST_SHARE_TO_NAME)
        worst = poor.top_k(WORST_NAMED, by=kernel - seen)
        rows += [
            LeastSeen(label, program, way, share, kernel_bytes)
            for label, program, share, kernel_bytes in worst.select(
                "label", "program", seen / kernel, kernel.alias("bytes")
            ).iter_rows()
        ]
    return sorted(rows, key=lambda row: (row.share - 1) * row.kernel_bytes)[:WORST_NAMED]
