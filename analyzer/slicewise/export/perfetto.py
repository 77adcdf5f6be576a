"""A Perfetto trace (ui.perfetto.dev, trace_processor): counter tracks of each process, and call sites as samples.

Written as the protobuf messages of perfetto/trace/trace.proto, by hand: fifteen messages need no library.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from slicewise.alike import begins_of_alike
from slicewise.analysis.job.sites import Sites
from slicewise.analysis.job.usage import Hardware
from slicewise.digest.digest import Digest
from slicewise.digest.slices import some_processes
from slicewise.kinds import KINDS
from slicewise.scalars import whole
from slicewise.text.safe_text import utf8

REALTIME = 1
SEQUENCE = 1
STATE_CLEARED, STATE_NEEDED = 1, 2
TYPE_COUNTER = 4
USER_MODE = 1
# Tracks of processes have their numbers, and each process's counters follow.
FIRST_TRACK = 1
TRACKS_A_PROCESS = 64
# So many samples of one stack, process and slice are shown at most; a slice of a minute has 6,000 a thread.
MOST_SAMPLES_SHOWN = 1 << 16
# Values that are encoded at once: a value takes some hundred bytes meanwhile.
VALUES_AT_ONCE = 1 << 15


def perfetto_trace(digest: Digest, hardware: Hardware, found: Sites) -> Iterator[bytes]:
    """The trace, piece by piece: each process's bytes/s read and written, calls/s and share of time in calls by kind,
    hardware events a second, the share of time that it waited for its turn at I/O; and its call sites' samples, spread
    evenly over their slices.

    Processes are numbered by rank and node, since process ids of two nodes may be the same; names tell the real ones.
    """
    processes = digest.processes.sort("rank", "node", "pid").with_row_index("order")
    places = dict(processes.select("process", "order").iter_rows())
    frames = (digest.process_slices, found.samples, hardware.per_process, digest.waits)
    first = min((whole(frame["slice"].min()) for frame in frames if frame.height), default=0)
    yield _field(1, _clocks(first * digest.slice_ns))
    yield from (_field(1, _process(row)) for row in processes.iter_rows(named=True))
    yield from _counters(digest, hardware, places)
    yield from (_field(1, packet) for packet in _samples(found, places, digest.slice_ns))


def _clocks(time_ns: int) -> bytes:
    clock = _field(1, REALTIME) + _field(2, time_ns)
    defaults = _field(58, REALTIME)
    return (
        _field(8, time_ns) + _field(6, _field(1, clock) + _field(2, REALTIME)) + _field(10, SEQUENCE)
        + _field(13, STATE_CLEARED) + _field(59, defaults) + _field(58, REALTIME)
    )  # fmt: skip


def _track(place: int, number: int = 0) -> int:
    return FIRST_TRACK + place * TRACKS_A_PROCESS + number


def _process(row: Mapping[str, Any]) -> bytes:
    rank = row["label"] if row["rank"] >= 0 else f"process on {row['node']}"
    described = _field(1, row["order"] + 1) + _field(6, utf8(f"{rank} ({row['program']}, pid {row['pid']})"))
    return _packet(_field(60, _field(1, _track(row["order"])) + _field(3, described)))


def _packet(content: bytes, time_ns: int | None = None) -> bytes:
    head = b"" if time_ns is None else _field(8, time_ns)
    return head + _field(10, SEQUENCE) + _field(13, STATE_NEEDED) + content


def _counters(digest: Digest, hardware: Hardware, places: dict[int, int]) -> Iterator[bytes]:
    seconds = digest.slice_ns / 1e9
    sums = (
        digest.process_slices.lazy()
        .group_by("process", "slice")
        .agg(pl.col(*(f"{way}_bytes" for way in ("read", "write")), *(f"{kind}_ops" for kind in KINDS), *(
            f"{kind}_ns" for kind in KINDS)).sum())
        .sort("process", "slice")
        .collect()
    )  # fmt: skip
    tracks = [(f"{way}_bytes", f"bytes {way}", "bytes/s", 1.0) for way in ("read", "write")]
    tracks += [(f"{kind}_ops", f"{kind} calls", "calls/s", 1.0) for kind in KINDS]
    tracks += [(f"{kind}_ns", f"time in {kind} calls", "%", 1e-7) for kind in KINDS]
    yield from _tracks(sums, tracks, places, digest.slice_ns, seconds, 1)
    events = [(name, name, f"{unit or 'count'}/s", 1.0) for name, unit in hardware.units.items()]
    yield from _tracks(hardware.per_process, events, places, digest.slice_ns, seconds, 1 + len(tracks))
    waits = [("waited_ns", "time waiting for its turn", "%", 1e-7)]
    yield from _tracks(digest.waits, waits, places, digest.slice_ns, seconds, 1 + len(tracks) + len(events))


def _tracks(
    frame: pl.DataFrame,
    tracks: Iterable[tuple[str, str, str, float]],
    places: dict[int, int],
    slice_ns: int,
    seconds: float,
    first: int,
) -> Iterator[bytes]:
    """A track for each process and column with anything in it. A value holds until the next one: 0 after a slice that
    has no successor. frame: sorted by process and slice."""
    for number, (column, name, unit, scale) in enumerate(tracks, first):
        kind = _field(2, utf8(name)) + _field(8, _field(6, utf8(unit)))
        value = (pl.col(column).cast(pl.Float64) * scale / seconds).alias("value")
        for part in some_processes(frame, VALUES_AT_ONCE):
            rows = part.lazy().filter(pl.col(column) > 0).select("process", "slice", value).collect()
            if not rows.height:
                continue
            process, slices, values = (rows[name].to_numpy() for name in ("process", "slice", "value"))
            begins = begins_of_alike(process)
            is_end = np.append((slices[1:] != slices[:-1] + 1) | (process[1:] != process[:-1]), True)
            # Each row, and after it a zero where none follows.
            at = np.arange(len(slices)) + np.cumsum(is_end) - is_end
            of_tracks = np.array([_track(places[one], number) for one in process[begins].tolist()])
            lengths = np.diff(np.append(begins, len(slices)))
            points = np.zeros(len(slices) + int(is_end.sum()), [("track", "u8"), ("time", "u8"), ("value", "<f8")])
            points["track"][at] = np.repeat(of_tracks, lengths)
            points["time"][at] = slices * slice_ns
            points["value"][at] = values
            points["track"][at[is_end] + 1] = points["track"][at[is_end]]
            points["time"][at[is_end] + 1] = (slices[is_end] + 1) * slice_ns
            encoded, sizes = _values(points)
            ends = np.append(0, np.cumsum(sizes))[np.append(at[begins], len(points))].tolist()
            for place, one in enumerate(process[begins].tolist()):
                described = _field(1, int(of_tracks[place])) + _field(5, _track(places[one])) + kind
                yield _field(1, _packet(_field(60, described)))
                yield encoded[ends[place] : ends[place + 1]]


def _values(points: np.ndarray) -> tuple[bytes, np.ndarray]:
    """Packets of values (track, time, value), one after the other, and their sizes. A message's parts are the columns
    of a matrix of bytes, with numbers as wide as they can be; used bytes are taken out of all rows at once."""
    time, time_size = _varints(points["time"])
    track, track_size = _varints(points["track"])
    before_track = _field(9, TYPE_COUNTER) + _tag(11, 0)
    after_track = _tag(44, 1)
    event_size = len(before_track) + track_size + len(after_track) + 8
    after_time = _field(10, SEQUENCE) + _field(13, STATE_NEEDED) + _tag(11, 2)
    packet_size = len(_tag(8, 0)) + time_size + len(after_time) + 1 + event_size
    parts = [
        _tag(1, 2), packet_size, _tag(8, 0), time, after_time, event_size, before_track, track, after_track,
        np.ascontiguousarray(points["value"]).view(np.uint8).reshape(-1, 8),
    ]  # fmt: skip
    columns = [_columns(part, len(points)) for part in parts]
    matrix = np.hstack(columns)
    is_used = np.ones(matrix.shape, bool)
    begins = np.cumsum([0, *(column.shape[1] for column in columns)])
    for part, sizes in ((3, time_size), (7, track_size)):
        begin, end = begins[part], begins[part + 1]
        is_used[:, begin:end] = np.arange(end - begin) < sizes[:, None]
    return matrix[is_used].tobytes(), packet_size + 2


def _columns(part: bytes | np.ndarray, rows: int) -> np.ndarray:
    """Bytes that all rows have, a byte of each row, or some bytes of each row, as columns of a matrix."""
    if isinstance(part, bytes):
        return np.broadcast_to(np.frombuffer(part, np.uint8), (rows, len(part)))
    return part.astype(np.uint8)[:, None] if part.ndim == 1 else part


def _varints(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers as varints: the bytes, as many a row as the longest has, and how many of a row are used."""
    shifts = np.arange(0, 64, 7, dtype=np.uint64)
    groups = values[:, None] >> shifts
    sizes = np.maximum((groups > 0).sum(axis=1), 1)
    most = int(sizes.max())
    more = np.arange(most) < sizes[:, None] - 1
    return (groups[:, :most] & np.uint64(0x7F)).astype(np.uint8) | (more * np.uint8(0x80)), sizes


