"""Large neighbours: an analysis asks of each only who it is and what it did as a whole in each slice, which is small.

It is made of the profile once, together with the job's outline, and kept in the user's cache for as long as the
profile's files are as they were. A frame that is not among it is read from the profile when it is asked for.
"""

import io
import json
import os
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import polars as pl

from slicewise import user_cache
from slicewise.digest import slices
from slicewise.digest.digest import SELDOM, Digest
from slicewise.digest.fetched import may_have_fetched
from slicewise.digest.outlines import LARGE_BYTES, JobsRead, Outline, of_parts, of_reading, outlined, state_of
from slicewise.digest.processes import COUNTED, SERVED
from slicewise.digest.schema import FRAMES
from slicewise.errors import UserError
from slicewise.profile import plan
from slicewise.profile.files import profile_files
from slicewise.profile.many import Whole, parts_of
from slicewise.profile.reader import NOTHING, Profile, profile_of, read_profile, wants_of
from slicewise.profile.reading import schema_of, schema_text

KIND = "neighbours"
# Another one as soon as what is kept says something else of the same profile.
FORMAT = 3
# What no blame asks of a neighbour, and most of a large profile.
LEFT_OUT = ("slices", "other_slices", "requests", "files", "usage", *SELDOM)
# Of these what mapped files fetched is known, of the few jobs that fetched by such.
OF_FETCHED = ("usage", "communication")
# What it did, beside its tables: see `Digest`.
TOGETHER = "together"
HEAD_BYTES = 8


Together = Callable[[Digest], pl.DataFrame]


def large_neighbour(place: Path, together_of: Together) -> Digest | None:
    """The digest of a neighbour, with `together`; None of one that is small, or that must be read as any other.
    together_of: what a digest's job did as a whole, in the order of storage and slice: these, and columns that add up.
    """
    state, size = state_of(place)
    if size < LARGE_BYTES:
        return None
    key = _key(place, state)
    content = user_cache.kept(KIND, key) if state else None
    found = _made(place, together_of)[1] if content is None else _unpacked(place, content)
    if found is None:
        return None
    if content is None and state:
        user_cache.keep(KIND, key, _packed(*found))
    return Digest(found[0], {TOGETHER: found[1]}.get)


def large_outline(place: Path, own: Outline | None, together_of: Together) -> Outline | None:
    """The outline of a large job; None if the job must be read as any other. If it may have run while `own` did, what
    `large_neighbour` will be asked for is kept too.
    """
    state, _ = state_of(place)  # before the reading: what is written meanwhile is of a later state
    outline, found = _made(place, together_of, own)
    if found is not None and state:
        user_cache.keep(KIND, _key(place, state), _packed(*found))
    return outline


def _key(place: Path, state: str) -> str:
    return f"{FORMAT} {os.fsencode(place.absolute())!r} {state}"


def _made(
    place: Path, together_of: Together, own: Outline | None = None, more: Collection[str] = ()
) -> tuple[Outline | None, tuple[Profile, pl.DataFrame] | None]:
    """A job's outline, and what a digest is made of, from the profile some files at a time; None of what must be read
    as any other. more: tables that are wanted for what the job did.
    """
    parts, together = list[JobsRead](), list[pl.DataFrame]()
    is_near, source = True, None
    try:
        for reading in parts_of(place, OF_PARTS | WHAT_IT_DID | {name: plan.Want(name) for name in more}):
            source = reading.sources[0]
            tables = reading.tables
            is_near = is_near and _can_be_made(tables) and (bool(parts) or own is None or _is_near(tables, own))
            if is_near:
                # What is known of a part anyway, and takes as long to be made as all else.
                given = {} if more else {"processes": tables["processes"].select("process"), "jobs": PROFILED}
                digest = Digest(profile_of(source, tables), given.get)
                if not more and may_have_fetched(digest):
                    return _made(place, together_of, own, OF_FETCHED)
                given |= {} if more else {"fetched": NOT_FETCHED}
                together.append(together_of(digest))
            parts.append(of_reading(reading, is_one_job=True))
    except (Whole, UserError):
        return None, None
    if source is None:
        return None, None
    whole = of_parts(place, parts)
    outline = next(iter(outlined(whole)), None)
    if not is_near:
        return outline, None
    kept = {name: whole.tables[name].drop(plan.SOURCE) for name in WANTS}
    # Each process is of one part: what it did is there as a whole, and the parts add up.
    rows = pl.concat(together).group_by("storage", "slice").agg(pl.exclude("storage", "slice").sum())
    profile = Profile(place, source.job, source.slice_ns, source.schema, [], kept, partial(_whole, place))
    return outline, (profile, rows.sort("storage", "slice").select(together[0].columns))


def _whole(place: Path) -> Profile:
    return read_profile(place, slices=slices.WANTED, other_slices=slices.OTHERS, requests=slices.REQUESTS)


def _can_be_made(tables: dict[str, pl.DataFrame]) -> bool:
    """Whether parts add up: what nodes counted is shared out among all, and servers alone know some jobs."""
    source = tables["processes"].get_column("source", default=pl.Series(dtype=pl.String))
    return tables["nodes"].is_empty() and not (source == SERVED).any()


def _is_near(tables: dict[str, pl.DataFrame], own: Outline) -> bool:
    """Whether any process of a large job's first files lived while the job did; some end with their last slice."""
    processes, did = tables["processes"], own.did
    has_ended_before = (pl.col("end_ns") > 0) & (pl.col("end_ns") < did["start_ns"])
    return not processes.filter(~has_ended_before, pl.col("start_ns") <= did["end_ns"]).is_empty()


PROFILED = pl.DataFrame({"source": [COUNTED]})
NOT_FETCHED = pl.DataFrame(schema=FRAMES["fetched"].polars_schema)
WANTS = wants_of(NOTHING, NOTHING, NOTHING, False, without=LEFT_OUT)
OF_PARTS = WANTS | dict.fromkeys(LEFT_OUT, NOTHING)
WHAT_IT_DID = {"slices": slices.WANTED, "requests": slices.REQUESTS}


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
    empty = {name: plan.plan(want, (schema,), (0,), False).empty for name, want in WANTS.items()}
    tables = empty | frames
    return Profile(place, head["job"], head["slice_ns"], schema, [], tables, partial(_whole, place)), together
