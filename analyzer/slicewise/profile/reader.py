"""A job's profile as data frames: all files of its directory, with every sound frame in them counted exactly once.

`read_profile` is the one door; analyses take the Profile that it gives and never see a file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from slicewise.errors import UserError
from slicewise.profile import damage
from slicewise.profile.damage import Damage, Loss
from slicewise.profile.frames import LAST_FRAME, MARK, DamagedPayload, Frame, Hole, decode, format_marker, walk
from slicewise.profile.schema import FORMAT_VERSION, BadSchema, Schema, UnsupportedFormat, parse_schema
from slicewise.profile.tables import Rows

SUFFIX = ".swz"
WAY_OUT = f"give a job's directory (SLICEWISE_DIR/JOB) or a {SUFFIX} file"
SCHEMA_PROCESS = 0
MOST_NAMED_JOBS = 6


@dataclass(frozen=True)
class Profile:
    """One job. Every frame has a column `process` (u64, the process's unique id) and the columns of the schema's table
    of that name; names of enumerations are strings.

    slices: `slice` is i64; rows of one (process, mount, layer, slice) are added up. Columns of bins are there only if
    they were asked for. nodes and node_...: the nodes' own counters; `process` is a collector's run, and no process.
    damage: what could not be read; empty where all is well.
    """

    path: Path
    job: str
    slice_ns: int
    schema: Schema
    damage: list[Damage]
    processes: pl.DataFrame
    mounts: pl.DataFrame
    slices: pl.DataFrame
    files: pl.DataFrame
    calls: pl.DataFrame
    mishaps: pl.DataFrame
    unprofiled: pl.DataFrame
    launches: pl.DataFrame
    nodes: pl.DataFrame
    node_devices: pl.DataFrame
    node_slices: pl.DataFrame
    node_networks: pl.DataFrame
    node_blocks: pl.DataFrame
    node_nfs: pl.DataFrame
    node_lustre: pl.DataFrame
    events: pl.DataFrame
    hardware: pl.DataFrame
    modules: pl.DataFrame
    frames: pl.DataFrame
    sites: pl.DataFrame


TABLES = ("processes", "mounts", "slices", "files", "calls", "mishaps")
# What older profiles do not have: then the frame has no columns but `process`, and no rows.
LATER_TABLES = (
    "unprofiled", "launches",
    "nodes", "node_devices", "node_slices", "node_networks", "node_blocks", "node_nfs", "node_lustre",
    "events", "hardware", "modules", "frames", "sites",
)  # fmt: skip


def read_profile(path: str | Path, bins: bool = False) -> Profile:
    """Read a job's directory, or one node's `.swz` file of it.

    bins: whether the columns of bins (sizes, latencies) are wanted: they need several times the memory of all others.
    Damage costs the frames that it touches, and is told in the profile. Raises UserError where there is nothing to
    tell: no such file, not a profile, another format, several jobs or slice lengths, no sound frame.
    """
    path = Path(path)
    reading = _Reading(bins)
    files = profile_files(path)
    for file in files:
        reading.read_file(file)
    reading.decode_deferred()
    if not any(known.read for known in reading.frames.values()):
        raise UserError(reading.why_nothing(path, files))
    return _profile(path, reading)


def profile_files(path: Path) -> list[Path]:
    """The files of a profile, sorted. Raises UserError if there are none."""
    try:
        if path.is_file():
            return [path]
        if not path.is_dir():
            what = "is neither a directory nor a file" if path.exists() else "does not exist (a job writes as it ends)"
            raise UserError(f"{path}: {what}; {WAY_OUT}")
        files = sorted(file for file in path.iterdir() if file.suffix == SUFFIX and file.is_file())
        below = [] if files else sorted({str(file.parent) for file in path.glob(f"*/*{SUFFIX}")})
    except OSError as error:
        raise UserError(_unreadable(path, error)) from error
    if below:
        raise UserError(f"{path}: holds jobs, not a job; give one of {_some(below)}")
    if not files:
        raise UserError(
            f"{path}: there is no {SUFFIX} file in it; a job that still runs, or was killed, is completed by: "
            f"slicewise recover {path}"
        )
    return files


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path}: cannot be read: {error.strerror}; ask its owner for permission to read it"


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMED_JOBS
    return ", ".join(names[:MOST_NAMED_JOBS]) + (f" and {more} more" if more > 0 else "")


@dataclass
class _ProcessFrames:
    """Which frames of a process were read, and of which it is known that they were there."""

    file: Path
    read: set[int] = field(default_factory=set)
    seen_damaged: set[int] = field(default_factory=set)
    last: int | None = None

    def gaps(self) -> list[range]:
        """The frames that were written and that nobody has."""
        gaps = damage.missing_frames(self.read, self.last)
        highest = max([*self.read, -1 if self.last is None else self.last])
        return gaps + [range(number, number + 1) for number in sorted(self.seen_damaged) if number > highest]


@dataclass
class _FileState:
    sound_frames: int = 0
    holes: list[Hole] = field(default_factory=list)


class _Reading:
    """A profile while its files are read: rows by table, and the book of frames."""

    def __init__(self, bins: bool) -> None:
        self.schemas: dict[int, Schema] = {}
        self.rows: dict[str, Rows] = {name: Rows() for name in (*TABLES, *LATER_TABLES)}
        self.frames: dict[int, _ProcessFrames] = {}
        self.files: dict[Path, _FileState] = {}
        self._bins = bins
        self._unwanted: dict[int, dict[str, frozenset[int]]] = {}
        self._deferred: list[tuple[Path, Frame]] = []

    def read_file(self, file: Path) -> None:
        """Take in every sound frame of a file. Raises UserError if it cannot be read or is of another format."""
        try:
            data = file.read_bytes()
        except OSError as error:
            raise UserError(_unreadable(file, error)) from error
        marker = format_marker(data)
        if marker not in (None, str(FORMAT_VERSION)):
            raise UserError(_other_format(file, marker))
        state = self.files[file] = _FileState()
        for part in walk(data):
            if isinstance(part, Hole):
                self._note_hole(file, part)
            elif part.process == SCHEMA_PROCESS:
                self._take_schema(file, part)
            elif part.schema in self.schemas:
                self._take(file, part)
            else:
                self._deferred.append((file, part))
        if not state.sound_frames and len(state.holes) == 1 and not data.startswith(MARK):
            state.holes.clear()

    def decode_deferred(self) -> None:
        """Take in the frames that came before their schema, if another file had it; else they are lost."""
        for file, frame in self._deferred:
            if frame.schema in self.schemas:
                self._take(file, frame)
            else:
                self._note_hole(file, _hole_of(frame))
        self._deferred.clear()

    def has_whole(self, hole: Hole) -> bool:
        """Whether the damaged frame was read elsewhere: a process killed while it wrote leaves a torn frame, and
        whoever finishes its segment writes that frame again.
        """
        known = self.frames.get(hole.process)
        return known is not None and hole.number in known.read

    def _note_hole(self, file: Path, hole: Hole) -> None:
        self.files[file].holes.append(hole)
        if hole.process not in (None, SCHEMA_PROCESS):
            self.frames.setdefault(hole.process, _ProcessFrames(file)).seen_damaged.add(hole.number)

    def _take_schema(self, file: Path, frame: Frame) -> None:
        if frame.schema not in self.schemas:
            try:
                if zlib.crc32(frame.payload) != frame.schema:
                    raise BadSchema("its id is not its checksum")
                schema = parse_schema(frame.payload)
                tables = {name: schema.table(name) for name in TABLES}
                tables |= {table.name: table for table in schema.tables if table.name in LATER_TABLES}
            except UnsupportedFormat as error:
                raise UserError(_other_format(file, str(error))) from error
            except (BadSchema, KeyError):
                self._note_hole(file, _hole_of(frame))
                return
            for name, table in tables.items():
                self.rows[name].declare(table, schema, self._bins)
            self._unwanted[frame.schema] = {} if self._bins else _places_of_bins(schema)
            self.schemas[frame.schema] = schema
        self.files[file].sound_frames += 1

    def _take(self, file: Path, frame: Frame) -> None:
        known = self.frames.setdefault(frame.process, _ProcessFrames(file))
        schema = self.schemas[frame.schema]
        if frame.number not in known.read:
            try:
                chunks = decode(frame.payload, schema, self._unwanted[frame.schema])
            except DamagedPayload:
                self._note_hole(file, _hole_of(frame))
                return
            for chunk in chunks:
                if chunk.table.name in self.rows:
                    self.rows[chunk.table.name].add(chunk, frame.process, frame.number, schema)
            known.read.add(frame.number)
        if frame.flags & LAST_FRAME:
            known.last = max(frame.number, known.last or 0)
        self.files[file].sound_frames += 1

    def why_nothing(self, path: Path, files: list[Path]) -> str:
        """The line for a profile of which no frame could be read."""
        if all(file.stat().st_size == 0 for file in files):
            return f"{path}: is empty: nothing was written to it (a full disk?)"
        if self.frames or any(state.holes for state in self.files.values()):
            return f"{path}: no frame of it could be read: it is damaged from end to end; take an undamaged copy"
        if self.schemas:
            return f"{path}: holds no process yet; a job that was killed is completed by: slicewise recover JOBDIR"
        return f"{path}: is not a Slicewise profile; {WAY_OUT}"


def _hole_of(frame: Frame) -> Hole:
    return Hole(frame.begin, frame.end, frame.process, frame.number)


def _other_format(file: Path, format_number: str) -> str:
    return (
        f"{file}: is of format {format_number}, and this slicewise reads format {FORMAT_VERSION} alone; "
        "use the slicewise that wrote it, or a newer one"
    )


def _places_of_bins(schema: Schema) -> dict[str, frozenset[int]]:
    return {
        table.name: frozenset(place for place, column in enumerate(table.columns) if column.bins)
        for table in schema.tables
    }


def _profile(path: Path, reading: _Reading) -> Profile:
    spans = reading.rows["slices"].spans("slice")
    tables = {name: rows.to_frame() for name, rows in reading.rows.items()}
    tables["slices"] = tables["slices"].with_columns(pl.col("slice").cast(pl.Int64))
    processes = tables["processes"]
    if processes.is_empty():
        raise UserError(f"{path}: none of its sound frames describes a process; take an undamaged copy")
    jobs = processes["job"].unique().sort().to_list()
    if len(jobs) > 1:
        raise UserError(f"{path}: holds several jobs ({_some(jobs)}); keep each job's files in a directory of its own")
    slice_lengths = processes["slice_ns"].unique().sort().to_list()
    if len(slice_lengths) > 1 or slice_lengths[0] == 0:
        listed = ", ".join(f"{length / 1e9:g} s" for length in slice_lengths)
        raise UserError(f"{path}: its processes have slices of {listed}; profile a job with one SLICEWISE_SLICE")
    return Profile(
        path=path,
        job=jobs[0],
        slice_ns=slice_lengths[0],
        schema=next(iter(reading.schemas.values())),
        damage=list(_damage(path, reading, processes, spans, slice_lengths[0])),
        **tables,
    )


def _damage(
    path: Path, reading: _Reading, processes: pl.DataFrame, spans: pl.DataFrame, slice_ns: int
) -> Iterator[Damage]:
    pids = dict(processes.select("process", "pid").iter_rows())
    losses: dict[Path, list[Loss]] = {}
    for process, known in reading.frames.items():
        if gaps := known.gaps():
            loss = Loss(process, sum(len(gap) for gap in gaps), _slices_in_gaps(gaps, spans, process))
            losses.setdefault(known.file, []).append(loss)
    for file, state in reading.files.items():
        holes = [hole for hole in state.holes if not reading.has_whole(hole)]
        if not state.holes and not state.sound_frames:
            yield Damage("damaged", str(file), f"{file}: is not a Slicewise profile, and was passed over")
        elif holes or file in losses:
            yield _file_damage(file, _FileState(state.sound_frames, holes), losses.get(file, []), pids, slice_ns)
    unfinished = tuple(process for process, known in reading.frames.items() if known.last is None)
    if unfinished:
        line = damage.unfinished_in_words(str(path), len(unfinished), path.is_dir())
        yield Damage("unfinished", str(path), line, processes=unfinished)


def _file_damage(file: Path, state: _FileState, losses: list[Loss], pids: dict[int, int], slice_ns: int) -> Damage:
    byte_ranges = tuple((hole.begin, hole.end) for hole in sorted(state.holes, key=lambda hole: hole.begin))
    line = damage.in_words(str(file), state.sound_frames, byte_ranges, len(state.holes), losses, pids, slice_ns)
    return Damage(
        "damaged" if byte_ranges else "missing",
        str(file),
        line,
        byte_ranges,
        tuple(loss.process for loss in losses),
        sum(loss.frames for loss in losses),
        sum(loss.slices for loss in losses),
    )


def _slices_in_gaps(gaps: list[range], spans: pl.DataFrame, process: int) -> int:
    """How many slices lie between the frames on both sides of each gap; none where there is no frame on one side."""
    own = spans.filter(pl.col("process") == process)
    between = 0
    for gap in gaps:
        before = own.filter(pl.col("frame") < gap.start)["greatest"].max()
        after = own.filter(pl.col("frame") >= gap.stop)["least"].min()
        if before is not None and after is not None:
            between += max(0, after - before - 1)
    return between
