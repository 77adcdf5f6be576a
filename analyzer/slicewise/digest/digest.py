"""The one door between files and analyses: a source (a profile) becomes a few narrow, typed, documented frames, each
made when it is first asked for. All that has to be decided about a job is decided on the way: who its processes are and
which of them matter, which layers add up, which mounts are one storage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from slicewise.digest import nodes, slices
from slicewise.digest import processes as members
from slicewise.digest import sampled as outside
from slicewise.digest.clients import node_name
from slicewise.digest.coverage import is_stored, process_coverage
from slicewise.digest.layers import KERNEL_LAYER, is_own
from slicewise.digest.processes import DIRECTIONS, OF_FIRST_THREAD, SERVED, job_rows
from slicewise.digest.schema import FRAMES, conform
from slicewise.digest.storages import busiest_points, mounts_with_storage
from slicewise.profile.damage import Damage
from slicewise.profile.plan import SOURCE
from slicewise.profile.reader import Profile, read_profile
from slicewise.profile.schema import PayloadColumn
from slicewise.scalars import whole
from slicewise.text import safe_text, words


def outlined(about: Mapping[str, Any], frames: Iterable[str]) -> str:
    """HTML of a job's row of the frame `jobs`, and of the names of its frames. Every name is text."""
    runtime = words.duration((about["end_ns"] - about["start_ns"]) / 1e9)
    rows = {
        "program": about["program"],
        "ran on": words.processes_on_nodes(about["processes"], about["nodes"]),
        "runtime": f"{runtime} so far" if about["is_running"] else runtime,
        "written": words.size(about["write_bytes"]),
        "read": words.size(about["read_bytes"]),
        "frames": ", ".join(frames),
    }
    row = Markup("<tr><th style='text-align: left'>{}</th><td style='text-align: left'>{}</td></tr>")
    cells = Markup("").join(row.format(name, safe_text.visible(said)) for name, said in rows.items())
    title = Markup("<caption>Job {}</caption>").format(safe_text.visible(about["job"]))
    return str(Markup("<div class='slicewise'><table>{}{}</table></div>").format(title, cells))


# Tables that are most of a large profile, and of a few questions: who asks many jobs reads them later, if at all.
SELDOM = (
    "sites", "frames", "modules", "communication", "library_calls", "regions", "thread_waits", "accelerated",
    "hardware",
)  # fmt: skip
# files.past_cache of a file that was open with O_SYNC or O_DSYNC (schema/tables.def).
SYNCED = 2
PROCESS_FIGURES = (
    "profiler_ns", "call_cost_ps", "statx_ps", "site_ns", "all_read_bytes", "all_write_bytes", "waited_ns",
    "waits", "clock_error_ns",
)  # fmt: skip


def _frame(make: Callable[[Any], pl.DataFrame]) -> cached_property[pl.DataFrame]:
    """A frame: its rows come from the digest's source, or else are made."""

    @wraps(make)
    def found(self: Digest) -> pl.DataFrame:
        rows = self._source(make.__name__)
        if rows is None:
            return make(self)
        return rows.with_columns(job=pl.lit(self.job)) if "job" in rows.columns else rows

    return cached_property(found)


