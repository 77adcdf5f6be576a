"""Where in the program the I/O was (and waiting and computing, if that was sampled): samples of call sites with their
frames as a reader knows them, and flame graphs.

Frames in, frames out. One sample stands for as much time as the profile says.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from slicewise.digest.activity import DIRECTIONS, Direction
from slicewise.digest.digest import Digest
from slicewise.digest.layers import is_call, is_own
from slicewise.digest.slices import TIMES
from slicewise.kinds import ACCELERATOR, Cost
from slicewise.scalars import real, whole
from slicewise.symbols.resolve import CodePlace, resolve

COSTS: dict[Cost, str] = {"time": "seconds", "bytes": "bytes", "calls": "calls"}
# What has no stack of its own: more call sites than there was room for.
ALL_OTHERS = (CodePlace("(call sites beyond the table)"),)
# What a program's name has of its script ("perl count.pl"); of one that stands on the command line (-c), nothing.
SCRIPT = r"^\S+ ([^-\s].*)$"

# What is sampled beside calls, and stands in the place of a function's name: waits of threads, computing.
WAITING = {
    "lock": "waiting for a lock",
    "condition": "waiting for a condition",
    "barrier": "waiting at a barrier",
    "join": "waiting for a thread's end",
    "semaphore": "waiting for a semaphore",
    ACCELERATOR: "waiting for an accelerator",
    "idle": "idling (OpenMP)",
}
COMPUTING = {"computing": "computing", "communicating": "computing in MPI"}
BESIDE_CALLS = WAITING | COMPUTING

SAMPLES_SCHEMA = pl.Schema(
    {
        "stack": pl.UInt32, "process": pl.UInt64, "slice": pl.Int64, "operation": pl.String, "samples": pl.Int64,
        "seconds": pl.Float64, "bytes": pl.Float64, "calls": pl.Float64,
    }
)  # fmt: skip


@dataclass(frozen=True)
class Sites:
    """stacks: each a tuple of places, the outermost first, the function that was called last. samples: one row a stack,
    process and slice, `SAMPLES_SCHEMA`; seconds, bytes and calls are what the samples stand for: estimates. Of
    a function and process together they are the calls that were counted; bytes are no more than moved.

    sample_seconds: time that one sample stands for; None where none were taken. elsewhere: the share of the job's
    time in calls, and so of the samples, that was on pipes, sockets and devices.
    """

    stacks: list[tuple[CodePlace, ...]]
    samples: pl.DataFrame
    sample_seconds: float | None
    elsewhere: float = 0.0


def sites(digest: Digest, search: Sequence[Path] = (), *, has_all: bool = False) -> Sites:
    """The call sites of a job's own processes, resolved. search: directories with the programs or their debug
    information, for a machine that has them elsewhere. has_all: not of I/O alone, but of all that was sampled.
    """
    processes = digest.processes.filter("is_of_job")
    weighed = digest.sites.filter(pl.col("seconds") > 0)  # 0: a profile that does not tell what a sample stands for
    weighed = weighed if has_all else weighed.filter(_is_call())
    own = _as_counted(weighed.join(processes, on="process", how="semi"), digest)
    if own.is_empty():
        return Sites([], pl.DataFrame(schema=SAMPLES_SCHEMA), None)
    shapes, site_stacks = _stacks(digest, search)
    keys = own.select("process", "site", "operation").unique().sort("process", "site", "operation")
    keys = keys.join(shapes, on=["process", "site"], how="left", maintain_order="left")
    scripts = processes.select("process", script=pl.col("program").str.extract(SCRIPT).fill_null(""))
    keys = keys.join(scripts, on="process", how="left", maintain_order="left")
    # Most processes have the same stacks: each is looked at once, in the order in which they are met.
    what = ["shape", "operation", "script"]
    met = keys.select(what).unique(maintain_order=True)
    numbers: dict[tuple[CodePlace, ...], int] = {}
    stack_of = [
        numbers.setdefault(
            (
                *_with_script(ALL_OTHERS if shape is None else site_stacks[shape], script),
                CodePlace(BESIDE_CALLS.get(operation, operation)),
            ),
            len(numbers),
        )
        for shape, operation, script in met.iter_rows()
    ]
    met = met.with_columns(pl.Series("stack", stack_of, pl.UInt32))
    keys = keys.join(met, on=what, nulls_equal=True, maintain_order="left").drop("shape", "script")
    samples = (
        own.join(keys, on=["process", "site", "operation"])
        .group_by("stack", "process", "slice", "operation")
        .agg(pl.col("samples", "seconds", "bytes", "calls").sum())
        .select(pl.col(name).cast(dtype) for name, dtype in SAMPLES_SCHEMA.items())
        .sort("stack", "process", "slice")
    )
    return Sites(list(numbers), samples, whole(digest.processes["site_ns"].max()) / 1e9, _elsewhere(digest))


def _is_call() -> pl.Expr:
    return ~pl.col("operation").is_in(list(BESIDE_CALLS))


def of_calls(found: Sites) -> Sites:
    """Those of I/O."""
    return replace(found, samples=found.samples.filter(_is_call()))


def of_waits(found: Sites) -> Sites:
    """Those of waits of threads for each other and for accelerators."""
    return replace(found, samples=found.samples.filter(pl.col("operation").is_in(list(WAITING))), elsewhere=0.0)


def is_of_calls(found: Sites) -> bool:
    """Whether there are no others among them."""
    return of_calls(found).samples.height == found.samples.height


def _with_script(stack: tuple[CodePlace, ...], script: str) -> tuple[CodePlace, ...]:
    """The same, below the script's name if an interpreter whose lines are not known ran one."""
    is_known = any(place.file and not place.module for place in stack)
    return stack if is_known or not script else (CodePlace(script, "", script), *stack)


