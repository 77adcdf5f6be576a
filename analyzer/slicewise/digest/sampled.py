"""Processes of the job that no library profiled, as the nodes' collectors sampled them from outside: quality "sampled".

What the kernel counted of them lies in frames of its own and never in `processes` or `process_slices`: it takes in
pipes, terminals and sockets beside files, and no storage. So no total of calls has any of it. A process that was
profiled as well, before or after or unknown to the collector, is taken out here and nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import polars as pl

from slicewise.digest.company import NEVER, while_alive
from slicewise.digest.nodes import is_within, runs_of
from slicewise.digest.processes import DIRECTIONS, WITHOUT_PATH
from slicewise.digest.schema import FRAMES, conform
from slicewise.digest.storages import mounts_with_storage

PROCESSES, SLICES = "node_processes", "node_process_slices"
MOUNTS, MOVED = "node_mounts", "node_process_mounts"
KEYS = ["process", "nth"]
# The file's names of what the digest counts: how many calls, and bytes on storage.
COUNTS = {
    **{f"{way}_{what}": f"{way}_{what}" for way in DIRECTIONS for what in ("bytes", "ops")},
    **{f"storage_{way}_bytes": f"kernel_{way}_bytes" for way in DIRECTIONS},
}
UNSURE = "unsure_ns"
T_Frame = TypeVar("T_Frame", pl.DataFrame, pl.LazyFrame)
LEFT_OUT = "processes_left_out"
EXEC = "exec"
UNKNOWN = "unknown"


def sampled(
    tables: Mapping[str, pl.DataFrame], profiled: pl.DataFrame, coverage: pl.DataFrame, slice_ns: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The frames `sampled_processes`, without the reasons why, and `sampled_slices`. tables: nodes, node_processes and
    node_process_slices, as a profile has them. profiled: the digest's processes (who they are is enough). coverage: the
    digest's frame. slice_ns: of the slices that are told.
    """
    empty = tuple(pl.DataFrame(schema=FRAMES[name].polars_schema) for name in ("sampled_processes", "sampled_slices"))
    if any(tables[name].is_empty() for name in (PROCESSES, "nodes")):
        return empty[0], empty[1]
    runs = runs_of(tables)
    who = (
        tables[PROCESSES]
        .rename({"number": "nth"})
        .join(runs, on="process")
        .with_columns(
            pl.col("nth", "pid", "inner_pid", "start_ns", "first_ns", "end_ns").cast(pl.Int64),
            path=pl.col("program").cast(pl.String),
            program=pl.col("program").cast(pl.String).str.extract(f"({WITHOUT_PATH})"),
        )
    )
    rows = (
        tables[SLICES]
        .rename({"number": "nth"})
        .with_columns(pl.col("nth", "slice", UNSURE, *COUNTS.values()).cast(pl.Int64))
        .join(runs, on="process")
        .select(
            *KEYS,
            slice=pl.col("slice") * pl.col("run_slice_ns").cast(pl.Int64) // slice_ns,
            **{name: pl.col(column) for name, column in COUNTS.items()},
            **{UNSURE: pl.col(UNSURE)},
        )
        .group_by(*KEYS, "slice")
        .agg(pl.col(*COUNTS, UNSURE).sum())
        .sort(*KEYS, "slice")
    )
    rows = _without_profiled(rows, who, profiled, coverage, slice_ns)
    summed = rows.group_by(KEYS).agg(pl.col(*COUNTS).sum(), last=pl.col("slice").max())
    found = (
        who.join(summed, on=KEYS, how="left")
        .with_columns(
            pl.col(*COUNTS).fill_null(0),
            is_refused=pl.col("is_refused") > 0,
            # Nobody wrote when a collector that was killed looked last.
            end_ns=pl.max_horizontal("end_ns", (pl.col("last") * slice_ns).fill_null(0)),
            label=pl.format("process {} on {}", "pid", "node"),
            reason=pl.lit(UNKNOWN),
        )
        .filter(pl.col("is_refused") | (pl.sum_horizontal(*COUNTS) > 0))
        .sort("node", "start_ns", "pid", "nth")
    )
    return conform("sampled_processes", found), conform("sampled_slices", rows)


