"""Darshan logs as jobs: DXT segments become events as they are, heat maps' bins are spread over their slices. Counters
say how much was moved, DXT and heat maps when: a log where these lack any of it is refused. What has no time of its own
(metadata, standard streams without a heat map) is spread over the time of such calls on its file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from slicewise.constants import SECOND_NS
from slicewise.digest.processes import unknown_node
from slicewise.errors import UserError
from slicewise.imports import events
from slicewise.imports.darshan_log import (
    DXT,
    HEATMAP,
    MODULES,
    OBJECT_MODULES,
    SHARED_RANK,
    STREAMS,
    HeatBins,
    Log,
    Record,
    load,
)
from slicewise.imports.events import Numbers, by_weight
from slicewise.imports.job import OTHER_THINGS, WAYS, Gathered, ImportedJob, Mount, Process, identity, mount_of
from slicewise.text import words


@dataclass(frozen=True)
class RecordAmounts:
    """What a record of counters says of one direction. mount, file: numbers."""

    rank: int
    mount: int
    file: int
    bytes: int
    calls: int
    busy_ns: int


def heat_rows(
    log: Log, heat: Sequence[HeatBins], amounts: Sequence[RecordAmounts], module: str, way: str
) -> Iterator[tuple[int, ...]]:
    """What each rank moved on a file in one bin of a module: rank, mount, file, begin_ns, end_ns, bytes, calls and
    busy_ns. Raises UserError where map and counters differ by more than rounding.
    """
    moving = [one for one in amounts if one.bytes]
    counted, mapped = sum(one.bytes for one in moving), sum(int(one.bins.sum()) for one in heat)
    bins = sum(np.count_nonzero(one.bins) for one in heat)
    if abs(counted - mapped) > sum(one.calls for one in moving) + bins:
        raise UserError(
            f"{log.place}: the heat map of {module} has {mapped:,} of {counted:,} bytes that were "
            f"{'read' if way == 'read' else 'written'}; nothing says when the rest was moved"
        )
    if not moving:
        return
    ranks = {one.rank: one for one in heat}
    for place, shares in zip(moving, _shares(moving, heat), strict=True):
        for parts in _parts(place, shares, list(ranks)):
            yield from _rows(log, ranks[parts.rank], parts)


def _shares(moving: Sequence[RecordAmounts], heat: Sequence[HeatBins]) -> list[Numbers]:
    """How many of each record's bytes each rank moved; of a shared file by what its map has beyond its own files."""
    place = {one.rank: number for number, one in enumerate(heat)}
    rest = np.array([int(one.bins.sum()) for one in heat], np.int64)
    for one in moving:
        if one.rank in place:
            rest[place[one.rank]] -= one.bytes
    weights = np.maximum(rest, 0)
    if not weights.sum():
        weights = np.ones(len(heat), np.int64)
    shares = []
    for one in moving:
        own = np.zeros(len(heat), np.int64)
        if one.rank in place:
            own[place[one.rank]] = one.bytes
        else:
            own = by_weight(one.bytes, weights)
        shares.append(own)
    return shares


def _parts(whole: RecordAmounts, shares: Numbers, ranks: Sequence[int]) -> Iterator[RecordAmounts]:
    """A record's bytes, calls and time by rank."""
    if whole.rank in ranks:
        yield whole
        return
    assert whole.rank == SHARED_RANK
    calls, busy = by_weight(whole.calls, shares), by_weight(whole.busy_ns, shares)
    for rank, moved, number, spent in zip(ranks, shares.tolist(), calls.tolist(), busy.tolist(), strict=True):
        if moved or number or spent:
            yield RecordAmounts(rank, whole.mount, whole.file, moved, number, spent)


def _rows(log: Log, heat: HeatBins, part: RecordAmounts) -> Iterator[tuple[int, ...]]:
    used = np.flatnonzero(heat.bins)
    weights = heat.bins[used]
    amounts = [by_weight(amount, weights) for amount in (part.bytes, part.calls, part.busy_ns)]
    width = heat.bin_seconds * SECOND_NS
    for number, moved, calls, busy in zip(used.tolist(), *(one.tolist() for one in amounts), strict=True):
        if moved or calls or busy:
            begin, end = log.start_ns + round(number * width), log.start_ns + round((number + 1) * width)
            yield heat.rank, part.mount, part.file, begin, max(end, begin + 1), moved, calls, busy


