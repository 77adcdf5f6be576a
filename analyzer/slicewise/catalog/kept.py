"""Jobs that a catalog keeps, found by name and given as digests: whatever takes a profile's digest takes these."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.catalog.find import places
from slicewise.catalog.rows import hashed_name, hashed_user
from slicewise.catalog.schema import FRAMES, KEY, NAMES, NOT_KEPT
from slicewise.catalog.store import Batch, Catalog, checked, number_of_name, scan_files
from slicewise.catalog.sums import Damaged
from slicewise.digest.digest import Digest, read_digest
from slicewise.digest.layers import ALL_LAYERS
from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.equal_rows import rows_of
from slicewise.errors import UserError
from slicewise.kinds import KINDS
from slicewise.profile.damage import Damage
from slicewise.profile.reader import Profile
from slicewise.profile.schema import PayloadColumn, Schema
from slicewise.scalars import whole
from slicewise.text import words

# Of the frame `jobs`, what one asks for by name.
HASHED_COLUMNS = tuple(column for column in NAMES["jobs"] if column != "path")


@dataclass(frozen=True)
class KeptJob:
    """A job of a catalog: its row of the frame `jobs`, and the batch that has it."""

    row: Mapping[str, object]
    batch: Batch

    @property
    def key(self) -> int:
        return whole(self.row[KEY])

    @property
    def job(self) -> str:
        return str(self.row["job"])

    @property
    def times(self) -> tuple[int, int]:
        """When it began and ended, in ns of UNIX time."""
        return whole(self.row["start_ns"]), whole(self.row["end_ns"])


def key_text(key: int) -> str:
    """A job's key as people see it, and as they give it: 16 hexadecimal digits."""
    return f"{key:016x}"


class FrameCache:
    """The digest's frames of some jobs of a catalog. Each frame is read for all of these jobs when it is first asked
    for, which takes little longer than reading it for one."""

    def __init__(self, catalog: Catalog, jobs: Sequence[KeptJob]) -> None:
        self._catalog, self._jobs = catalog, jobs
        self._read: dict[str, tuple[pl.DataFrame, Mapping[int, tuple[int, int]]]] = {}

    def frame(self, name: str, job: KeptJob) -> pl.DataFrame:
        if name not in self._read:
            self._read[name] = self._frames(name)
        rows, places = self._read[name]
        return rows.slice(*places.get(job.key, (0, 0)))

    def _frames(self, name: str) -> tuple[pl.DataFrame, Mapping[int, tuple[int, int]]]:
        """The frame of all jobs, and where in it each job's rows begin and how many they are, by key."""
        batches = list({job.batch.place: job.batch for job in self._jobs}.values())
        columns = DIGEST_FRAMES[name].columns
        if not any(name in batch.rows for batch in batches):
            return pl.DataFrame(schema=DIGEST_FRAMES[name].polars_schema), {}
        is_asked = pl.col(KEY).is_in([job.key for job in self._jobs])
        rows = self._catalog.scan(name, batches).filter(is_asked).select(KEY, *columns).collect()
        ordered = rows.sort(KEY, *{"processes": ("node", "rank", "process")}.get(name, DIGEST_FRAMES[name].keys))
        return ordered.drop(KEY), rows_of(ordered, KEY)


