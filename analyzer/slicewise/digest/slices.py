"""What each process did on each storage in each slice, free of layers that lie on each other."""

import functools
import operator
from collections.abc import Collection, Iterator

import polars as pl

from slicewise.constants import LEAST_OF_JOB, LITTLE_BYTES, NEARLY_ALL
from slicewise.digest.layers import KERNEL_LAYER, OWN_LAYERS, REQUEST_LAYER, is_call, is_own
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
# Of bytes read, those that storage had in the slice; null: it had them when they were read, as far as is known.
FETCHED = "fetched_read_bytes"

# What of a profile's slices the digest is made of: of the layers that add up what they did, of the others when. Few
# profiles have requests, whose times are no calls'.
WANTED = Want("slices", (*BYTES, *OPS, *TIMES, "threads", SPREAD), summed_over=("layer",), only=("layer", OWN_LAYERS))
# The kernel's count says in which slices storage, and not memory, had what a process read.
REQUESTS = Want("slices", (*TIMES, "kernel_read_bytes"), only=("layer", (REQUEST_LAYER, KERNEL_LAYER)))
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


def process_slices(
    rows: dict[str, pl.Series], requests: pl.DataFrame, mounts: pl.DataFrame, jobs: pl.DataFrame
) -> pl.DataFrame:
    """The frame `process_slices`. rows: the columns of a profile's slices, sorted by process, mount and slice, without
    a layer (as WANTED has them), or of all layers; they are taken out of the dict and freed one by one. requests: as
    REQUESTS has them. mounts: with their storage (see storages.py); rows on anything but files drop out. A thread is in
    the counts of several layers and mounts: `threads` is the largest of them, at least 1. jobs: process, job.
    """
    if "slice" not in rows:
        raise ValueError("this job was read in sum: what it did in each slice is not known")
    if not len(rows["slice"]):
        return pl.DataFrame(schema=FRAMES["process_slices"].polars_schema)
    storages = mounts.select("process", "mount", "storage")
    by_kernel = requests.filter(pl.col("layer") == KERNEL_LAYER) if "layer" in requests.columns else requests.clear()
    requests = requests.remove(pl.col("layer") == KERNEL_LAYER) if "layer" in requests.columns else requests
    if "layer" in rows:
        of_layers = pl.DataFrame(list(rows.values()))
        by_kernel = of_layers.filter(pl.col("layer") == KERNEL_LAYER)
        of_layers = of_layers.filter(is_own())
        requests = of_layers.filter(pl.col("layer") == REQUEST_LAYER)
        greatest = [pl.col(name).max() for name in ("threads", SPREAD) if name in rows]
        summed = of_layers.group_by(_OF_MOUNT).agg(pl.col(*BYTES, *OPS, *TIMES).sum(), *greatest)
        rows = {column.name: column for column in summed.sort(_OF_MOUNT).get_columns()}
    if requests.height:
        rows = _with_requests(pl.DataFrame(list(rows.values())), requests)
    runs = _runs([rows["process"], rows.pop("mount")])
    places = runs.join(storages, on=["process", "mount"]).sort("process", "storage", "begin")
    if not places.select("process", "storage").is_duplicated().any():
        return _with_fetched(_taken(rows, places), by_kernel, jobs)
    frame = pl.DataFrame(list(_rows_of(rows, places).values()))
    grouped = pl.concat(conform("process_slices", _grouped(part)) for part in some_processes(frame))
    return _with_fetched(grouped, by_kernel, jobs)