LAYERS = {"POSIX": "posix", "STDIO": "stdio"}
NAMES = {"read": ("BYTES_READ", "READS", "READ"), "write": ("BYTES_WRITTEN", "WRITES", "WRITE")}
META = {"POSIX": ("OPENS", "SEEKS", "STATS"), "STDIO": ("OPENS", "SEEKS")}
SYNCS = {"POSIX": ("FSYNCS", "FDSYNCS"), "STDIO": ("FLUSHES",)}
# File systems of one node. All others are taken for one storage wherever they are mounted.
OF_A_NODE = {
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "devtmpfs", "ramfs", "rootfs", "overlay", "overlayfs",
    "aufs", "squashfs", "vfat", "iso9660", "unknown", "proc", "sysfs", "devpts", "hugetlbfs", "cgroup", "cgroup2",
    "none",
}  # fmt: skip
NON_MPI = -1
# What the name of a mapped log has: Darshan removes it as the process ends.
MAPPED = "mmap-log"
NEITHER = (
    "has neither DXT nor heat maps, so it does not say when anything was moved; run the program with "
    "DXT_ENABLE_IO_TRACE=1, or with Darshan 3.4 or newer"
)


def read_logs(
    places: Sequence[Path], slice_ns: int, heat_maps: bool, known: Mapping[str, Mount], shift_ns: int = 0
) -> tuple[list[ImportedJob], list[str]]:
    """The jobs of some logs, and a line for each log that is refused; a job of which a log is refused is refused, too.
    heat_maps: take heat maps also where there is DXT. known: what is mounted where, by mount point. shift_ns: by so
    much the clock of the logs was slow.
    """
    logs: dict[tuple[int, str], list[Log]] = {}
    refused: list[str] = []
    lacking: set[tuple[int, str]] = set()
    for place in dict.fromkeys(places):
        try:
            log = load(place)
            log = replace(log, start_ns=log.start_ns + shift_ns, end_ns=log.end_ns + shift_ns, shift_ns=shift_ns)
        except UserError as error:
            refused.append(str(error))
            continue
        key = (log.user, log.job)
        try:
            _require_times(log, heat_maps)
        except UserError as error:
            refused.append(str(error))
            lacking.add(key)
            continue
        logs.setdefault(key, []).append(log)
    jobs = []
    for key, own in logs.items():
        if key in lacking:
            more = f"{len(own)} more {'log is' if len(own) == 1 else 'logs are'}"
            refused.append(
                f"job {key[1]}: not imported, for it would lack a log: {more} of it; leave out what was refused"
            )
        elif not any({DXT, HEATMAP}.intersection(log.modules) for log in own):
            refused += [f"{log.place}: {NEITHER}" for log in own]
        else:
            try:
                _require_joined(own)
                jobs.append(_LoggedJob(own, heat_maps, known).made(slice_ns))
            except UserError as error:
                refused.append(str(error))
    return jobs, refused


def _moved(records: Sequence[Record], module: str, way: str) -> int:
    return sum(record.number(NAMES[way][0]) for record in records if record.module == module)


def _require_times(log: Log, heat_maps: bool) -> None:
    """Raises UserError where the log does not say when all of its bytes were moved."""
    if log.object_bytes:
        raise UserError(
            f"{log.place}: moved {log.object_bytes:,} bytes on {' and '.join(OBJECT_MODULES)}, which have no files; "
            "only POSIX and STDIO are imported"
        )
    short = [module for module in MODULES if module in log.partial]
    if short:
        raise UserError(
            f"{log.place}: its module {' and '.join(short)} ran out of room: files are missing, and nobody knows how "
            "many; raise Darshan's limit (DARSHAN_MODMEM, MAX_RECORDS) for the next run"
        )
    moves = any(_moved(log.records, module, way) for module in MODULES for way in WAYS)
    if moves and not {DXT, HEATMAP}.intersection(log.modules):
        raise UserError(f"{log.place}: {NEITHER}")
    if takes_traces(log, heat_maps):
        _require_whole_trace(log)


def _require_joined(logs: Sequence[Log]) -> None:
    """Raises UserError where a log is that of one rank of a killed job: it says how many ranks there were, too."""
    endless = [log for log in logs if log.ranks > 1 and not log.has_end]
    if len(endless) > 1 or any(MAPPED in log.place.name for log in endless):
        raise UserError(
            f"{endless[0].place}: its job was killed and left a mapped log for each rank; join them and import the "
            "result: darshan-merge --output job.darshan LOG..."
        )


def takes_traces(log: Log, heat_maps: bool) -> bool:
    """Whether POSIX calls are taken from DXT, and not from the heat map."""
    return DXT in log.modules and not (heat_maps and HEATMAP in log.modules)


