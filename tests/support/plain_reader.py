"""The reader's oracle: the same in plain Python, frame by frame and column by column, and slow.

`read_plainly` gives what the native reader must give of a profile: its tables and its damage. It shares the parsing of
schemas and the words of damage with the analyzer, and nothing else.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from slicewise.profile import damage
from slicewise.profile.damage import Damage, Missed
from slicewise.profile.files import profile_files
from slicewise.profile.reader import TABLES
from slicewise.profile.reading import REQUIRED_TABLES
from slicewise.profile.schema import BadSchema, Schema, parse_schema
from support.plain_frames import LAST_FRAME, MARK, DamagedPayload, Frame, Hole, decode, walk
from support.plain_rows import Rows
from support.swz import schema_text

SCHEMA_PROCESS = 0


class NothingToRead(ValueError):
    """A profile without a sound frame, or without a process."""


def read_plainly(path: Path, bins: bool = False) -> tuple[dict[str, pl.DataFrame], list[Damage]]:
    """All tables of a job, and its damage. Raises NothingToRead."""
    reading = _Reading(bins)
    for file in profile_files(path):
        reading.read_file(file)
    reading.decode_deferred()
    if not any(known.read for known in reading.frames.values()):
        raise NothingToRead(path)
    spans = reading.rows["slices"].spans("slice")
    tables = {name: rows.to_frame() for name, rows in reading.rows.items()}
    tables["slices"] = tables["slices"].with_columns(pl.col("slice").cast(pl.Int64))
    processes = tables["processes"]
    if processes.is_empty():
        raise NothingToRead(path)
    return tables, list(_damage(path, reading, processes, spans, processes["slice_ns"][0]))


def missing_frames(numbers: set[int], last: int | None) -> list[range]:
    """The gaps in a process's frame numbers, up to the one flagged last, or to the highest where none is."""
    gaps = []
    expected = 0
    for number in sorted(numbers):
        if number > expected:
            gaps.append(range(expected, number))
        expected = number + 1
    if last is not None and last >= expected:
        gaps.append(range(expected, last + 1))
    return gaps


@dataclass
class _ProcessFrames:
    """Which frames of a process were read, and of which it is known that they were there."""

    file: Path
    read: set[int] = field(default_factory=set)
    seen_damaged: set[int] = field(default_factory=set)
    last: int | None = None

    def gaps(self) -> list[range]:
        """The frames that were written and that nobody has."""
        gaps = missing_frames(self.read, self.last)
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
        self.rows: dict[str, Rows] = {name: Rows() for name in TABLES}
        self.frames: dict[int, _ProcessFrames] = {}
        self.files: dict[Path, _FileState] = {}
        self._bins = bins
        self._unwanted: dict[int, dict[str, frozenset[int]]] = {}
        self._deferred: list[tuple[Path, Frame]] = []

    def read_file(self, file: Path) -> None:
        """Take in every sound frame of a file."""
        data = file.read_bytes()
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
        """Take in the frames that came before their schema, if another file had it, or if it is this version's own."""
        own = schema_text()
        for file, frame in self._deferred:
            if frame.schema not in self.schemas and frame.schema == zlib.crc32(own):
                self._declare(frame.schema, own)
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
                self._declare(frame.schema, frame.payload)
            except (BadSchema, KeyError):
                self._note_hole(file, _hole_of(frame))
                return
        self.files[file].sound_frames += 1

    def _declare(self, number: int, text: bytes) -> None:
        schema = parse_schema(text)
        tables = {name: schema.table(name) for name in REQUIRED_TABLES}
        tables |= {table.name: table for table in schema.tables if table.name in TABLES}
        for name, table in tables.items():
            self.rows[name].declare(table, schema, self._bins)
        self._unwanted[number] = {} if self._bins else _places_of_bins(schema)
        self.schemas[number] = schema

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


def _hole_of(frame: Frame) -> Hole:
    return Hole(frame.begin, frame.end, frame.process, frame.number)


def _places_of_bins(schema: Schema) -> dict[str, frozenset[int]]:
    return {
        table.name: frozenset(place for place, column in enumerate(table.columns) if column.bins)
        for table in schema.tables
    }


def _damage(
    path: Path, reading: _Reading, processes: pl.DataFrame, spans: pl.DataFrame, slice_ns: int
) -> Iterator[Damage]:
    pids = dict(processes.select("process", "pid").iter_rows())
    losses: dict[Path, list[Missed]] = {}
    for process, known in reading.frames.items():
        if gaps := known.gaps():
            loss = Missed(process, sum(len(gap) for gap in gaps), _slices_in_gaps(gaps, spans, process))
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


def _file_damage(file: Path, state: _FileState, losses: list[Missed], pids: dict[int, int], slice_ns: int) -> Damage:
    byte_ranges = tuple((hole.begin, hole.end) for hole in sorted(state.holes, key=lambda hole: hole.begin))
    line = damage.in_words(str(file), state.sound_frames, byte_ranges, len(state.holes), losses, pids, slice_ns)
    return Damage(
        "damaged" if byte_ranges else "missing", str(file), line, byte_ranges, tuple(loss.process for loss in losses),
        sum(loss.frames for loss in losses), sum(loss.slices for loss in losses),
    )  # fmt: skip


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