class KeptDigest(Digest):
    """A job's digest, from a catalog. What the catalog does not keep comes from the job's profile, if that still lies
    where it came from, just as it was. Else `not_kept` names it, and asking for it raises UserError."""

    def __init__(self, catalog: Catalog, kept: KeptJob, cache: FrameCache | None = None) -> None:
        """cache: has the frames of this job and of others, read together."""
        self._catalog, self._kept = catalog, kept
        self._cache = cache or FrameCache(catalog, [kept])
        self.job = kept.job
        self.slice_ns = whole(kept.row["slice_ns"])

    @property
    def own_name(self) -> str:
        return self._kept.job

    def _source(self, name: str) -> pl.DataFrame | None:
        if name in NOT_KEPT and not self.is_by_layer:
            raise UserError(f"{self.job}: {self.lacks(NOT_KEPT[name])}")
        return self._cache.frame(name, self._kept) if name in FRAMES else None

    @cached_property
    def path(self) -> Path:  # type: ignore[override]
        """Its name, in place of where a profile lies: a site has thousands of neighbours, and few are told of."""
        return Path(self._kept.job)

    @property
    def key(self) -> int:
        return self._kept.key

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """The job's row of the frame `jobs`, which was read with the job."""
        row = self._kept.row
        return row if row["job"] == self.job else {**row, "job": self.job}

    @cached_property
    def node_slice_ns(self) -> int:
        """The length of a slice of the nodes' frames, which need not be the job's."""
        return whole(self._kept.row["node_slice_ns"])

    @property
    def addresses(self) -> Mapping[str, frozenset[str]]:
        """A catalog keeps none."""
        return {}

    @property
    def damage(self) -> list[Damage]:
        if "damage" not in self._kept.batch.rows:
            return []
        rows = self._catalog.scan("damage", [self._kept.batch]).filter(pl.col(KEY) == self._kept.key).collect()
        return [
            Damage(row["kind"], row["file"], row["message"] or f"{row['file']}: {row['kind']}",
                   lost_frames=row["lost_frames"], lost_slices=row["lost_slices"])
            for row in rows.iter_rows(named=True)
        ]  # fmt: skip

    @cached_property
    def _profile(self) -> Profile:  # type: ignore[override]
        """The profile itself; without tables where that is not there any more, or is another one by now."""
        with contextlib.suppress(UserError):
            if self.profile_path is not None:
                return read_digest(self.profile_path, distributions=True, needs_axis=False)._profile
        return Profile(self.path, self.job, self.slice_ns, Schema("", (), {}, {}, {}), [], {})

    @cached_property
    def profile_path(self) -> Path | None:
        """Where the profile lies that the job came from; None where it does not, or is another one by now."""
        path = Path(str(self._kept.row["path"]))
        with contextlib.suppress(UserError, OSError):
            salt = self._catalog.salt
            if not salt and [one.fingerprint(salt) for one in places([path])] == [self._kept.row["fingerprint"]]:
                return path
        return None

    @cached_property
    def is_by_layer(self) -> bool:
        """Whether the profile itself is at hand: the catalog has sums over layers, and files alone."""
        return bool(self._profile.tables)

    @property
    def not_kept(self) -> Mapping[str, str]:
        return {} if self.is_by_layer else NOT_KEPT

    @property
    def notes(self) -> list[str]:
        if self.is_by_layer:
            return super().notes
        return [
            f"{self.job}: these are figures of the catalog {self._catalog.path}, which keeps sums over layers, files "
            "alone, and no sizes, latencies or errors of calls; the profile is not where it was, or has changed"
        ]

    def lacks(self, what: str) -> str:
        """That something is nowhere, and what to do."""
        where = f" at {self._kept.row['path']}" if self._catalog.has_names else ""
        return f"its {what} are not in the catalog, and its profile is not{where} as it was; give a profile of it"

    @cached_property
    def counters(self) -> pl.DataFrame:
        """As of a profile; without that, of files alone and of all layers together."""
        if self.is_by_layer:
            return super().counters
        own = self.processes.filter("is_of_job").select("process")
        sums = [column.name for column in self.counter_columns]
        # Times of requests, which a profile has in a layer of their own.
        both = [pl.col(f"{way}_ns") + pl.col(f"{way}_request_ns") for way in ("read", "write")]
        return (
            self.process_slices.join(own, on="process", how="semi")
            .with_columns(both)
            .group_by("storage")
            .agg(pl.col("process").unique().alias("processes"), pl.col(sums).sum())
            .join(self.storages.select("storage", "point", "type", "source"), on="storage")
            .with_columns(object=pl.lit("file"), layer=pl.lit(ALL_LAYERS))
            .sort("point", "type", "source")
            .select("object", "point", "type", "source", "layer", "processes", *sums)
        )

    @property
    def counter_columns(self) -> list[PayloadColumn]:
        if self.is_by_layer:
            return super().counter_columns
        kept = DIGEST_FRAMES["process_slices"].columns
        names = [f"{kind}_{what}" for kind in KINDS for what in ("bytes", "ops", "ns")]
        return [
            PayloadColumn(name, "I64", kept[name].unit, "SUM", kept[name].meaning) for name in names if name in kept
        ]

    @cached_property
    def active_slices(self) -> pl.Series:
        """As of a profile; without that, the slices with calls on files."""
        if self.is_by_layer:
            return super().active_slices
        own = self.processes.filter("is_of_job").select("process")
        return self.process_slices.join(own, on="process", how="semi")["slice"].unique()


def find_job(catalog: Catalog, name: str) -> KeptJob:
    """The job of that name or key. Raises UserError where there is none, or several."""
    found = _of_name(catalog, name)
    if not found:
        raise UserError(
            f"{name}: no such job in the catalog {catalog.path}; see: slicewise catalog list {catalog.path}"
        )
    if len(found) > 1:
        keys = words.some(key_text(one.key) for one in found)
        raise UserError(f"{name}: {len(found)} jobs of the catalog have this name; give one by its key: {keys}")
    return found[0]


def _of_name(catalog: Catalog, name: str) -> list[KeptJob]:
    batches = catalog.batches()
    names = [name]
    if not catalog.has_names:
        try:
            names.append(str(hashed(catalog, name)))
        except Damaged:
            raise
        except UserError:  # whoever may not read the salt gives a key, or the hash
            pass
    numbers = [number_of_name(one) for one in names]
    rows = _rows([batch for batch in batches if batch.may_have(numbers)], pl.col("job").is_in(names))
    if not rows and len(name) == 16 and set(name) <= set("0123456789abcdef"):
        key = int(name, 16)
        rows = _rows([batch for batch in batches if batch.may_have([key])], pl.col(KEY) == key)
    return rows


def hashed(catalog: Catalog, name: str | int) -> str | int:
    """What stands for a name or a user's number in a catalog that hashes them. Raises UserError without its salt."""
    return hashed_user(name, catalog.salt) if isinstance(name, int) else hashed_name(name, catalog.salt)


def _rows(batches: Sequence[Batch], condition: pl.Expr) -> list[KeptJob]:
    files = {str(file): batch for file, batch in zip(checked(batches, "jobs"), batches, strict=True)}
    if not files:
        return []
    found = (
        scan_files("jobs", [Path(file) for file in files], include_file_paths="file")
        .filter(condition)
        .sort("start_ns", KEY)
        .collect()
    )
    return [KeptJob(row, files[row.pop("file")]) for row in found.iter_rows(named=True)]


def jobs_of_keys(catalog: Catalog, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
    """The jobs with these keys, all of which ran at some time between two instants."""
    return _rows(catalog.batches_between(start_ns, end_ns), pl.col(KEY).is_in(keys)) if keys else []