def _require_whole_trace(log: Log) -> None:
    """Raises UserError where DXT stopped before the program did, or left files out."""
    traced: Counter[tuple[int, str]] = Counter()
    for trace in log.traces:
        traced[trace.file, trace.way] += int(trace.lengths.sum())
    counted: Counter[tuple[int, str]] = Counter()
    for record in log.records:
        if record.module == "POSIX":
            for way in WAYS:
                counted[record.file, way] += record.number(NAMES[way][0])
    wrong = [key for key in {*traced, *counted} if traced[key] != counted[key]]
    if not wrong and DXT not in log.partial:
        return
    parts = [
        f"{sum(traced[key] for key in wrong if key[1] == way):,} of "
        f"{sum(counted[key] for key in wrong if key[1] == way):,} bytes {'read' if way == 'read' else 'written'}"
        for way in WAYS
        if any(key[1] == way for key in wrong)
    ]
    files = len({file for file, _ in wrong})
    there = (
        f"it has {' and '.join(parts)} of {files:,} {'file' if files == 1 else 'files'}"
        if wrong
        else "its end is missing"
    )
    way_out = "--heat-map takes its heat maps instead" if HEATMAP in log.modules else (
        "raise Darshan's limit (DXT_MAX_IO_TRACE_MEM, DARSHAN_MODMEM) for the next run"
    )  # fmt: skip
    raise UserError(f"{log.place}: its DXT was cut short: {there}; {way_out}")


class _LoggedJob(Gathered):
    def __init__(self, logs: Sequence[Log], heat_maps: bool, known: Mapping[str, Mount]) -> None:
        super().__init__()
        self.logs = sorted(logs, key=lambda log: (log.start_ns, log.place))
        self.heat_maps, self.known = heat_maps, known

    def made(self, slice_ns: int) -> ImportedJob:
        processes: list[Process] = []
        for log in self.logs:
            first = len(processes)
            processes += _processes(log)
            self._take(log, first)
        with_traces = {takes_traces(log, self.heat_maps) for log in self.logs}
        how = words.listing(
            name for is_traced, name in ((True, "DXT"), (False, "heat maps")) if is_traced in with_traces
        )
        shift_ns = self.logs[0].shift_ns
        shifted = f", its clock set forward by {shift_ns / 1e9:,.10g} s" if shift_ns else ""
        if endless := sum(not log.has_end for log in self.logs):
            have = "1 log has" if endless == 1 else f"{endless:,} logs have"
            self.notes.append(
                f"{have} no end: its process was killed, perhaps, and the last known call is taken for its end"
            )
        return self.job(self.logs[0].job, f"Darshan {how}{shifted}", self.logs[0].user, slice_ns, processes)

    def _take(self, log: Log, first: int) -> None:
        by_module: dict[str, list[Record]] = defaultdict(list)
        for record in log.records:
            by_module[record.module].append(record)
        for module, records in by_module.items():
            for way in WAYS:
                self.moved[LAYERS[module], way] += _moved(records, module, way)
            if module == "POSIX" and takes_traces(log, self.heat_maps):
                self._take_traces(log, first, records)
            elif any(heat.module == module for heat in log.heat):
                self._take_heat(log, first, module, records)
            else:
                self._take_sums(log, first, records)
            self._take_rest(log, first, records)

    def _place(self, log: Log, file: int) -> tuple[int, int]:
        """The numbers of a file's mount and of its path; -1 for what has no path."""
        name = log.names.get(file, "")
        if name in STREAMS:
            return self.mounts(Mount("", "", "", OTHER_THINGS)), -1
        point = mount_of(name, list(log.mounts))
        kind = log.mounts.get(point, "unknown")
        source = "" if kind in OF_A_NODE or not point else f"{kind}:{point}"
        mount = self.known.get(point) or Mount(point or "unknown", kind, source)
        return self.mounts(mount), self.paths(name) if name else -1

    def _take_traces(self, log: Log, first: int, records: Sequence[Record]) -> None:
        for trace in log.traces:
            mount, path = self._place(log, trace.file)
            begin = log.start_ns + np.round(np.maximum(trace.begin, 0) * SECOND_NS).astype(np.int64)
            end = np.maximum(begin, log.start_ns + np.round(np.maximum(trace.end, 0) * SECOND_NS).astype(np.int64))
            who = first + trace.rank
            self.rows += [
                (who, mount, path, "posix", trace.way, one, other, moved, 1, other - one, False)
                for one, other, moved in zip(begin.tolist(), end.tolist(), trace.lengths.tolist(), strict=True)
            ]

    def _take_heat(self, log: Log, first: int, module: str, records: Sequence[Record]) -> None:
        placed = {record.file: self._place(log, record.file) for record in records}
        for way in WAYS:
            size, calls, time = NAMES[way]
            amounts = [
                RecordAmounts(
                    record.rank,
                    *placed[record.file],
                    record.number(size),
                    record.number(calls),
                    round(record.seconds(f"{time}_TIME") * SECOND_NS),
                )
                for record in records
            ]
            heat = [one for one in log.heat if one.module == module and one.way == way]
            for rank, mount, file, *rest in heat_rows(log, heat, amounts, module, way):
                self.rows.append((first + rank, mount, file, LAYERS[module], way, *rest, True))
            # Calls that moved nothing have no bin.
            for record in records:
                if not record.number(size) and record.number(calls):
                    self._spread(log, first, record, way, calls=record.number(calls), time=time)

    def _take_sums(self, log: Log, first: int, records: Sequence[Record]) -> None:
        """What is known in sum only: from the first to the last such call on the file."""
        for record in records:
            for way in WAYS:
                size, calls, time = NAMES[way]
                if record.number(calls) or record.number(size):
                    self._spread(log, first, record, way, record.number(size), record.number(calls), time)

    def _take_rest(self, log: Log, first: int, records: Sequence[Record]) -> None:
        """Metadata calls and syncs, of which no log says when each was."""
        for record in records:
            meta = sum(record.number(name) for name in META[record.module])
            if meta:
                self._spread(log, first, record, "meta", calls=meta, time="META")
            syncs = sum(record.number(name) for name in SYNCS[record.module])
            if syncs:
                self._spread(log, first, record, "sync", calls=syncs, time="WRITE")
            _, path = self._place(log, record.file)
            opened = record.number("OPENS")
            if path >= 0 and opened:
                for who, count in _by_rank(log, record.rank, opened):
                    self.opens[first + who, path] += count

    def _spread(
        self, log: Log, first: int, record: Record, kind: str, size: int = 0, calls: int = 0, time: str = ""
    ) -> None:
        """One event for each rank, over the time in which the file's calls of that kind can have been."""
        mount, path = self._place(log, record.file)
        busy = 0 if kind == "sync" else round(record.seconds(f"{time}_TIME") * SECOND_NS)
        begin, end = _extent(log, record, time)
        amounts = zip(
            _by_rank(log, record.rank, size),
            _by_rank(log, record.rank, calls),
            _by_rank(log, record.rank, busy),
            strict=True,
        )
        for (who, moved), (_, number), (_, spent) in amounts:
            if moved or number or spent:
                self.rows.append(
                    (first + who, mount, path, LAYERS[record.module], kind, begin, end, moved, number, spent, True)
                )


