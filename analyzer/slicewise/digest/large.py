"""Large neighbours: an analysis asks of each only who it is and what it did as a whole in each slice, which is small.

It is made of the profile once and kept in the user's cache, for as long as the profile's files are as they were. A
frame that is not among it is read from the profile when it is asked for.
"""

import io
import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import polars as pl

from slicewise import user_cache
from slicewise.digest import slices
from slicewise.digest.digest import Digest
from slicewise.digest.outlines import state_of
from slicewise.profile import plan
from slicewise.profile.files import profile_files
from slicewise.profile.many import Whole, parts_of
from slicewise.profile.plan import Source
from slicewise.profile.reader import NOTHING, Profile, profile_of, read_profile, wants_of
from slicewise.profile.reading import schema_of, schema_text

KIND = "neighbours"
# Another one as soon as what is kept says something else of the same profile.
FORMAT = 1
# A smaller profile is read sooner than looked for.
LARGE_BYTES = 4 << 20
# What no blame asks of a neighbour, and most of a large profile.
LEFT_OUT = (
    "slices", "other_slices", "files", "calls", "sites", "frames", "modules", "communication", "library_calls",
    "regions", "thread_waits", "usage", "hardware",
)  # fmt: skip
# What it did, beside its tables: see `Digest`.
TOGETHER = "together"
HEAD_BYTES = 8


class _Partial(Profile):
    """A profile without the tables of LEFT_OUT, which are read when one of them is first asked for."""

    def __getattr__(self, name: str) -> pl.DataFrame:
        return self._whole.tables[name] if name in LEFT_OUT and name not in self.tables else super().__getattr__(name)

    @cached_property
    def _whole(self) -> Profile:
        return read_profile(self.path, slices=slices.WANTED, other_slices=slices.OTHERS)


def large_neighbour(place: Path, together_of: Callable[[Digest], pl.DataFrame]) -> Digest | None:
    """The digest of a neighbour, with `together`; None of one that is small, or that must be read as any other.
    together_of: what a digest's job did as a whole, in the order of storage and slice: these, and columns that add up.
    """
    state, size = state_of(place)
    if size < LARGE_BYTES:
        return None
    key = f"{FORMAT} {os.fsencode(place.absolute())!r} {state}"
    content = user_cache.kept(KIND, key) if state else None
    found = _made(place, together_of) if content is None else _unpacked(place, content)
    if found is None:
        return None
    if content is None and state:
        user_cache.keep(KIND, key, _packed(*found))
    return Digest(found[0], {TOGETHER: found[1]}.get)


def _made(place: Path, together_of: Callable[[Digest], pl.DataFrame]) -> tuple[Profile, pl.DataFrame] | None:
    """What a digest is made of from the profile, some files at a time; None of a job that must be read as any other."""
    parts, together = list[Mapping[str, pl.DataFrame]](), list[pl.DataFrame]()
    source: Source | None = None
    try:
        for reading in parts_of(place, WANTS | {"slices": slices.WANTED}):
            source = reading.sources[0]
            if not reading.tables["nodes"].is_empty():
                return None
            tables = {name: table.drop(plan.SOURCE, strict=False) for name, table in reading.tables.items()}
            together.append(together_of(Digest(profile_of(source, tables))))
            parts.append({name: tables[name] for name in WANTS if name not in LEFT_OUT})
    except Whole:
        return None
    if source is None:
        return None
    kept = {name: pl.concat(part[name] for part in parts) for name in parts[0]}
    kept = {name: table.sort("process", maintain_order=True) for name, table in kept.items()}
    # Each process is of one part: what it did is there as a whole, and the parts add up.
    rows = pl.concat(together).group_by("storage", "slice").agg(pl.exclude("storage", "slice").sum())
    profile = _Partial(place, source.job, source.slice_ns, source.schema, [], kept)
    return profile, rows.sort("storage", "slice").select(together[0].columns)


WANTS = {name: NOTHING if name in LEFT_OUT else want for name, want in wants_of(NOTHING, NOTHING, False).items()}


def _packed(profile: Profile, together: pl.DataFrame) -> bytes:
    """A head, as JSON, with where each frame that has rows ends; then these as Parquet."""
    content, ends = io.BytesIO(), {}
    for name, frame in {**profile.tables, TOGETHER: together}.items():
        if frame.height or name == TOGETHER:
            frame.write_parquet(content, compression="zstd", compression_level=1, statistics=False)
            ends[name] = content.tell()
    head = json.dumps({"job": profile.job, "slice_ns": profile.slice_ns, "ends": ends}).encode()
    return len(head).to_bytes(HEAD_BYTES, "little") + head + content.getvalue()


def _unpacked(place: Path, content: bytes) -> tuple[Profile, pl.DataFrame] | None:
    text = schema_text(profile_files(place)[0])
    if text is None:
        return None
    schema, begin = schema_of(text), HEAD_BYTES + int.from_bytes(content[:HEAD_BYTES], "little")
    head, rest = json.loads(content[HEAD_BYTES:begin]), memoryview(content)[begin:]
    frames, at = {}, 0
    for name, end in head["ends"].items():
        frames[name] = pl.read_parquet(io.BytesIO(rest[at:end]))
        at = end
    together = frames.pop(TOGETHER)
    empty = {
        name: plan.plan(want, (schema,), (0,), False).empty for name, want in WANTS.items() if name not in LEFT_OUT
    }
    return _Partial(place, head["job"], head["slice_ns"], schema, [], empty | frames), together
