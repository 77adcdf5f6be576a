"""What each process did on each storage in each slice, free of layers that lie on each other."""

import functools
import operator
from collections.abc import Collection, Iterator

import polars as pl

from slicewise.digest.layers import KERNEL_LAYER, MPIIO_LAYERS, OWN_LAYERS, REQUEST_LAYER, is_call, is_own
from slicewise.digest.processes import DIRECTIONS
from slicewise.digest.schema import FRAMES, conform
from slicewise.kinds import KINDS
from slicewise.profile.plan import Want

BYTES = tuple(f"{direction}_bytes" for direction in DIRECTIONS)
OPS = tuple(f"{kind}_ops" for kind in KINDS)
TIMES = tuple(f"{kind}_ns" for kind in KINDS)
REQUEST_TIMES = tuple(f"{direction}_request_ns" for direction in DIRECTIONS)
SUMS = (*BYTES, *OPS, *TIMES, *REQUEST_TIMES)
# Over how many slices the bytes of a row were spread. Imported jobs alone have it; all others counted where they were.
SPREAD = "spread"

# What of a profile's slices the digest is made of: of the layers that add up what they did, of the others when.
WANTED = Want("slices", (*BYTES, *OPS, *TIMES, "threads", SPREAD), without=("layer", (*MPIIO_LAYERS, KERNEL_LAYER)))
OTHERS = Want("slices", (), summed_over=("mount",), without=("layer", (*OWN_LAYERS, KERNEL_LAYER)))
# The same where sums over all slices are enough: only when there were any calls.
IN_WHICH = Want("slices", (), summed_over=("mount",), without=("layer", (KERNEL_LAYER,)))
NONE = Want("")

KEYS = ["process", "storage", "slice"]
# Rows that are grouped at once, so that memory does not grow with the job.
ROWS_AT_ONCE = 1 << 17


def synced_ns() -> pl.Expr:
    """Time in syncs of rows of `process_slices`. What waits for requests (io_getevents, aio_suspend, io_uring_enter)
    is counted with the syncs, and is no longer than the requests were under way: their own time has it.
    """
    return (pl.col("sync_ns") - pl.sum_horizontal(REQUEST_TIMES)).clip(0)


def process_slices(rows: dict[str, pl.Series], sums: pl.DataFrame, mounts: pl.DataFrame) -> pl.DataFrame:
    """The frame `process_slices`. rows: the columns of a profile's slices, sorted by process, mount, layer and slice;
    they are taken out of the dict and freed one by one. sums: the same added up over slices. mounts: with their storage
    (see storages.py); rows on anything but files drop out. A thread is in the counts of several layers and mounts:
    `threads` is the largest of them, at least 1.
    """
    if "slice" not in rows:
        raise ValueError("this job was read in sum: what it did in each slice is not known")
    if not len(rows["slice"]):
        return pl.DataFrame(schema=FRAMES["process_slices"].polars_schema)
    storages = mounts.select("process", "mount", "storage")
    places = sums.filter(is_own()).select("process", "mount", "layer").join(storages, on=["process", "mount"])
    is_one_each = not places.select("process", "storage").is_duplicated().any()
    rows["storage"] = _storage_of_rows([rows[name] for name in ("process", "mount")], storages)
    rows.pop("mount")
    is_own_row = pl.DataFrame([rows["layer"]]).select(is_own()).to_series()
    is_file = is_own_row & rows["storage"].is_not_null()
    if is_one_each:
        has_requests = bool((places["layer"] == REQUEST_LAYER).any())
        taken = _taken(rows, None if is_file.all() else is_file, has_requests)
        in_order = places.sort("process", "mount", "layer").select("process", "storage")
        return taken if in_order.equals(in_order.sort("process", "storage")) else taken.sort(KEYS)
    frame = pl.DataFrame(list(rows.values()))
    rows.clear()
    frame = frame.with_columns(is_file=is_file)
    return pl.concat(conform("process_slices", _grouped(part.filter("is_file"))) for part in some_processes(frame))


def _storage_of_rows(keys: list[pl.Series], storages: pl.DataFrame) -> pl.Series:
    """The storage of each row. Rows of one mount stand together, and so one of each run is looked up, not all."""
    is_new = functools.reduce(operator.or_, ((key != key.shift()).fill_null(True) for key in keys))
    runs = pl.DataFrame([key.filter(is_new) for key in keys])
    of_runs = runs.join(storages, on=runs.columns, how="left", maintain_order="left")["storage"]
    return of_runs.gather(is_new.cum_sum() - 1)


