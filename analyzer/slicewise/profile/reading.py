"""Many profiles at once as one set of frames: what a question needs of them, decoded in parallel."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from slicewise.errors import UserError
from slicewise.profile import damage, native, plan, sampled_only
from slicewise.profile.damage import Damage, Missed
from slicewise.profile.files import WAY_OUT, job_places, profile_files, unreadable
from slicewise.profile.plan import Source, Want
from slicewise.profile.plausible import TIMES, without_odd
from slicewise.profile.sampled_only import with_stand_ins
from slicewise.profile.schema import FORMAT_VERSION, BadSchema, Schema, UnsupportedFormat, parse_schema
from slicewise.text import words

SEARCHED_BYTES = 1 << 20
FEW_PROCESSES = 1000
# Without these a schema is none.
REQUIRED_TABLES = ("processes", "mounts", "slices", "files", "calls", "mishaps")
PROCESSES = "processes"
# What of its processes a job is known by.
IDENTITY = Want(PROCESSES, ("job", "slice_ns", "pid", *TIMES))


@dataclass(frozen=True)
class Reading:
    """Jobs that were read together. tables: by name a frame with the columns `profile` (u32: which job's, a place in
    `sources`), `process` (u64: the process's unique id, within its source), the table's keys and the columns that were
    asked for, sorted by all of these but the last. Numbers are u64, or i64 where the schema says so; names of
    enumerations and strings are strings; units are those of the schema. What a job's version did not know is 0 or an
    empty string. A table that no file's schema has is without columns but profile and process.
    """

    sources: tuple[Source, ...]
    tables: dict[str, pl.DataFrame]


def read(
    paths: Iterable[str | Path],
    tables: Iterable[str] | Mapping[str, Want],
    columns: Mapping[str, Collection[str]] | None = None,
    *,
    threads: int = 0,
) -> Reading:
    """Read the jobs at `paths`: directories, files, or directories of job directories, each job once.

    tables: names of tables ("slices"), or, by the name that the result shall have, what is wanted of them. columns: by
    table, the columns that are wanted besides process and keys (Want.columns); of tables that are not named here, all
    but those of bins. threads: 0 for as many as there are processors.

        reading = read(["profiles/"], ["slices"], {"slices": ["read_bytes", "write_bytes"]})
        reading.tables["slices"].group_by("profile").agg(pl.col("write_bytes").sum())

    Damage costs the frames that it touches, and is told in the sources. Raises UserError where there is nothing to
    tell: no such file, not a profile, another format, several jobs or slice lengths in one directory, no sound frame.
    """
    if not isinstance(tables, Mapping):
        chosen = columns or {}
        tables = {name: Want(name, tuple(chosen[name]) if name in chosen else None) for name in tables}
    return read_jobs(job_places(Path(path) for path in paths), tables, threads=threads)


def read_jobs(places: Sequence[Path], wants: Mapping[str, Want], is_named: bool = True, threads: int = 0) -> Reading:
    """As `read`, of jobs that are known to be jobs. is_named: whether the frames have a column `profile`."""
    files = [profile_files(place) for place in places]
    loading = Loading(places, files, (*wants.values(), IDENTITY, sampled_only.NODES, sampled_only.MEMBERS))
    with native.Decoder(threads) as decoder:
        loading.load(decoder)
        schemas, order = tuple(loading.schemas), loading.order(decoder)
        identity, _ = plan.plan(IDENTITY, schemas, order, True).frame(decoder)
        others = _without_profiled(places, identity, decoder, schemas, order)
        identity = with_stand_ins(identity, others)
        sources = tuple(_sources(loading, decoder, identity))
        made = {name: plan.plan(want, schemas, order, is_named).frame(decoder) for name, want in wants.items()}
    frames = {
        name: with_stand_ins(frame, others) if wants[name].table == PROCESSES else frame
        for name, (frame, _) in made.items()
    }
    suspects = {name: columns for name, (_, columns) in made.items()}
    names = {name: want.table for name, want in wants.items()}
    return Reading(*without_odd(sources, frames, names, suspects, identity))


def _without_profiled(
    places: Sequence[Path],
    identity: pl.DataFrame,
    decoder: native.Decoder,
    schemas: tuple[Schema, ...],
    order: tuple[int, ...],
) -> pl.DataFrame:
    """Processes of those jobs that have no profiled ones, as they were sampled from outside."""
    if identity[plan.SOURCE].n_unique() == len(places):
        return pl.DataFrame()
    outside = (sampled_only.NODES, sampled_only.MEMBERS)
    nodes, members = (plan.plan(want, schemas, order, True).frame(decoder)[0] for want in outside)
    return sampled_only.stand_ins(nodes, members, identity)


def schema_text(file: Path) -> bytes | None:
    """The text of the first schema that a file holds, if it is near the file's begin, where it is but for damage."""
    texts: list[bytes] = []

    def meet(_: int, text: bytes) -> native.Layout | None:
        try:
            schema = schema_of(text)
        except (BadSchema, UnsupportedFormat):
            return None
        texts.append(text)
        return plan.layout(schema, ())

    with native.Decoder(threads=1) as decoder:
        (state,) = decoder.load([(os.fsencode(file), 0)], meet, SEARCHED_BYTES)
    if state.error:
        raise OSError(state.error, os.strerror(state.error), os.fspath(file))
    return texts[0] if texts else None


@functools.lru_cache(maxsize=64)
def schema_of(text: bytes) -> Schema:
    """A schema by its text, parsed once. Raises UnsupportedFormat or BadSchema."""
    schema = parse_schema(text)
    names = {table.name for table in schema.tables}
    if not names.issuperset(REQUIRED_TABLES):
        raise BadSchema("a table is missing")
    return schema


@dataclass
class Loading:
    """Files while they are loaded: their schemas, and what was found."""

    places: Sequence[Path]
    files: Sequence[Sequence[Path]]
    wants: tuple[Want, ...]
    schemas: list[Schema] = field(default_factory=list)
    states: list[native.File] = field(default_factory=list)
    flat: list[tuple[Path, int]] = field(default_factory=list)
    refusal: BaseException | None = None

    def load(self, decoder: native.Decoder) -> None:
        """Have all files decoded. Raises UserError if one cannot be read, or is of another format."""
        self.flat = [(file, source) for source, files in enumerate(self.files) for file in files]
        self.states = decoder.load([(os.fsencode(file), source) for file, source in self.flat], self._meet)
        for (file, _), state in zip(self.flat, self.states, strict=True):
            if state.error:
                raise UserError(unreadable(file, state.error))
            if state.marker and chr(state.marker) != str(FORMAT_VERSION):
                raise UserError(_other_format(file, chr(state.marker)))
        if self.refusal is not None:
            raise self.refusal

    def _meet(self, file: int, text: bytes) -> native.Layout | None:
        try:
            schema = schema_of(text)
        except BadSchema:
            return None
        except UnsupportedFormat as error:
            self.refusal = self.refusal or UserError(_other_format(self.flat[file][0], str(error)))
            return None
        except BaseException as error:  # it would be lost in C
            self.refusal = error
            return None
        self.schemas.append(schema)
        return plan.layout(schema, self.wants)

    def order(self, decoder: native.Decoder) -> tuple[int, ...]:
        """The schemas' places in an order that does not depend on which thread met which first: by source."""
        met = [decoder.first_schema(source) for source in range(len(self.places))]
        rest = sorted(range(len(self.schemas)), key=lambda place: self.schemas[place].writer)
        return tuple(dict.fromkeys(place for place in [*met, *rest] if place >= 0))


def _other_format(file: Path, format_number: str) -> str:
    return (
        f"{file}: is of format {format_number}, and this slicewise reads format {FORMAT_VERSION} alone; "
        "use the slicewise that wrote it, or a newer one"
    )


def _sources(loading: Loading, decoder: native.Decoder, identity: pl.DataFrame) -> Iterator[Source]:
    """Every job with its name, its slices' length and its damage. Raises UserError for what is no job."""
    found = decoder.sources()
    jobs: dict[int, tuple[set[str], set[int]]] = {}
    for whose, job, slice_ns in _jobs_of_processes(identity):
        names_met, lengths_met = jobs.setdefault(whose, (set(), set()))
        names_met.add(job)
        lengths_met.add(slice_ns)
    damages = _damages(loading, decoder, identity)
    for source, path in enumerate(loading.places):
        if not found[source].frames:
            raise UserError(_why_nothing(path, source, loading, found[source], decoder.holes()))
        if source not in jobs:
            raise UserError(f"{path}: none of its sound frames describes a process; take an undamaged copy")
        names, lengths = sorted(jobs[source][0]), sorted(jobs[source][1])
        if len(names) > 1:
            listed = words.some(names)
            raise UserError(f"{path}: holds several jobs ({listed}); keep each job's files in a directory of its own")
        if len(lengths) > 1 or lengths[0] == 0:
            listed = ", ".join(f"{length / 1e9:g} s" for length in lengths)
            raise UserError(f"{path}: its processes have slices of {listed}; profile a job with one SLICEWISE_SLICE")
        schema = loading.schemas[decoder.first_schema(source)]
        told = tuple(damages[source].told(lengths[0])) if source in damages else ()
        yield Source(source, path, names[0], lengths[0], schema, told, found[source].schemas)


def _jobs_of_processes(identity: pl.DataFrame) -> Iterable[tuple[int, str, int]]:
    """Source, job and slices' length of all processes, of many each combination once."""
    if not identity.height:
        return ()
    columns = (plan.SOURCE, "job", "slice_ns")
    if identity.height > FEW_PROCESSES:
        return identity.select(columns).unique().iter_rows()
    return zip(*(identity[column].to_list() for column in columns), strict=True)


def _why_nothing(
    path: Path, source: int, loading: Loading, found: native.NativeSource, holes: list[native.Hole]
) -> str:
    own = {at for at, (_, whose) in enumerate(loading.flat) if whose == source}
    if not any(loading.states[at].bytes for at in own):
        return f"{path}: is empty: nothing was written to it (a full disk?)"
    if found.processes or any(hole.file in own and not loading.states[hole.file].is_foreign for hole in holes):
        return f"{path}: no frame of it could be read: it is damaged from end to end; take an undamaged copy"
    if found.schemas:
        return f"{path}: holds no process yet; a job that was killed is completed by: slicewise recover JOBDIR"
    return f"{path}: is not a Slicewise profile; {WAY_OUT}"


@dataclass
class _SourceDamage:
    """What is damaged of one source, as the decoder found it."""

    path: Path
    pids: dict[int, int]
    files: dict[int, tuple[Path, native.File]] = field(default_factory=dict)
    holes: dict[int, list[native.Hole]] = field(default_factory=dict)
    losses: dict[int, list[Missed]] = field(default_factory=dict)
    unfinished: list[int] = field(default_factory=list)

    def told(self, slice_ns: int) -> Iterator[Damage]:
        for at, (file, state) in sorted(self.files.items()):
            if state.is_foreign:
                yield Damage("damaged", str(file), f"{file}: is not a Slicewise profile, and was passed over")
                continue
            holes = sorted(self.holes.get(at, ()), key=lambda hole: hole.begin)
            ranges = tuple((hole.begin, hole.end) for hole in holes)
            losses = self.losses.get(at, [])
            if not holes and not losses:
                continue
            yield Damage(
                "damaged" if ranges else "missing",
                str(file),
                damage.in_words(str(file), state.sound_frames, ranges, len(ranges), losses, self.pids, slice_ns),
                ranges,
                tuple(loss.process for loss in losses),
                sum(loss.frames for loss in losses),
                sum(loss.slices for loss in losses),
            )
        if self.unfinished:
            line = damage.unfinished_in_words(str(self.path), len(self.unfinished), self.path.is_dir())
            yield Damage("unfinished", str(self.path), line, processes=tuple(self.unfinished))


def _damages(loading: Loading, decoder: native.Decoder, identity: pl.DataFrame) -> dict[int, _SourceDamage]:
    damages: dict[int, _SourceDamage] = {}

    def of(source: int) -> _SourceDamage:
        if source not in damages:
            own = identity.filter(pl.col(plan.SOURCE) == source) if identity.height else identity
            pids = dict(own.select("process", "pid").iter_rows()) if own.height else {}
            damages[source] = _SourceDamage(loading.places[source], pids)
        return damages[source]

    def of_file(at: int) -> _SourceDamage:
        file, source = loading.flat[at]
        of(source).files[at] = (file, loading.states[at])
        return damages[source]

    for at, state in enumerate(loading.states):
        if state.is_foreign:
            of_file(at)
    for hole in decoder.holes():
        if not hole.is_elsewhere:
            of_file(hole.file).holes.setdefault(hole.file, []).append(hole)
    for loss in sorted(decoder.losses(), key=lambda loss: loss.arrival):
        of_file(loss.file).losses.setdefault(loss.file, []).append(Missed(loss.process, loss.frames, loss.slices))
    for unfinished in sorted(decoder.unfinished(), key=lambda unfinished: unfinished.arrival):
        of(unfinished.source).unfinished.append(unfinished.process)
    return damages