class Digest:
    """One job's digest. Every frame is as `digest.schema.FRAMES` lists it. beside: other jobs that wrote from its nodes
    to its storages; see `served.know_each_other`. served_by: what file servers counted of it, or of its nodes: who that
    is, the storage, and by slice (of its own length) what was `sent`.
    """

    beside: tuple[Digest, ...] = ()
    served_by: tuple[tuple[str, int, pl.DataFrame], ...] = ()
    # The columns that tell jobs apart, in a digest of several.
    _of: tuple[str, ...] = ()

    def __init__(self, profile: Profile, source: Callable[[str], pl.DataFrame | None] = lambda name: None) -> None:
        """source: gives the rows of a frame by its name; None if the frame is to be made of the profile."""
        self._profile, self._source = profile, source
        self.job = profile.job
        self.path = profile.path
        self.slice_ns = profile.slice_ns

    @property
    def own_name(self) -> str:
        """The job's name by itself: `job` may have a number behind it, where several of one name are read together."""
        return self._profile.job

    def _repr_html_(self) -> str:
        """What Jupyter shows of it: the job's row, and what it has."""
        return outlined(self.about, list(FRAMES))

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """The job's row of the frame `jobs`."""
        return self.jobs.row(0, named=True)

    @property
    def is_served(self) -> bool:
        """Whether file servers alone know the job, without its processes and their time in calls."""
        return bool(self.about["source"] == SERVED)

    @property
    def client(self) -> str:
        """The node, of a client that file servers counted and of which no job is known; else nothing."""
        node = str(self.processes["node"][0]) if self.is_served else members.unknown_node()
        return "" if node == members.unknown_node() else node_name(node)

    @_frame
    def _mounts(self) -> pl.DataFrame:
        return mounts_with_storage(self._profile.mounts, self._who.select("process", "node"))

    @cached_property
    def _who(self) -> pl.DataFrame:
        processes = self._profile.processes
        last_slices = self._profile.sums.group_by("process").agg(pl.col("slice").max())
        return (
            processes.with_columns(
                pl.col("rank", "ranks", "start_ns", "end_ns", "pid", "slice_ns").cast(pl.Int64), job=self._job_of_rows
            )
            .join(last_slices, on="process", how="left", maintain_order="left")
            .select(
                "job",
                "process",
                pl.col("host").cast(pl.String).alias("node"),
                "pid",
                "rank",
                "ranks",
                *(_or_zero(processes, name) for name in PROCESS_FIGURES),
                *(members.text(processes, name) for name in members.WHAT_IT_WAS_ASKED),
                path=pl.col("program").cast(pl.String),
                program=members.program(processes),
                # A job may begin several programs of MPI, one after the other, or from one another (MPI_Comm_spawn).
                label=pl.when(members.has_rank() & (pl.len().over("job", "rank") > 1))
                .then(pl.format("rank {} on {} (process {})", "rank", "host", "pid"))
                .when(members.has_rank())
                .then(pl.format("rank {} on {}", "rank", "host"))
                .otherwise(pl.format("process {} on {}", "pid", "host")),
                start_ns="start_ns",
                end_ns=members.end_ns(pl.col("slice_ns")),
                ending=pl.col("ending").cast(pl.String),
                clock=pl.col("clock").cast(pl.String),
                is_of_job=members.is_of_job(),
            )
        )

    @property
    def _job_of_rows(self) -> pl.Expr:
        return pl.lit(self.job)

    @_frame
    def process_slices(self) -> pl.DataFrame:
        """What each process did on each storage in each slice."""
        _ = self._active  # made of the same rows, which are most of a profile, and are gone afterwards
        taken = {column.name: column for column in self._profile.slices.get_columns()}
        self._profile = self._profile.with_tables(slices=pl.DataFrame())
        jobs = self._profile.processes.select("process", job=self._job_of_rows)
        return slices.process_slices(taken, self._profile.requests, self._mounts, jobs)

    @property
    def together(self) -> pl.DataFrame | None:
        """What the job did as a whole, a row a storage and slice; None if `process_slices` has to be asked for that."""
        return self._source("together")

    @_frame
    def fetched(self) -> pl.DataFrame:
        """What processes fetched by mapped files, and how long they waited for it: estimates."""
        if self.mapped.is_empty():
            return pl.DataFrame(schema=FRAMES["fetched"].polars_schema)
        from slicewise.digest.fetched import fetched_frame  # it brings numpy along

        return fetched_frame(self, self.mapped)

    @cached_property
    def mapped(self) -> pl.DataFrame:
        """process, storage, mapped_bytes: where files of storages were mapped."""
        sums = self._profile.sums
        known = sums if "mapped_bytes" in sums.columns else sums.with_columns(mapped_bytes=0)
        mapped = known.filter(pl.col("mapped_bytes") > 0).select("process", "mount", "mapped_bytes")
        files = self._mounts.filter(is_stored()).select("process", "mount", "storage")
        by_storage = mapped.join(files, on=["process", "mount"]).group_by("process", "storage")
        return by_storage.agg(pl.col("mapped_bytes").sum().cast(pl.Int64))

    @_frame
    def processes(self) -> pl.DataFrame:
        """Every process of the profile: who it is, whether it matters, and what it did in sum."""
        did = slices.process_sums(self._profile.sums, self._mounts)
        known = self._who.join(did, on="process", how="left", maintain_order="left").with_columns(
            pl.col(slices.SUMS).fill_null(0), pl.col(slices.SPREAD).fill_null(1)
        )
        ordered = known.with_columns(matters=members.matters()).sort("node", "rank", "process")
        return conform("processes", ordered)

    @_frame
    def mounts(self) -> pl.DataFrame:
        """The file systems that each process saw, where they were mounted, and how much was read and written there."""
        own = self._profile.sums.filter(is_own())
        moved = own.group_by("process", "mount").agg(pl.col("read_bytes", "write_bytes").sum())
        through = self._mounts.join(moved, on=["process", "mount"], how="left")
        through = through.join(self._past_cache(), on=["process", "mount"], how="left").with_columns(
            pl.col("read_bytes", "write_bytes", "past_cache_bytes", "synced_writes").fill_null(0)
        )
        return conform("mounts", through.sort("process", "storage", "point"))

    def _past_cache(self) -> pl.DataFrame:
        """process, mount, past_cache_bytes, synced_writes. Empty where the files were not read, or are of an older
        version.
        """
        sums = ("past_cache_bytes", "synced_writes")
        files = self._profile.tables.get("files")
        if files is None or "past_cache" not in files.columns:
            return pl.DataFrame(schema=dict.fromkeys(("process", "mount", *sums), pl.UInt64))
        past = files.filter(pl.col("past_cache") > 0)
        synced = pl.col("write_ops").filter(pl.col("past_cache") == SYNCED)
        return past.group_by("process", "mount").agg(
            past_cache_bytes=pl.col("write_bytes").sum(), synced_writes=synced.sum()
        )

    @_frame
    def storages(self) -> pl.DataFrame:
        """The file systems that any process saw; point: where most bytes went through."""
        return conform("storages", busiest_points(self._numbered(self.mounts), self._mounts, self._of), self._of)

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame with the columns that tell jobs apart, of which one job needs none."""
        return frame

    @_frame
    def jobs(self) -> pl.DataFrame:
        """The job in one row."""
        found = self._job_rows().with_columns(
            path=pl.lit(text_of_path(self._profile.path)), slice_ns=pl.lit(self.slice_ns)
        )
        return conform("jobs", found)

    def _job_rows(self) -> pl.DataFrame:
        """The columns of `jobs` that follow from its processes."""
        processes, launches = self._profile.processes, self._profile.launches
        texts = [members.text(processes, name) for name in ("account", "source")]
        return job_rows(
            self.processes,
            processes.select("process", pl.col("user").cast(pl.Int64), *texts),
            launches.with_columns(job=self._job_of_rows) if len(launches) else launches,
        )

    @_frame
    def files(self) -> pl.DataFrame:
        """What each process did with each file."""
        files = self._profile.files
        missing = [name for name in ("error_bytes", "error_ns") if name not in files.columns]
        return conform("files", files.with_columns(pl.lit(0, dtype=pl.UInt64).alias(name) for name in missing))

    @_frame
    def coverage(self) -> pl.DataFrame:
        """What was seen of each process, and what the kernel counted of it."""
        return conform("coverage", process_coverage(self._profile.sums.lazy(), self._profile.mounts))

    @_frame
    def calls(self) -> pl.DataFrame:
        """How often each process called each function."""
        return conform("calls", self._profile.calls)

    @_frame
    def mishaps(self) -> pl.DataFrame:
        """What trouble profiling met in each process."""
        return conform("mishaps", self._profile.mishaps)

    @_frame
    def unprofiled(self) -> pl.DataFrame:
        """The programs that were begun and could not be profiled."""
        return self._if_there("unprofiled", self._profile.unprofiled)

    @_frame
    def launches(self) -> pl.DataFrame:
        """The commands that `slicewise run` began."""
        found = self._profile.launches.rename({"host": "node"}, strict=False)
        known = found if "command" in found.columns else found.with_columns(command=pl.lit(""))
        return self._if_there("launches", known)

    @cached_property
    def _sampled(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        names = ("nodes", outside.PROCESSES, outside.SLICES)
        tables = {name: getattr(self._profile, name) for name in names}
        slice_ns = whole(self._profile.nodes["slice_ns"].max()) if not self._profile.nodes.is_empty() else self.slice_ns
        if tables[outside.PROCESSES].is_empty():
            return outside.sampled(tables, self._who, pl.DataFrame(), slice_ns)
        by_itself = self.mishaps.filter(pl.col("mishap") == "go_program")
        profiled = self._who.filter(members.is_profiled()).join(by_itself, on="process", how="anti")
        return outside.sampled(tables, profiled, self.coverage, slice_ns)

    @_frame
    def sampled_processes(self) -> pl.DataFrame:
        """The job's processes that no library profiled, as the nodes' collectors sampled them."""
        return outside.with_reasons(self._sampled[0], self.unprofiled, self.launches)

    @_frame
    def sampled_storages(self) -> pl.DataFrame:
        """Where these read and wrote, as far as known."""
        names = ("nodes", outside.MOUNTS, outside.MOVED)
        return outside.storages_of({name: getattr(self._profile, name) for name in names})

    @_frame
    def sampled_slices(self) -> pl.DataFrame:
        """What the kernel counted of these in each slice."""
        return self._sampled[1]

    @_frame
    def others(self) -> pl.DataFrame:
        """What processes without a profile that are not the job's moved on its nodes, by user and slice."""
        if self._profile.node_others.is_empty():
            return pl.DataFrame(schema=FRAMES["others"].polars_schema)
        tables = {name: getattr(self._profile, name) for name in ("nodes", outside.OF_OTHERS)}
        return outside.others(tables, whole(self._profile.nodes["slice_ns"].max()), *self._times)

    @property
    def _times(self) -> tuple[int, int | None]:
        """When the job began and ended (ns); None while it runs."""
        return self.about["start_ns"], None if self.about["is_running"] else self.about["end_ns"]

    def _if_there(self, name: str, table: pl.DataFrame, *order: str) -> pl.DataFrame:
        """A frame of a table that older profiles do not have. order: columns to sort it by."""
        if table.is_empty():
            return pl.DataFrame(schema=FRAMES[name].polars_schema)
        return conform(name, table.sort(order) if order else table, self._of)

    @cached_property
    def counters(self) -> pl.DataFrame:
        """Every counter of the profile but bins, added up over the job's own processes and all slices. A row for each
        kind of object, mount and layer: `object`, `point`, `type`, `source`, `layer`, `processes` (ids), and
        the counters by the profile's names and merge rules.
        """
        what = ["object", "point", "type", "source"]
        mounts = self._profile.mounts.select("process", "mount", pl.col(what).cast(pl.String))
        places = mounts.select(what).unique().with_row_index("place")
        numbered = mounts.join(places, on=what).select("process", "mount", "place")
        own = self.processes.lazy().filter("is_of_job").select("process")
        return (
            self._profile.sums.lazy()
            .join(own, on="process", how="semi")
            .join(numbered.lazy(), on=["process", "mount"], how="left")
            .group_by("place", "layer")
            .agg(pl.col("process").unique().alias("processes"), *merged(self.counter_columns))
            .join(places.lazy(), on="place", how="left", nulls_equal=True)
            .with_columns(pl.col("object").fill_null("other"), pl.col("point", "type", "source").fill_null(""))
            .sort("object", "point", "type", "source", "layer")
            .select(*what, "layer", "processes", *(column.name for column in self.counter_columns))
            .collect()
        )

    @cached_property
    def active_slices(self) -> pl.Series:
        """The numbers of the slices in which any of the job's own processes made a call, on whatever descriptor."""
        return self._active["slice"]

    @_frame
    def _active(self) -> pl.DataFrame:
        """`active_slices`, of whichever job."""
        others = self._who.lazy().filter(~pl.col("is_of_job")).select("process")
        tables = [table for table in (self._profile.slices, self._profile.other_slices) if not table.is_empty()]
        rows = [table.lazy() for table in tables]
        calls = [
            table.filter(pl.col("layer") != KERNEL_LAYER) if "layer" in table.collect_schema() else table
            for table in rows
        ]
        own = [table.join(others, on="process", how="anti") for table in calls]
        found = pl.collect_all([table.select(*self._of, "slice").unique() for table in own])
        nothing = pl.DataFrame(schema={**dict.fromkeys(self._of, pl.UInt32), "slice": pl.Int64})
        return pl.concat([nothing, *found]).unique()

    @property
    def counter_columns(self) -> list[PayloadColumn]:
        """The profile's own description of the columns of `counters`: name, unit, merge rule, meaning."""
        return [
            column
            for column in self._profile.schema.table("slices").columns
            # Threads do not add up: one thread is in many slices.
            if column.merge in ("SUM", "MAX") and not column.bins and column.unit != "threads"
        ]

    @property
    def is_by_layer(self) -> bool:
        """Whether `counters` has a row for each layer, and rows for objects other than files."""
        return True

    @property
    def not_kept(self) -> Mapping[str, str]:
        """Frames that the job's profile had and this digest (from a catalog) lacks, with what each is, in words."""
        return {}

    @property
    def notes(self) -> list[str]:
        """Sentences about how the job was recorded that readers of an analysis should know."""
        found = (outside.left_out, outside.not_told)
        return [line for told in found for line in told(self.job, self._profile.nodes)]

    @property
    def damage(self) -> list[Damage]:
        """What of the job's files could not be read."""
        return self._profile.damage

    def meanings(self, enumeration: str) -> dict[str, str]:
        """What the names of one of the profile's enumerations mean, by name: "mishaps", "operations", ..."""
        return self._profile.schema.meanings.get(enumeration, {})

    def kind_of_operation(self, name: str) -> str:
        """What kind of call an operation is: read, write, meta, sync or completion; empty: it is not known."""
        return self._profile.schema.operations.get(name, {}).get("kind", "")

    @_frame
    def distributions(self) -> pl.DataFrame:
        """How large and how slow the job's calls were; from a profile that was read with its distributions."""
        if not self._bin_names:  # an imported job's, or not asked for
            return pl.DataFrame(schema=FRAMES["distributions"].polars_schema)
        calls = self._own_on_files().select(pl.col(self._bin_names).sum()).collect().row(0, named=True)
        return pl.DataFrame(self._binned(calls), schema=FRAMES["distributions"].polars_schema, orient="row")

    @_frame
    def storage_distributions(self) -> pl.DataFrame:
        """The same by file system; from a profile that was read with its distributions."""
        if not self._bin_names:
            return pl.DataFrame(schema=FRAMES["storage_distributions"].polars_schema)
        summed = self._own_on_files().group_by("storage").agg(pl.col(self._bin_names).sum()).sort("storage").collect()
        rows = [(calls["storage"], *row) for calls in summed.to_dicts() for row in self._binned(calls)]
        return pl.DataFrame(rows, schema=FRAMES["storage_distributions"].polars_schema, orient="row")

    @_frame
    def accesses(self) -> pl.DataFrame:
        """The calls of each direction on each file system, and how many of them went on where the last one ended."""
        rows = self._own_on_files()
        if "read_sequential" not in rows.collect_schema().names():  # an imported job's
            return pl.DataFrame(schema=FRAMES["accesses"].polars_schema)
        # Profiles of 1.0.0 do not count them.
        missing = [name for name in ("read_first", "write_first") if name not in rows.collect_schema().names()]
        rows = rows.with_columns(pl.lit(0, pl.Int64).alias(name) for name in missing)
        directions = [
            rows.group_by("storage").agg(
                direction=pl.lit(direction),
                calls=pl.col(f"{direction}_ops").sum(),
                bytes=pl.col(f"{direction}_bytes").sum(),
                sequential=pl.col(f"{direction}_sequential").sum(),
                consecutive=pl.col(f"{direction}_consecutive").sum(),
                first=pl.col(f"{direction}_first").sum(),
            )
            for direction in DIRECTIONS
        ]
        counted = pl.concat(directions).filter(pl.col("calls") > 0).sort("storage", "direction")
        return conform("accesses", counted.collect())

    def _own_on_files(self) -> pl.LazyFrame:
        """The profile's sums of the job's own processes on files, with the storage of each row."""
        own = self.processes.lazy().filter("is_of_job").select("process")
        rows = self._profile.sums.lazy().filter(is_own()).join(own, on="process", how="semi")
        places = self._mounts.lazy().select("process", "mount", "storage")
        return rows.join(places, on=["process", "mount"])

    @property
    def _bin_names(self) -> list[str]:
        edges = self._profile.schema.bin_edges
        names = [f"{name}_{place}" for name, lower in edges.items() for place in range(len(lower))]
        return names if names and {*names} <= {*self._own_on_files().collect_schema().names()} else []

    def _binned(self, calls: Mapping[str, int]) -> list[tuple[object, ...]]:
        """Rows of kind, what, bin, least, most and calls, from the calls by the bins' names."""
        return [
            (*name.rsplit("_", 1), place, least, above and above - 1, calls[f"{name}_{place}"])
            for name, lower in self._profile.schema.bin_edges.items()
            for place, (least, above) in enumerate(zip_longest(lower, lower[1:]))
        ]

    @_frame
    def events(self) -> pl.DataFrame:
        """The hardware events that were counted."""
        named = self._profile.events.rename({"event": "number", "name": "event"}, strict=False)
        known = named.unique([*self._of, "event"], maintain_order=True) if not named.is_empty() else named
        return self._if_there("events", known)

    @_frame
    def hardware(self) -> pl.DataFrame:
        """The hardware events of each process and slice."""
        if self._profile.hardware.is_empty() or self._profile.events.is_empty():
            return pl.DataFrame(schema=FRAMES["hardware"].polars_schema)
        names = self._profile.events.select("process", number=pl.col("event").cast(pl.Int64), event=pl.col("name"))
        counted = (
            self._profile.hardware.drop("number", SOURCE, strict=False)
            .unpivot(index=["process", "slice"], variable_name="number")
            .with_columns(pl.col("number").str.strip_prefix("event_").cast(pl.Int64))
            .join(names, on=["process", "number"])
            .group_by("process", "slice", "event")
            .agg(pl.col("value").sum())
        )
        return conform("hardware", counted.sort("process", "slice", "event"))

    @_frame
    def waits(self) -> pl.DataFrame:
        """How long each process waited in each slice for its turn at I/O, where jobs take turns."""
        table = self._profile.waits
        if table.is_empty():
            return pl.DataFrame(schema=FRAMES["waits"].polars_schema)
        summed = table.group_by("process", "slice").agg(pl.col("waited_ns", "waits").sum())
        return conform("waits", summed.sort("process", "slice"))

    @_frame
    def communication(self) -> pl.DataFrame:
        """What each process did in calls of MPI, by class and slice."""
        # Its keys are the table's own: the reader has added up what is of one.
        return self._if_there("communication", self._profile.communication, "process", "slice", "class")

    @_frame
    def library_calls(self) -> pl.DataFrame:
        """What each process did in calls of I/O libraries, by function."""
        return self._if_there("library_calls", self._profile.library_calls, "process", "function")

    @_frame
    def regions(self) -> pl.DataFrame:
        """The regions that the program marked, by process and occurrence."""
        table = self._profile.regions.rename({"name": "region"}, strict=False)
        return self._if_there("regions", table, "process", "begin_ns", "number")

    @_frame
    def thread_waits(self) -> pl.DataFrame:
        """How long threads of each process waited for each other and for accelerators, by kind and slice."""
        return self._if_there("thread_waits", self._profile.thread_waits, "process", "slice", "kind")

    @_frame
    def accelerated(self) -> pl.DataFrame:
        """What accelerators did for each process, by kind and slice."""
        return self._if_there("accelerated", self._profile.accelerated, "process", "slice", "kind")

    @_frame
    def usage(self) -> pl.DataFrame:
        """What the kernel counted of each process from one look to the next."""
        found = self._profile.usage
        if found.height:
            older = [name for name in OF_FIRST_THREAD if name not in found.columns]
            found = found.with_columns(pl.lit(None, pl.Int64).alias(name) for name in older)
        return self._if_there("usage", found, "process", "slice")

    @_frame
    def sites(self) -> pl.DataFrame:
        """Samples of the processes' call sites."""
        if self._profile.sites.is_empty():
            return pl.DataFrame(schema=FRAMES["sites"].polars_schema)
        each_ns = self.processes.select("process", "site_ns")
        summed = (
            self._profile.sites.join(each_ns, on="process")
            .group_by("process", "site", "operation", "slice")
            .agg(
                pl.col("samples").sum(),
                seconds=(pl.col("samples").cast(pl.Float64) * pl.col("site_ns")).sum() / 1e9,
                bytes=pl.col("likely_bytes").sum(),
                calls=pl.col("likely_calls").sum() / 1000,
            )
        )
        return conform("sites", summed.sort("process", "site", "operation", "slice"))

    @_frame
    def site_frames(self) -> pl.DataFrame:
        """The stacks of the processes' call sites."""
        if self._profile.frames.is_empty():
            return pl.DataFrame(schema=FRAMES["site_frames"].polars_schema)
        modules = self._profile.modules.select("process", "module", "path", "build_id")
        stacks = self._profile.frames.join(modules, on=["process", "module"], how="left").with_columns(
            module=pl.col("path").fill_null(""), build_id=pl.col("build_id").fill_null("")
        )
        return conform("site_frames", stacks.sort("process", "site", "depth"))

    @cached_property
    def node_slice_ns(self) -> int:
        """The length of a slice of the nodes' frames, which need not be the job's."""
        return whole(self._profile.nodes["slice_ns"].max()) if self._has_nodes else self.slice_ns

    @property
    def _has_nodes(self) -> bool:
        return not (self._profile.node_slices.is_empty() or self._profile.nodes.is_empty())

    @cached_property
    def _node_times(self) -> pl.DataFrame:
        return nodes.sampled(self._node_tables, self.node_slice_ns, *self._times)

    @property
    def _node_tables(self) -> Mapping[str, pl.DataFrame]:
        return {name: getattr(self._profile, name) for name in ("nodes", "node_devices", *nodes.TABLES)}

    @cached_property
    def addresses(self) -> Mapping[str, frozenset[str]]:
        """The addresses by which nodes were connected to storage, by node; of nodes that a collector sampled."""
        return nodes.addresses(self._node_tables) if self._has_nodes else {}

    @_frame
    def node_samples(self) -> pl.DataFrame:
        """The time that was sampled of each node and slice while the job ran."""
        if not self._has_nodes:
            return pl.DataFrame(schema=FRAMES["node_samples"].polars_schema)
        watches = "waiting_ns" in self._profile.node_waits.columns  # older collectors did not
        summed = self._node_times.group_by("node", "slice").agg(pl.col("seconds").sum())
        summed = summed.with_columns(watched_seconds=pl.col("seconds") * watches)
        return conform("node_samples", summed.sort("node", "slice"))

    @_frame
    def node_slices(self) -> pl.DataFrame:
        """The signals of nodes and their devices, where they were not 0."""
        if not self._has_nodes:
            return pl.DataFrame(schema=FRAMES["node_slices"].polars_schema)
        return conform("node_slices", nodes.counted(self._node_tables, self._node_times))


def read_digest(
    path: str | Path, *, in_sum: bool = False, distributions: bool = False, needs_axis: bool = True,
    without: Collection[str] = (),
) -> Digest:  # fmt: skip
    """The digest of a job's directory or file, for which no more is read than its frames need. in_sum: without
    `process_slices` and what is made of it, which are most of a large job. distributions, needs_axis, without: see
    `read_profile`.
    """
    wanted = (slices.NONE, slices.IN_WHICH, slices.NONE) if in_sum else (slices.WANTED, slices.OTHERS, slices.REQUESTS)
    return Digest(read_profile(path, False, needs_axis, distributions, *wanted, without=without))


def merged(counters: Iterable[PayloadColumn]) -> list[pl.Expr]:
    """Columns of counters, put together over rows by their merge rules."""
    return [
        pl.col(column.name).sum() if column.merge == "SUM" else pl.col(column.name).max().fill_null(0)
        for column in counters
    ]


def _or_zero(processes: pl.DataFrame, name: str) -> pl.Expr:
    """A figure that older profiles do not have."""
    return (pl.col(name).cast(pl.Int64) if name in processes.columns else pl.lit(0)).alias(name)


def text_of_path(path: Path) -> str:
    """A path as text: what is no UTF-8 in it is replaced."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