def _taken(rows: dict[str, pl.Series], is_taken: pl.Series | None, has_requests: bool) -> pl.DataFrame:
    """Rows that are already one each process, storage and slice."""

    def take(name: str) -> pl.Series:
        column = rows.pop(name)
        return column if is_taken is None else column.filter(is_taken)

    layer = take("layer")
    columns = {name: take(name) for name in [*rows]}
    height = len(layer)
    nothing = pl.Series("", [0], pl.Int64).new_from_index(0, height)
    columns["threads"] = columns["threads"].clip(1)
    columns[SPREAD] = columns[SPREAD].clip(1) if SPREAD in columns else nothing + 1
    for name in REQUEST_TIMES:
        columns[name] = nothing
    if has_requests:
        is_request = layer == REQUEST_LAYER
        for direction in DIRECTIONS:
            columns[f"{direction}_request_ns"] = columns[f"{direction}_ns"].zip_with(
                is_request, nothing.cast(pl.UInt64)
            )
        for kind in KINDS:
            columns[f"{kind}_ns"] = columns[f"{kind}_ns"].zip_with(~is_request, nothing.cast(pl.UInt64))
    made = []
    for name, about in FRAMES["process_slices"].columns.items():
        made.append(columns.pop(name).cast(about.dtype).alias(name))
    return pl.DataFrame(made)


def some_processes(rows: pl.DataFrame, rows_at_once: int = ROWS_AT_ONCE) -> Iterator[pl.DataFrame]:
    """Rows that are sorted by process, all of some processes at a time, so that memory does not grow with the job.
    rows_at_once: about so many at a time; of a process with more, all.
    """
    ends = rows["process"].rle().struct.field("len").cum_sum()
    begin = 0
    while begin < rows.height:
        reached = ends.search_sorted(min(begin + rows_at_once, rows.height))
        end = int(ends[int(reached)])
        yield rows[begin:end]
        begin = end


def _grouped(rows: pl.DataFrame) -> pl.DataFrame:
    has_requests = bool((rows["layer"] == REQUEST_LAYER).any())
    return (
        _by_kind(rows.lazy(), has_requests)
        .group_by(KEYS)
        .agg(pl.col(SUMS).sum(), pl.col("threads").max().clip(1), most_spread(rows.columns))
        .sort(KEYS)
        .collect()
    )


def most_spread(columns: Collection[str]) -> pl.Expr:
    """Over how many slices bytes of rows with these columns were spread at most."""
    return pl.col(SPREAD).max().clip(1) if SPREAD in columns else pl.lit(1).alias(SPREAD)


def process_sums(sums: pl.DataFrame, mounts: pl.DataFrame) -> pl.DataFrame:
    """What each process did on files in all slices: process, the columns of SUMS, and SPREAD."""
    on_files = mounts.select("process", "mount")
    rows = sums.lazy().filter(is_own()).join(on_files.lazy(), on=["process", "mount"], how="semi")
    return _by_kind(rows, True).group_by("process").agg(pl.col(SUMS).sum(), most_spread(sums.columns)).collect()


def _by_kind(rows: pl.LazyFrame, has_requests: bool) -> pl.LazyFrame:
    """Rows of profiles with the times of requests in columns of their own: what is filtered while it is grouped costs
    several times as much as what is grouped alone.
    """
    if not has_requests:
        return rows.with_columns(pl.lit(0, pl.UInt64).alias(name) for name in REQUEST_TIMES)
    is_request = pl.col("layer") == REQUEST_LAYER
    return rows.with_columns(
        pl.when(is_request).then(f"{way}_ns").otherwise(0).alias(f"{way}_request_ns") for way in DIRECTIONS
    ).with_columns(pl.when(is_call()).then(name).otherwise(0).alias(name) for name in TIMES)


def with_mapped(slices: pl.DataFrame, fetched: pl.DataFrame) -> pl.DataFrame:
    """Rows of `process_slices` in which what mapped files fetched was read too: the bytes, a call for each fault, and
    the waits as time in reads. Both frames may have one more key in common. Sorted where anything was fetched.
    """
    if fetched.is_empty():
        return slices
    keys = [name for name in slices.columns if name in fetched.columns]
    read = fetched.select(*keys, read_bytes="fetched_bytes", read_ops="faults", read_ns="waited_ns")
    figures = {name: dtype for name, dtype in slices.schema.items() if name in SUMS}
    others = [name for name in slices.columns if name not in (*keys, *figures)]
    both = pl.concat([slices, read.cast({name: figures[name] for name in read.columns[len(keys) :]})], how="diagonal")
    summed = both.group_by(keys).agg(pl.col(*figures).sum(), pl.col(others).max().fill_null(1))
    return summed.select(slices.columns).sort(keys)


def sums() -> list[pl.Expr]:
    """The columns of `process_slices` that add up over slices, storages and processes, summed."""
    return [pl.col(name).sum() for name in SUMS]