def _elsewhere(digest: Digest) -> float:
    calls = digest.counters.filter(is_call()).select("object", ns=pl.sum_horizontal(TIMES))
    ns, of_files = int(calls["ns"].sum()), int(calls.filter(pl.col("object") == "file")["ns"].sum())
    return 1 - of_files / ns if ns else 0.0


def _as_counted(own: pl.DataFrame, digest: Digest) -> pl.DataFrame:
    """Rows of samples that stand for as many calls as the process made of that function; their bytes go with them, and
    are no more than the process, and the job, read and wrote.
    """
    if digest.calls.is_empty():
        return own
    counted = digest.calls.select("process", "operation", counted="calls")
    estimated = pl.col("calls").sum().over("process", "operation")
    factor = (
        pl.when(estimated > 0).then(pl.col("counted") / estimated).otherwise(1.0)
    )  # 0: of calls of an hour and more
    rows = own.join(counted, on=["process", "operation"], how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("calls", "bytes") * factor.fill_null(1.0)).drop("counted")
    for way in DIRECTIONS:
        names = [name for name in rows["operation"].unique() if digest.kind_of_operation(name) == way]
        is_way = pl.col("operation").is_in(names) & ~pl.col("operation").str.starts_with("MPI_")  # which end in others
        rows = _as_the_process(rows, is_way, digest, way)
        moved, told = digest.counters.filter(is_own())[f"{way}_bytes"].sum(), real(rows.filter(is_way)["bytes"].sum())
        if told > moved:
            rows = rows.with_columns(bytes=pl.when(is_way).then(pl.col("bytes") * moved / told).otherwise("bytes"))
    return rows


def _as_the_process(rows: pl.DataFrame, is_way: pl.Expr, digest: Digest, way: Direction) -> pl.DataFrame:
    """The same with no more bytes of a direction than the process was seen to move, or the kernel counted: another
    process's pipe may have moved far more.
    """
    if "coverage" in digest.not_kept:
        return rows
    most = digest.coverage.select("process", most=pl.max_horizontal(f"{way}_seen", f"{way}_kernel"))
    told = pl.when(is_way).then("bytes").otherwise(0.0).sum().over("process")
    factor = pl.when(is_way & (pl.col("most") > 0) & (told > pl.col("most"))).then(pl.col("most") / told).otherwise(1.0)
    rows = rows.join(most, on="process", how="left", maintain_order="left")
    return rows.with_columns(bytes=pl.col("bytes") * factor).drop("most")


def _stacks(digest: Digest, search: Sequence[Path]) -> tuple[pl.DataFrame, list[tuple[CodePlace, ...]]]:
    """The shape of each (process, site), a number, and the frames of each shape, the outermost first."""
    what = ["module", "build_id", "offset", "function", "file", "line"]
    frames = digest.site_frames.lazy()
    known = frames.select(what).unique().with_row_index("frame").collect()
    shapes = (
        frames.join(known.lazy(), on=what, how="left", nulls_equal=True)
        .sort("process", "site", "depth", descending=[False, False, True])
        .group_by("process", "site", maintain_order=True)
        .agg(frames=pl.col("frame").cast(pl.String).str.join(","))
        .collect()
    )
    asked: dict[tuple[str, str], set[int]] = defaultdict(set)
    for module, build_id, offset in (
        known.filter(pl.col("function") == "").select("module", "build_id", "offset").iter_rows()
    ):
        asked[module, build_id].add(offset)
    resolved = {key: resolve(*key, offsets, search) for key, offsets in asked.items()}
    places = [
        (CodePlace(frame["function"], "", frame["file"], frame["line"]),)
        if frame["function"]
        else tuple(reversed(resolved[frame["module"], frame["build_id"]][frame["offset"]]))
        for frame in known.iter_rows(named=True)
    ]
    texts = shapes.select("frames").unique().with_row_index("shape")
    stacks = [tuple(place for at in text.split(",") for place in places[int(at)]) for text in texts["frames"]]
    return shapes.join(texts, on="frames").select("process", "site", "shape"), stacks


def totals(found: Sites) -> pl.DataFrame:
    """stack, samples, seconds, bytes, calls, first_slice, last_slice, processes of each stack, the longest first."""
    return (
        found.samples.group_by("stack")
        .agg(
            pl.col("samples", "seconds", "bytes", "calls").sum(),
            first_slice=pl.col("slice").min(),
            last_slice=pl.col("slice").max(),
            processes=pl.col("process").n_unique(),
        )
        .sort("seconds", "stack", descending=[True, False])
    )


def folded(found: Sites, cost: Cost) -> list[tuple[tuple[str, ...], float]]:
    """Each stack as its frames' names, the outermost first, with what it cost; the same names added up, sorted."""
    summed: dict[tuple[str, ...], float] = defaultdict(float)
    for stack, value in totals(found).select("stack", COSTS[cost]).iter_rows():
        summed[tuple(place.function for place in found.stacks[stack])] += value
    return sorted(summed.items())