def storages_of(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The frame `sampled_storages`. tables: nodes, node_mounts and node_process_mounts, as a profile has them (those of
    older versions have none of the last two).
    """
    if any(tables[name].is_empty() for name in ("nodes", MOUNTS, MOVED)):
        return pl.DataFrame(schema=FRAMES["sampled_storages"].polars_schema)
    known = tables[MOUNTS].with_columns(object=pl.lit("file")).filter(pl.col("type").cast(pl.String) != "")
    where = mounts_with_storage(known, runs_of(tables))
    ways = [f"{way}_bytes" for way in DIRECTIONS]
    places = (
        tables[MOVED]
        .rename({"number": "nth"}, strict=False)
        .join(where, on=["process", "mount"])
        .with_columns(pl.col(ways).cast(pl.Float64))
        .sort(*KEYS, pl.sum_horizontal(ways), "point", descending=[False, False, True, False])
        .group_by(*KEYS, "storage", maintain_order=True)
        .agg(pl.col("point").first(), pl.col(ways).sum())
    )
    shares = {f"{way}_share": (pl.col(f"{way}_bytes") / pl.col(f"{way}_bytes").sum().over(KEYS)) for way in DIRECTIONS}
    found = places.with_columns(pl.col("nth").cast(pl.Int64), **shares).with_columns(pl.col(*shares).fill_nan(0.0))
    return conform("sampled_storages", found.sort(*KEYS, "storage"))


def on_storages(slices: T_Frame, storages: T_Frame, of: Sequence[str] = ()) -> T_Frame:
    """What the kernel moved between storages and memory for sampled processes, where it is known on which storage:
    KEYS, storage, slice, read_bytes, write_bytes. slices, storages: the frames, with `of` in front, which tells jobs
    apart.
    """
    moved = {
        f"{way}_bytes": (pl.col(f"storage_{way}_bytes") * pl.col(f"{way}_share")).round().cast(pl.Int64)
        for way in DIRECTIONS
    }
    rows = slices.join(storages, on=[*of, *KEYS]).select(*of, *KEYS, "storage", "slice", **moved)
    return rows.filter(pl.sum_horizontal(*moved) > 0)


def active(moved: pl.DataFrame, processes: pl.DataFrame) -> pl.DataFrame:
    """When the kernel moved bytes for sampled processes: rows of `company.active`. moved: job, `on_storages`, and the
    length of its slices, slice_ns. processes: KEYS, start_ns, end_ns.
    """
    begin_ns = pl.col("slice").cast(pl.Int64) * pl.col("slice_ns").cast(pl.Int64)
    lived = processes.select(*KEYS, pl.col("start_ns").cast(pl.Int64), ended_ns=pl.col("end_ns").cast(pl.Int64))
    rows = (
        moved.join(lived, on=KEYS)
        .with_columns(begin_ns=begin_ns)
        .with_columns(
            end_ns=pl.col("begin_ns") + pl.col("slice_ns").cast(pl.Int64),
            # Nobody wrote when a collector that was killed looked last.
            ended_ns=pl.max_horizontal("ended_ns", pl.col("begin_ns").max().over(KEYS)),
        )
    )
    return while_alive(rows).select(pl.col(name).cast(dtype) for name, dtype in NEVER.schema.items())


def left_out(job: str, nodes: pl.DataFrame) -> Iterator[str]:
    """Which collectors had more processes without the library than they could sample. nodes: as a profile has them."""
    if LEFT_OUT not in nodes.columns:
        return
    by_node = nodes.group_by(pl.col("host").cast(pl.String)).agg(pl.col(LEFT_OUT).sum()).filter(pl.col(LEFT_OUT) > 0)
    for node, count in by_node.sort("host").iter_rows():
        yield (
            f"{job}: on {node} {count:,} processes that could not be profiled were not sampled either when they were "
            "found, since the collector already followed as many as it can: what they moved may be missing"
        )


def _without_profiled(
    rows: pl.DataFrame, who: pl.DataFrame, profiled: pl.DataFrame, coverage: pl.DataFrame, slice_ns: int
) -> pl.DataFrame:
    """The rows without what the same process counted itself by a library. A profiled process with the same process id
    that lived at the same time was the same process. If another program took its place by exec before the second look,
    which comes at a slice's end, the kernel's count goes on from what it was then: so much is taken off the first
    slices. Else both were there at once, or the profiled program came later: slices in which it lived go.
    """
    clashes = _clashes(who, profiled, coverage)
    if clashes.is_empty():
        return rows
    began_before = pl.col("own_start_ns") // slice_ns <= pl.col("first_ns") // slice_ns
    is_predecessor = began_before & (pl.col("ending") == EXEC) & (pl.col("own_path") != pl.col("path"))
    is_counted = (pl.col("is_from_start") > 0) | (pl.col("own_start_ns") >= pl.col("first_ns"))
    before = clashes.filter(is_predecessor, is_counted).group_by(KEYS)
    taken = [f"taken_{name}" for name in COUNTS]
    rows = rows.join(before.agg(pl.col(taken).sum()), on=KEYS, how="left").with_columns(pl.col(taken).fill_null(0))
    for name in COUNTS:
        left = (pl.col(name).cum_sum().over(KEYS) - pl.col(f"taken_{name}")).clip(0)
        rows = rows.with_columns(left=left).with_columns(
            (pl.col("left") - pl.col("left").shift(1, fill_value=0).over(KEYS)).alias(name)
        )
    rows = rows.drop(*taken, "left")
    beside = clashes.filter(~is_predecessor).select(
        *KEYS, first=pl.col("own_start_ns") // slice_ns, last=(pl.col("own_end_ns") - 1) // slice_ns
    )
    covered = (
        rows.select(*KEYS, "slice")
        .join(beside, on=KEYS)
        .filter(pl.col("slice").is_between("first", "last"))
        .select(*KEYS, "slice")
        .unique()
    )
    return rows.join(covered, on=[*KEYS, "slice"], how="anti").sort(*KEYS, "slice")


def _clashes(who: pl.DataFrame, profiled: pl.DataFrame, coverage: pl.DataFrame) -> pl.DataFrame:
    """Sampled processes with the profiled ones that were the same process: the columns of both, and what the kernel had
    counted of the profiled one by its end."""
    of_storage = coverage.select(
        "process", *(f"{way}_{what}" for way in DIRECTIONS for what in ("calls_kernel", "storage"))
    )
    own = profiled.join(of_storage, on="process", how="left").select(
        "pid",
        own_node="node",
        own_path="path",
        own_start_ns="start_ns",
        own_end_ns="end_ns",
        ending="ending",
        **{f"taken_{way}_bytes": pl.col(f"all_{way}_bytes") for way in DIRECTIONS},
        **{f"taken_{way}_ops": pl.col(f"{way}_calls_kernel").fill_null(0) for way in DIRECTIONS},
        **{f"taken_storage_{way}_bytes": pl.col(f"{way}_storage").fill_null(0) for way in DIRECTIONS},
    )
    here = who.join(own, on="pid").filter(pl.col("node") == pl.col("own_node"))
    # In a container it may go by another number, and its node by another name.
    contained = who.filter(pl.col("inner_pid") != pl.col("pid")).join(own, left_on="inner_pid", right_on="pid")
    both = pl.concat([here, contained.filter(pl.col("path") == pl.col("own_path"))], how="diagonal")
    return both.filter(pl.col("own_start_ns") <= pl.col("end_ns"), pl.col("own_end_ns") >= pl.col("start_ns"))


def with_reasons(found: pl.DataFrame, noted: pl.DataFrame, launched: pl.DataFrame) -> pl.DataFrame:
    """The frame `sampled_processes` with the reasons, as `unprofiled` and `launches` know them."""
    known = pl.concat([frame.select(path="program", why="reason") for frame in (noted, launched)])
    known = known.filter(pl.col("why") != UNKNOWN).unique("path", keep="first", maintain_order=True)
    named = found.join(known, on="path", how="left", maintain_order="left")
    return conform("sampled_processes", named.with_columns(reason=pl.coalesce("why", "reason")))


OF_OTHERS = "node_others"
NOT_NAMED = 0xFFFF_FFFF
OTHERS_REFUSED, OTHERS_LEFT_OUT = "others_refused", "others_left_out"


def others(tables: Mapping[str, pl.DataFrame], slice_ns: int, start_ns: int, end_ns: int | None) -> pl.DataFrame:
    """The frame `others`. tables: nodes and node_others, as a profile has them. slice_ns: of the slices that are told.
    Slices outside of the job's time are left out; end_ns: None while it runs.
    """
    if tables[OF_OTHERS].is_empty() or tables["nodes"].is_empty():
        return pl.DataFrame(schema=FRAMES["others"].polars_schema)
    found = (
        tables[OF_OTHERS]
        .join(runs_of(tables), on="process")
        .select(
            "node",
            user=pl.when(pl.col("user") != NOT_NAMED).then(pl.col("user").cast(pl.Int64)),
            slice=(pl.col("slice") * pl.col("run_slice_ns") // slice_ns).cast(pl.Int64),
            processes="processes",
            **{name: pl.col(column) for name, column in COUNTS.items()},
            **{UNSURE: pl.col(UNSURE)},
        )
        .filter(is_within(slice_ns, start_ns, end_ns))
        .group_by("node", "user", "slice")
        .agg(pl.col("processes", UNSURE).max(), pl.col(*COUNTS).sum())
    )
    return conform("others", found.sort("node", "user", "slice"))


def not_told(job: str, nodes: pl.DataFrame) -> Iterator[str]:
    """Which collectors could not count all others. nodes: as a profile has them."""
    if OTHERS_REFUSED not in nodes.columns:
        return
    by_node = nodes.group_by(pl.col("host").cast(pl.String)).agg(
        pl.col(OTHERS_REFUSED).max(), pl.col(OTHERS_LEFT_OUT).sum()
    )
    for node, refused, left_out in by_node.sort("host").iter_rows():
        if refused:
            yield (
                f"{job}: on {node} the kernel did not tell what others' processes moved, {refused:,} of them: it is "
                "not among the unprofiled neighbours"
            )
        if left_out:
            yield (
                f"{job}: on {node} {left_out:,} times a process of others could not be counted: what it moved is "
                "missing from the unprofiled neighbours"
            )