def _samples(found: Sites, places: dict[int, int], slice_ns: int) -> Iterator[bytes]:
    """A packet with every name, frame and stack, then one a sample."""
    if not found.stacks:
        return
    functions: _Numbers[str] = _Numbers()
    frames: _Numbers[tuple[int, int]] = _Numbers()
    modules: _Numbers[str] = _Numbers()
    stacks = [
        [frames.of((functions.of(place.function), modules.of(place.module))) for place in stack]
        for stack in found.stacks
    ]
    interned = [_field(5, _field(1, iid) + _field(2, utf8(name))) for name, iid in functions.items()]
    interned += [_field(17, _field(1, iid) + _field(2, utf8(path))) for path, iid in modules.items()]
    interned += [_field(19, _field(1, iid) + _field(7, iid)) for _, iid in modules.items()]
    interned += [
        _field(6, _field(1, iid) + _field(2, function) + _field(3, module))
        for (function, module), iid in frames.items()
    ]
    interned += [
        _field(7, _field(1, number) + b"".join(_field(2, frame) for frame in stack))
        for number, stack in enumerate(stacks, 1)
    ]
    yield _packet(_field(12, b"".join(interned)))
    for row in found.samples.iter_rows(named=True):
        pid = places[row["process"]] + 1
        shown = min(row["samples"], MOST_SAMPLES_SHOWN)
        for sample in range(shown):
            time_ns = row["slice"] * slice_ns + (2 * sample + 1) * slice_ns // (2 * shown)
            event = _field(2, pid) + _field(3, pid) + _field(5, USER_MODE) + _field(4, row["stack"] + 1)
            yield _packet(_field(66, event), time_ns)


Thing = TypeVar("Thing")


class _Numbers(dict[Thing, int], Generic[Thing]):
    def of(self, thing: Thing) -> int:
        return self.setdefault(thing, len(self) + 1)


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _tag(number, 0) + _varint(value)
    return _tag(number, 2) + _varint(len(value)) + value


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
