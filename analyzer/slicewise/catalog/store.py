"""Where a catalog's files lie (docs/catalog.md), and how they come and go: whole batches, or not at all, whoever is
killed meanwhile.

A batch is written aside and renamed. What takes more than one renaming (a batch in place of others) is written down in
the journal first; from then on it counts as done, and whoever holds the lock next does the rest. The lock is flock on
an open file, so that it ends with its holder.
"""

from __future__ import annotations

import bisect
import contextlib
import fcntl
import json
import mmap
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.catalog import sums
from slicewise.catalog.schema import FRAMES, KEY, conform, order_of
from slicewise.constants import SECOND_NS
from slicewise.errors import UserError, mended_by
from slicewise.scalars import number_of

ABOUT, SALT, LOCK, JOURNAL, ASIDE = "catalog.json", ".salt", ".lock", ".journal.json", ".aside"
BATCH_ABOUT, INDEX = "_batch.json", "_jobs.index"
SALT_BYTES = 32
LOST = "is damaged: it speaks of a batch that is nowhere"
# Bytes of a number in an index.
WORD = 8
DAY_PREFIX, BATCH_PREFIX = "day=", "batch="
# What is asked for by job or time lies in few of these.
ROWS_A_GROUP = {"jobs": 16_384, "job_slices": 65_536}
ROWS_A_GROUP_OF_OTHERS = 131_072
OWNER_ALONE = 0o700
# Catalogs that this process has opened: where to look for the file whose damage made a library fail.
opened_here: set[Path] = set()


def scan_files(name: str, files: Sequence[Path], **options: Any) -> pl.LazyFrame:
    """A frame in some files of it. Columns that an older version's files lack are null."""
    return pl.scan_parquet(
        list(files),
        schema=FRAMES[name].polars_schema,
        missing_columns="insert",
        hive_partitioning=False,
        glob=False,
        **options,
    )