def _with_fetched(rows: pl.DataFrame, by_kernel: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Rows with FETCHED: what a job read, where and when storage had it, and not memory (a file that is read twice, or
    right after it was written): in proportion to what the kernel fetched, so that sums stay what they are. Of jobs that
    read nearly all from one storage, of which memory had a part that is worth a word, and whose time in reads goes by
    what was fetched better than by what they read. by_kernel: rows of that layer.
    """
    if "kernel_read_bytes" not in by_kernel.columns or by_kernel["kernel_read_bytes"].sum() < LITTLE_BYTES:
        return rows
    read, fetched = (pl.col(name).sum() for name in ("read_bytes", "fetched"))
    counted = by_kernel.select("process", "slice", fetched=pl.col("kernel_read_bytes").cast(pl.Int64))
    # Few jobs have any, and sums by process say which.
    some = (
        rows.group_by("process", "storage").agg(read).join(jobs, on="process").group_by("job", "storage").agg(read)
        .filter(pl.col("read_bytes") >= NEARLY_ALL * read.over("job"), pl.col("read_bytes") > 0)
        .join(counted.group_by("process").agg(fetched).join(jobs, on="process").group_by("job").agg(fetched), on="job")
        .filter(pl.col("fetched") >= LITTLE_BYTES)
        .filter((pl.col("fetched") / pl.col("read_bytes")).is_between(LEAST_OF_JOB, NEARLY_ALL))
    )  # fmt: skip
    if some.is_empty():
        return rows
    both = (
        rows.select(*KEYS, "read_bytes", "read_ns")
        .join(jobs, on="process")
        .join(some, on=["job", "storage"], how="semi")
        .join(counted.group_by("process", "slice").agg(fetched), on=["process", "slice"], how="left")
        .with_columns(pl.col("fetched").fill_null(0))
    )
    of_time = pl.col("read_ns") / pl.col("read_ns").sum()
    off = {name: (pl.col(name) / pl.col(name).sum() - of_time).abs().sum() for name in ("read_bytes", "fetched")}
    slices = both.group_by("job", "slice").agg(pl.col("read_bytes", "read_ns", "fetched").sum())
    found = slices.group_by("job").agg(**off).filter(pl.col("fetched") < pl.col("read_bytes"))
    moved = (pl.col("fetched") * (read / fetched).over("job")).round().cast(pl.Int64)
    its = both.with_columns(moved.alias(FETCHED)).join(found, on="job", how="semi").select(*KEYS, FETCHED)
    whole = rows.drop(FETCHED).join(its, on=KEYS, how="left", maintain_order="left")
    return whole.select(rows.columns)


_OF_MOUNT = ("process", "mount", "slice")


def _with_requests(rows: pl.DataFrame, requests: pl.DataFrame) -> dict[str, pl.Series]:
    """Columns of rows with the times of requests in columns of their own."""
    its = requests.select(*_OF_MOUNT, *(pl.col(name).alias(f"request {name}") for name in TIMES))
    both = rows.join(its, on=_OF_MOUNT, how="left", maintain_order="left")
    of_requests = {name: pl.col(f"request {name}").fill_null(0) for name in TIMES}
    ways = {f"{way}_request_ns": of_requests[f"{way}_ns"] for way in DIRECTIONS}
    apart = both.with_columns(*(pl.col(name) - of_requests[name] for name in TIMES), **ways)
    return {column.name: column for column in apart.drop(f"request {name}" for name in TIMES).get_columns()}


def _runs(keys: list[pl.Series]) -> pl.DataFrame:
    """Where runs of rows with the same keys begin, and how many rows they have."""
    is_new = functools.reduce(operator.or_, ((key != key.shift()).fill_null(True) for key in keys))
    begins = is_new.arg_true().alias("begin")
    ends = pl.concat([begins[1:], pl.Series([len(is_new)], dtype=begins.dtype)])
    return pl.DataFrame([*(key.gather(begins) for key in keys), begins, (ends - begins).alias("rows")])


def _rows_of(rows: dict[str, pl.Series], places: pl.DataFrame) -> dict[str, pl.Series]:
    """The rows of some runs, in their order, with their storage: `rows` is empty then."""
    is_all = places["rows"].sum() == len(rows["slice"]) and places["begin"].is_sorted()
    ranges = pl.int_ranges("begin", pl.col("begin") + pl.col("rows"))
    which = None if is_all else places.select(ranges.explode(empty_as_null=False)).to_series()
    storage = places.select(pl.col("storage").repeat_by("rows").explode(empty_as_null=False)).to_series()
    taken = {name: rows.pop(name) if which is None else rows.pop(name).gather(which) for name in [*rows]}
    return taken | {"storage": storage}


def _taken(rows: dict[str, pl.Series], places: pl.DataFrame) -> pl.DataFrame:
    """Rows that are already one each process, storage and slice."""
    columns = _rows_of(rows, places)
    nothing = pl.Series("", [0], pl.Int64).new_from_index(0, len(columns["slice"]))
    columns["threads"] = columns["threads"].clip(1)
    columns[SPREAD] = columns[SPREAD].clip(1) if SPREAD in columns else nothing + 1
    columns[FETCHED] = pl.Series([None], dtype=pl.Int64).new_from_index(0, len(nothing))
    made = []
    for name, about in FRAMES["process_slices"].columns.items():
        made.append(columns.pop(name, nothing).cast(about.dtype).alias(name))
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
    sums = [pl.col(name).sum() for name in SUMS if name in rows.columns]
    found = rows.group_by(KEYS).agg(*sums, pl.col("threads").max().clip(1), most_spread(rows.columns)).sort(KEYS)
    zeros = (pl.lit(0, pl.Int64).alias(name) for name in SUMS if name not in rows.columns)
    return found.with_columns(*zeros, pl.lit(None, pl.Int64).alias(FETCHED))


def most_spread(columns: Collection[str]) -> pl.Expr:
    """Over how many slices bytes of rows with these columns were spread at most."""
    return pl.col(SPREAD).max().clip(1) if SPREAD in columns else pl.lit(1).alias(SPREAD)


def process_sums(sums: pl.DataFrame, mounts: pl.DataFrame) -> pl.DataFrame:
    """What each process did on files in all slices: process, the columns of SUMS, and SPREAD."""
    on_files = mounts.select("process", "mount")
    rows = sums.lazy().filter(is_own()).join(on_files.lazy(), on=["process", "mount"], how="semi")
    return _by_kind(rows).group_by("process").agg(pl.col(SUMS).sum(), most_spread(sums.columns)).collect()


def _by_kind(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows of profiles with the times of requests in columns of their own: what is filtered while it is grouped costs
    several times as much as what is grouped alone.
    """
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
    others = [name for name in slices.columns if name not in (*keys, *figures, FETCHED)]
    both = pl.concat([slices, read.cast({name: figures[name] for name in read.columns[len(keys) :]})], how="diagonal")
    moved = pl.when(pl.col(FETCHED).is_not_null().any()).then(pl.coalesce(FETCHED, "read_bytes").sum()).alias(FETCHED)
    its = [moved] if FETCHED in slices.columns else []
    summed = both.group_by(keys).agg(pl.col(*figures).sum(), pl.col(others).max().fill_null(1), *its)
    return summed.select(slices.columns).sort(keys)


def sums() -> list[pl.Expr]:
    """The columns of `process_slices` that add up over slices, storages and processes, summed."""
    return [pl.col(name).sum() for name in SUMS]
