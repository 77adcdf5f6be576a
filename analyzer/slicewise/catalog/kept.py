"""Jobs that a catalog keeps, found by name and given as digests: whatever takes a profile's digest takes these."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from slicewise.catalog.rows import hashed_name, hashed_user
from slicewise.catalog.schema import FRAMES, KEY, NAMES, NOT_KEPT
from slicewise.catalog.store import Batch, Catalog
from slicewise.digest.digest import Digest
from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.errors import UserError
from slicewise.profile.damage import Damage
from slicewise.scalars import whole

MOST_NAMED = 4
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
    """A job's key as people see it, and as they give it: 16 letters."""
    return f"{key:016x}"


class KeptDigest(Digest):
    """A job's digest, from a catalog. It has the frames that the catalog keeps; another one raises UserError."""

    def __init__(self, catalog: Catalog, kept: KeptJob, job: str | None = None) -> None:
        """job: another name than the job's own, for one of several jobs with one name."""
        self._catalog, self._kept = catalog, kept
        self.job = job or kept.job
        self.path = Path(kept.job)
        self.slice_ns = whole(kept.row["slice_ns"])

    def _frame(self, name: str) -> pl.DataFrame:
        batch = self._kept.batch
        if name not in batch.rows:
            return pl.DataFrame(schema=DIGEST_FRAMES[name].polars_schema)
        columns = DIGEST_FRAMES[name].columns
        rows = self._catalog.scan(name, [batch]).filter(pl.col(KEY) == self._kept.key).select(list(columns))
        found = rows.collect().sort(_order(name))
        return found.with_columns(job=pl.lit(self.job)) if "job" in columns else found

    @cached_property
    def node_slice_ns(self) -> int:
        """The length of a slice of the nodes' frames, which need not be the job's."""
        return whole(self._kept.row["node_slice_ns"])

    @property
    def damage(self) -> list[Damage]:
        """What of the job's files could not be read when it came into the catalog."""
        if "damage" not in self._kept.batch.rows:
            return []
        rows = self._catalog.scan("damage", [self._kept.batch]).filter(pl.col(KEY) == self._kept.key).collect()
        return [
            Damage(row["kind"], row["file"], row["message"] or f"{row['file']}: {row['kind']}",
                   lost_frames=row["lost_frames"], lost_slices=row["lost_slices"])
            for row in rows.iter_rows(named=True)
        ]  # fmt: skip

    def meanings(self, enumeration: str) -> dict[str, str]:
        """Nothing: a catalog keeps names and no meanings, which docs/counters.md has."""
        return {}

    def _is_not_kept(self, what: str) -> UserError:
        return UserError(
            f"{self.job}: its {what} are not in the catalog; give the profile itself: {self._kept.row['path']}"
        )


def _order(name: str) -> tuple[str, ...]:
    return {"processes": ("node", "rank", "process")}.get(name, DIGEST_FRAMES[name].keys)


def _kept_frame(name: str) -> cached_property[pl.DataFrame]:
    def frame(self: KeptDigest) -> pl.DataFrame:
        return self._frame(name)

    made = cached_property(frame)
    made.__set_name__(KeptDigest, name)
    return made


def _missing(name: str, what: str) -> property:
    def refuse(self: KeptDigest) -> None:
        raise self._is_not_kept(what)

    return property(refuse)


for _name in DIGEST_FRAMES:
    if _name in FRAMES:
        setattr(KeptDigest, _name, _kept_frame(_name))
for _name, _what in (*((_name, "sizes and latencies of calls") for _name in NOT_KEPT), ("counters", "counters"),
                     ("active_slices", "slices of other calls"), ("counter_columns", "counters")):  # fmt: skip
    setattr(KeptDigest, _name, _missing(_name, _what))


def find_job(catalog: Catalog, name: str) -> KeptJob:
    """The job of that name or key. Raises UserError where there is none, or several."""
    found = _of_name(catalog, name)
    if not found:
        raise UserError(
            f"{name}: no such job in the catalog {catalog.path}; see: slicewise catalog list {catalog.path}"
        )
    if len(found) > 1:
        keys = ", ".join(key_text(one.key) for one in found[:MOST_NAMED])
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        raise UserError(f"{name}: {len(found)} jobs of the catalog have this name; give one by its key: {keys}{more}")
    return found[0]


def _of_name(catalog: Catalog, name: str) -> list[KeptJob]:
    batches = catalog.batches()
    condition = pl.col("job") == name
    if not catalog.has_names:
        with contextlib.suppress(UserError):  # whoever may not read the salt gives a key, or the hash
            condition = condition | (pl.col("job") == hashed(catalog, name))
    rows = _rows(catalog, batches, condition)
    if not rows and len(name) == 16 and set(name) <= set("0123456789abcdef"):
        rows = _rows(catalog, batches, pl.col(KEY) == int(name, 16))
    return rows


def hashed(catalog: Catalog, name: str | int) -> str | int:
    """What stands for a name or a user's number in a catalog that hashes them. Raises UserError without its salt."""
    return hashed_user(name, catalog.salt) if isinstance(name, int) else hashed_name(name, catalog.salt)


def _rows(catalog: Catalog, batches: Sequence[Batch], condition: pl.Expr) -> list[KeptJob]:
    """The jobs for which a condition holds. Few columns are looked through first."""
    files = {str(batch.file("jobs")): batch for batch in batches}
    if not files:
        return []
    found = (
        pl.scan_parquet(list(files), hive_partitioning=False, include_file_paths="file")
        .filter(condition)
        .sort("start_ns", KEY)
        .collect()
    )
    return [KeptJob(row, files[row.pop("file")]) for row in found.iter_rows(named=True)]


def jobs_of(catalog: Catalog, condition: pl.Expr) -> list[KeptJob]:
    """The jobs for whose rows of `jobs` a condition holds, in order of their start."""
    return _rows(catalog, catalog.batches(), condition)


def jobs_of_keys(catalog: Catalog, keys: Sequence[int], start_ns: int, end_ns: int) -> list[KeptJob]:
    """The jobs with these keys, all of which ran at some time between two instants."""
    return _rows(catalog, catalog.batches_between(start_ns, end_ns), pl.col(KEY).is_in(keys)) if keys else []