@dataclass(frozen=True)
class Batch:
    """Jobs that came in together and began on one day. start_ns, end_ns: from the first one's start to the last one's
    end. rows: by frame; a frame without rows has no file. place: the directory. written_ns: when it was written.

    sizes: bytes by frame; crc32: checksums by file. Batches of earlier builds have none.
    """

    place: Path
    day: str
    jobs: int
    start_ns: int
    end_ns: int
    rows: Mapping[str, int]
    written_ns: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    crc32: Mapping[str, str] = field(default_factory=dict)

    @property
    def most_rows(self) -> int:
        return max(self.rows.values(), default=0)

    def file(self, name: str) -> Path:
        return self.place / f"{name}.parquet"

    def written(self, name: str) -> sums.WrittenFile:
        return self._written(self.file(name), self.sizes.get(name))

    @property
    def index(self) -> sums.WrittenFile:
        return self._written(self.place / INDEX, None)

    def _written(self, file: Path, size: int | None) -> sums.WrittenFile:
        text = self.crc32.get(file.name)
        return sums.WrittenFile(file, size, None if text is None else int(text, 16))

    def may_have(self, numbers: Sequence[int]) -> bool:
        """Whether a job with one of these numbers (`number_of_name`, or a key) can be in it: looked up in its index, of
        which few pages are read. A batch without a sound one must be asked itself."""
        try:
            if sums.first_unsound([self.index]):
                return True
            with (self.place / INDEX).open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as content:
                places = range(len(content) // WORD)

                def at(place: int) -> int:
                    return int.from_bytes(content[place * WORD : (place + 1) * WORD], "little")

                found = ((number, bisect.bisect_left(places, number, key=at)) for number in numbers)
                return any(place < len(places) and at(place) == number for number, place in found)
        except (FileNotFoundError, ValueError):  # no bytes are no map
            return True

    def read(self, name: str) -> pl.DataFrame:
        """A whole frame of it, compared with its checksum each time. Raises Damaged."""
        if name not in self.rows:
            return pl.DataFrame(schema=FRAMES[name].polars_schema)
        reason = sums.unsound(self.written(name))
        if reason:
            raise sums.damaged(self.file(name), reason, self.place.parents[1])
        return self.read_unchecked(name)

    def read_unchecked(self, name: str) -> pl.DataFrame:
        """A frame that it has, for whoever compared its file with the checksum before."""
        return scan_files(name, [self.file(name)]).collect()


def checked(batches: Iterable[Batch], name: str) -> list[Path]:
    """The files of a frame, of those batches that have it. Raises Damaged where one is not as it was written, and
    FileNotFoundError."""
    files = [batch.written(name) for batch in batches if name in batch.rows]
    found = sums.first_unsound(files)
    if found is not None:
        raise sums.damaged(*found, found[0].parents[2])
    return [file.path for file in files]


def number_of_name(name: str) -> int:
    """The number that stands for a job's name in the index of a batch."""
    return number_of(name)


def day_of(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // SECOND_NS, timezone.utc).strftime("%Y-%m-%d")


class Catalog:
    """A catalog's directory. Reading needs no lock."""

    def __init__(self, path: Path) -> None:
        """Open a catalog that is there. Raises UserError where there is none."""
        self.path = path.absolute()
        try:
            about, fault = sums.read_record(path / ABOUT, sums.fault_of_catalog)
        except FileNotFoundError as error:
            raise UserError(
                f"{path}: is no catalog; make one with: slicewise catalog ingest {path} PROFILE..."
            ) from error
        if fault:
            way_out = "docs/catalog.md says how to write it anew" if "damaged" in fault else "ask the catalog's owner"
            raise UserError(f"{path / ABOUT}: {fault}; {way_out}")
        if about["format"] != sums.FORMAT:
            raise UserError(f"{path}: is a catalog of format {about['format']}, and this slicewise reads {sums.FORMAT}")
        opened_here.add(self.path)
        self.has_names = about.get("names") != "hash"
        self._shows_names = bool(about.get("shows_names"))
        self._salt_crc32 = about.get("salt_crc32")
        self._batches: dict[Path, Batch] = {}  # as they were read: a batch never changes

    @property
    def shows_names(self) -> bool:
        """Whether whoever asks about his own job is told the names of others: its owner is, and if it allows that."""
        return self._shows_names or (self.path / ABOUT).stat().st_uid == os.geteuid()

    @classmethod
    def make(cls, path: Path, hashes_names: bool = False, shows_names: bool = False) -> Catalog:
        """Open a catalog, or make one in a directory that is empty or not there. Raises UserError."""
        if (path / ABOUT).exists():
            return cls(path)
        with mended_by(f"{path}: cannot be made", "name another directory"):
            path.mkdir(parents=True, exist_ok=True, mode=OWNER_ALONE)
            there = {entry.name for entry in os.scandir(path) if not entry.name.startswith(".")}
            if there and ABOUT not in there:
                raise UserError(f"{path}: holds other files and is no catalog; name an empty or a new directory")
            with _locked(path):
                if hashes_names and not (path / SALT).exists():
                    _write_whole(path / SALT, secrets.token_bytes(SALT_BYTES), mode=0o600)
                if not (path / ABOUT).exists():
                    about = {
                        "format": sums.FORMAT,
                        "names": "hash" if hashes_names else "plain",
                        "shows_names": shows_names,
                    }
                    salted = {"salt_crc32": sums.crc32_text(sums.crc32_of(path / SALT))} if hashes_names else {}
                    _write_whole(path / ABOUT, json.dumps(about | salted).encode())
        return cls(path)

    @property
    def salt(self) -> bytes:
        """What names are hashed with; of a catalog with plain names, nothing. Raises UserError."""
        if self.has_names:
            return b""
        file = self.path / SALT
        with mended_by(f"{file}: cannot be read", "its owner alone may"):
            salt = file.read_bytes()
        if len(salt) != SALT_BYTES or self._salt_crc32 not in (None, sums.crc32_text(zlib.crc32(salt))):
            # Another salt would give each job another key, and let it in once more.
            raise sums.Damaged(f"{file}: is damaged: it is not the one of this catalog; fetch it from a backup", file)
        return salt

    def days(self) -> list[str]:
        with os.scandir(self.path) as entries:
            found = {entry.name.removeprefix(DAY_PREFIX) for entry in entries if entry.name.startswith(DAY_PREFIX)}
        return sorted(found | {Path(place).parent.name.removeprefix(DAY_PREFIX) for place in self._journal().installs})

    def batches(self, days: Iterable[str] | None = None, wrong: list[sums.Damaged] | None = None) -> list[Batch]:
        """The batches of some days, or of all, in order. What a journal says counts as done. wrong: takes the damage of
        batches that cannot be told. Without it the first of them raises Damaged."""
        journal = self._journal()
        removed = {self.path / place for place in journal.removes}
        found: dict[Path, Path] = {}
        for day in self.days() if days is None else days:
            directory = self.path / f"{DAY_PREFIX}{day}"
            with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
                names = sorted(entry.name for entry in entries if entry.name.startswith(BATCH_PREFIX))
                found |= {directory / name: directory / name for name in names if directory / name not in removed}
            for target, aside in journal.installs.items():
                if (self.path / target).parent == directory and self.path / target not in found:
                    found[self.path / target] = self.path / aside
        batches = []
        for own, lies in sorted(found.items()):
            try:
                batch = self._batch(own, lies)
            except sums.Damaged as error:
                if wrong is None:
                    raise
                wrong.append(error)
                continue
            except FileNotFoundError:
                if wrong is None or not own.exists():
                    raise
                wrong.append(sums.damaged(own / BATCH_ABOUT, sums.MISSING, self.path))
                continue
            if batch is not None:
                batches.append(batch)
            elif journal.has_lost(self.path) and self._journal() == journal:
                raise sums.damaged(self.path / JOURNAL, LOST, self.path)
        return batches

    def state(self) -> tuple[Path, ...]:
        """What is another one as soon as the catalog's batches are others."""
        return tuple(batch.place for batch in self.batches())

    def _batch(self, target: Path, place: Path) -> Batch | None:
        if target not in self._batches or place != target:
            batch = _batch(target, place, self.path)
            if batch is None or batch.place != target:
                return batch
            self._batches[target] = batch
        return self._batches[target]

    def batches_between(self, start_ns: int, end_ns: int) -> list[Batch]:
        """The batches with jobs that may have run at some time between two instants."""
        last = day_of(end_ns)
        days = [day for day in self.days() if day <= last]
        return [batch for batch in self.batches(days) if batch.start_ns <= end_ns and batch.end_ns >= start_ns]

    def scan(self, name: str, batches: Sequence[Batch] | None = None) -> pl.LazyFrame:
        """A frame of some batches, or of all. Raises Damaged."""
        files = checked(self.batches() if batches is None else batches, name)
        if not files:
            return pl.LazyFrame(schema=FRAMES[name].polars_schema)
        return scan_files(name, files)

    @contextlib.contextmanager
    def locked(self, is_waiting: Any = None) -> Iterator[Writing]:
        """The right to change the catalog, which one process has at a time; what a killed one left is done first.
        is_waiting: called once if somebody else has it."""
        with _locked(self.path, is_waiting):
            writing = Writing(self)
            writing.finish()
            writing.clear()
            try:
                yield writing
            finally:
                if not (self.path / JOURNAL).exists():  # else batches lie there that it speaks of
                    writing.clear()

    def _journal(self) -> Journal:
        file = self.path / JOURNAL
        try:
            journal, fault = sums.read_record(file, sums.fault_of_journal)
        except FileNotFoundError:
            return Journal({}, [])
        if fault:
            raise sums.damaged(file, fault, self.path)
        return Journal(**journal)


@dataclass(frozen=True)
class Journal:
    """What is decided and perhaps not done yet: batches by place, where each lies aside; batches that go."""

    installs: dict[str, str]
    removes: list[str]

    def has_lost(self, catalog: Path) -> bool:
        """Whether a batch that is to come is nowhere: what goes must stay then."""
        return any(
            not (catalog / aside).exists() and not (catalog / one).exists() for one, aside in self.installs.items()
        )


class Writing:
    """The catalog, for whoever holds its lock."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def finish(self) -> None:
        path = self.catalog.path
        journal = self.catalog._journal()
        if journal.has_lost(path):
            raise sums.damaged(path / JOURNAL, LOST, path)
        (path / ASIDE).mkdir(exist_ok=True)
        # What goes goes first: a reader that knows no journal may miss rows for an instant, and never counts any twice.
        for place in journal.removes:
            gone = path / ASIDE / f"gone-{Path(place).name}"
            with contextlib.suppress(FileNotFoundError):
                (path / place).rename(gone)
        for place, aside in journal.installs.items():
            (path / place).parent.mkdir(exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                (path / aside).rename(path / place)
        for place in (*journal.removes, *journal.installs):
            with contextlib.suppress(OSError):
                _sync(path / Path(place).parent)
            with contextlib.suppress(OSError):
                (path / place).parent.rmdir()  # of a day with nothing left
        (path / JOURNAL).unlink(missing_ok=True)

    def clear(self) -> None:
        """Clear away what lies aside: nobody will name it again. A lost worker may still write there, in vain."""
        shutil.rmtree(self.catalog.path / ASIDE, ignore_errors=True)

    def put(self, days: Mapping[str, Mapping[str, pl.DataFrame]], removes: Sequence[Batch] = ()) -> None:
        """Add a batch for each day, from its frames, and take others away: all of it or, if killed, nothing. Each day
        by itself if nothing goes: a job is in one day's batch as a whole."""
        names = {day: f"{BATCH_PREFIX}{secrets.token_hex(8)}" for day in days}
        for day, frames in days.items():
            write_batch(self.catalog.path / ASIDE / names[day], frames.items())
        self.install(names, removes)

    def install(self, days: Mapping[str, str], removes: Sequence[Batch] = ()) -> None:
        """Add a batch for each day that lies aside by this name, and take others away: as `put`."""
        path = self.catalog.path
        installs = {f"{DAY_PREFIX}{day}/{name}": f"{ASIDE}/{name}" for day, name in days.items()}
        if not removes:
            for place, aside in installs.items():
                (path / place).parent.mkdir(exist_ok=True)
                (path / aside).rename(path / place)
                _sync((path / place).parent)
            return
        journal = Journal(installs, [str(batch.place.relative_to(path)) for batch in removes])
        _write_whole(path / JOURNAL, sums.record_bytes(asdict(journal)))
        self.finish()


def write_batch(place: Path, frames: Iterable[tuple[str, pl.DataFrame]]) -> None:
    """Write a batch's frames, sorted, to a directory, and have them on the disk. frames: with their names, each asked
    for when the one before it is written; `jobs` among them."""
    place.mkdir(parents=True)
    rows, written, jobs = {}, {}, pl.DataFrame()
    for name, frame in frames:
        jobs = frame if name == "jobs" else jobs
        if frame.is_empty():
            continue
        rows[name] = frame.height
        file = place / f"{name}.parquet"
        ordered = in_order(conform(name, frame), order_of(name))
        write_frame(ordered, file, compression_level=1, row_group_size=ROWS_A_GROUP.get(name, ROWS_A_GROUP_OF_OTHERS))
        _sync(file)
        written[file.name] = sums.crc32_text(sums.crc32_of(file))
    _write_whole(place / INDEX, index_bytes(jobs))
    written[INDEX] = sums.crc32_text(sums.crc32_of(place / INDEX))
    about = {
        "jobs": jobs.height,
        "start_ns": jobs["start_ns"].min(),
        "end_ns": jobs["end_ns"].max(),
        "rows": rows,
        "written_ns": time.time_ns(),
        "bytes": {name: (place / f"{name}.parquet").stat().st_size for name in rows},
        "crc32": written,
    }
    _write_whole(place / BATCH_ABOUT, sums.record_bytes(about))
    _sync(place)


def in_order(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The frame sorted by some columns. One job's rows come in order, and to look costs a tenth of sorting."""
    rises, is_level = pl.lit(False), pl.lit(True)
    for column in columns:
        before = pl.col(column).shift()
        rises, is_level = rises | (is_level & (before < pl.col(column))), is_level & (before == pl.col(column))
    is_in_order = frame.select((rises | is_level).fill_null(False).slice(1).all()).item()
    return frame if is_in_order else frame.sort(columns)


def write_frame(frame: pl.DataFrame, file: Path, **options: Any) -> None:
    """Write a Parquet file. Raises OSError where the system will not have it; polars has an error of its own for it."""
    try:
        frame.write_parquet(file, compression="zstd", **options)
    except pl.exceptions.PolarsError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(file)) from error


def index_bytes(jobs: pl.DataFrame) -> bytes:
    numbers = sorted({*map(number_of_name, jobs["job"]), *jobs[KEY]})
    return b"".join(number.to_bytes(WORD, "little") for number in numbers)


def _batch(target: Path, place: Path, catalog: Path) -> Batch | None:
    """A batch by its directory; None if it has just gone. Raises Damaged, and FileNotFoundError."""
    try:
        about = _about(place, catalog)
    except FileNotFoundError:
        if not target.exists():
            return None
        about = _about(target, catalog)
        place = target
    day = target.parent.name.removeprefix(DAY_PREFIX)
    times = (about["start_ns"], about["end_ns"])
    sizes, crc32 = about.get("bytes", {}), about.get("crc32", {})
    return Batch(place, day, about["jobs"], *times, about["rows"], about["written_ns"], sizes, crc32)


def _about(place: Path, catalog: Path) -> sums.Record:
    about, fault = sums.read_record(place / BATCH_ABOUT, sums.fault_of_batch)
    if fault:
        raise sums.damaged(place / BATCH_ABOUT, fault, catalog)
    return about


@contextlib.contextmanager
def _locked(path: Path, is_waiting: Any = None) -> Iterator[None]:
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_waiting is not None:
                is_waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_whole(file: Path, content: bytes, mode: int = 0o666) -> None:
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    aside.replace(file)
    _sync(file.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