def _by_rank(log: Log, rank: int, amount: int) -> Iterator[tuple[int, int]]:
    """An amount of a rank, or of a shared file: of all ranks in equal parts, for the log says no more."""
    if rank != SHARED_RANK or log.ranks == 1:
        yield max(rank, 0), amount
        return
    parts = events.by_weight(amount, np.ones(log.ranks, np.int64))
    yield from enumerate(parts.tolist())


def _extent(log: Log, record: Record, time: str) -> tuple[int, int]:
    if time == "META":
        known = [record.seconds(name) for name in ("OPEN_START_TIMESTAMP", "CLOSE_END_TIMESTAMP")]
    else:
        known = [record.seconds(f"{time}_{which}_TIMESTAMP") for which in ("START", "END")]
    begin, end = (log.start_ns + round(seconds * SECOND_NS) for seconds in known)
    return (
        (begin, end) if log.start_ns <= begin < end and known[1] else (log.start_ns, max(log.end_ns, log.start_ns + 1))
    )


def _processes(log: Log) -> Iterator[Process]:
    hosts = set(log.hosts.values())
    elsewhere = hosts.pop() if len(hosts) == 1 else unknown_node(log.job)
    is_mpi = log.ranks > 1
    for rank in range(log.ranks):
        yield Process(
            number=identity("darshan", log.digest, rank),
            host=log.hosts.get(rank) or elsewhere,
            pid=log.pid or rank + 1,
            program=log.program or "unknown",
            start_ns=log.start_ns,
            end_ns=log.end_ns,
            rank=rank if is_mpi else NON_MPI,
            ranks=log.ranks if is_mpi else 0,
            clock_error_ns=log.clock_error_ns,
        )
