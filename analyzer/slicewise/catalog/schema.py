"""The catalog's frames: those of the digest with the job's key in front, and a few that only a catalog has.

Documentation is made from this list, and `conform` holds every frame to it.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from slicewise.digest.schema import FRAMES as DIGEST_FRAMES
from slicewise.digest.schema import JOB, SLICE, STORAGE, Field, Frame, number
from slicewise.digest.slices import SPREAD, SUMS

KEY = "key"
KEY_COLUMN = Field(pl.UInt64(), "", "which job: the same in all frames; two jobs of one name have different keys")
# Of the digest's frames those that are not kept: what is made of a profile's sums by layer and bin.
NOT_KEPT = {
    "distributions": "sizes and latencies of calls",
    "storage_distributions": "the same by file system",
    "accesses": "sizes and order of calls",
    "communication": "calls of MPI",
    "library_calls": "calls of I/O libraries",
    "regions": "regions that programs marked",
    "thread_waits": "waits of threads for each other and for accelerators",
    "accelerated": "what accelerators did",
}

MORE_OF_JOBS = {
    "node_slice_ns": number("ns", "length of a slice in node_samples and node_slices"),
    "all_processes": number("processes", "all processes of the profile, of the job or not"),
    "unfinished": number("processes", "processes that had not ended when the profile was read"),
    "node_files": number("", "files of the profile: one a node"),
    "missing_ranks": number("", "ranks of MPI_COMM_WORLD of which nothing is there; 0 without MPI"),
    "records": number("", "rows of process_slices"),
    "fingerprint": Field(pl.UInt64(), "", "of the profile's files: path, names, sizes and times"),
}

MORE_OF_STORAGES = {
    f"{way}_bytes": number("bytes", f"bytes that the job's processes transferred there by {way} calls")
    for way in ("read", "write")
}


def _keyed(frame: Frame, more: dict[str, Field] | None = None) -> Frame:
    return replace(frame, keys=(KEY, *frame.keys), columns={KEY: KEY_COLUMN, **frame.columns, **(more or {})})


_JOBS = _keyed(DIGEST_FRAMES["jobs"], MORE_OF_JOBS)

FRAMES: dict[str, Frame] = {
    "jobs": replace(_JOBS, keys=(KEY,), columns=_JOBS.columns | {"job": replace(JOB, meaning="the job's name")}),
    **{
        name: _keyed(frame, MORE_OF_STORAGES if name == "storages" else None)
        for name, frame in DIGEST_FRAMES.items()
        if name not in ("jobs", *NOT_KEPT)
    },
    "usage": replace(_keyed(DIGEST_FRAMES["usage"]), meaning="one row for each process: what the kernel counted of it"),
    "job_slices": Frame(
        "one row for each job, storage and slice with any call on files: all of the job's processes together",
        (KEY, "storage", "slice"),
        {
            KEY: KEY_COLUMN,
            "storage": STORAGE,
            "slice": SLICE,
            "begin_ns": number("UNIX time, ns", "when the slice began"),
            "end_ns": number("UNIX time, ns", "when the slice ended"),
            **{name: DIGEST_FRAMES["process_slices"].columns[name] for name in SUMS},
            "at_work": number("processes", "processes with any call in the slice"),
            SPREAD: DIGEST_FRAMES["process_slices"].columns[SPREAD],
        },
    ),
    "damage": Frame(
        "one row for each part of a job's profile that could not be read",
        (KEY, "file", "kind"),
        {
            KEY: KEY_COLUMN,
            "kind": Field(pl.String(), "", "damaged: bytes of the file cannot be read; missing: pieces of the file "
                           "are not there at all; unfinished: processes without their last piece; "
                           "implausible: processes with numbers that no job has, which are left out"),
            "file": Field(pl.String(), "", "the file"),
            "message": Field(pl.String(), "", "the same in words; empty where names are hashed"),
            "processes": number("processes", "processes concerned, as far as known"),
            "lost_frames": number("", "pieces of the file (frames, see format.md) that are in no copy"),
            "lost_slices": number("slices", "slices that only such pieces held"),
        },
    ),
}  # fmt: skip

# Whose text is somebody's name, and is stored as a salted hash where names are hashed. Numbers of users, too.
NAMES: dict[str, tuple[str, ...]] = {
    "jobs": ("job", "path", "account", "user", "command", "directory"),
    "processes": ("job", "path", "command", "directory"),
    "files": ("path",),
    "unprofiled": ("program",),
    "launches": ("program", "command"),
    "sampled_processes": ("path",),
    "others": ("user",),
    "site_frames": ("module", "file"),
    "damage": ("file", "message"),
}
# In which order rows lie, so that a question about one job, or about one time, reads few of them.
ORDER: dict[str, tuple[str, ...]] = {"jobs": ("start_ns", KEY), "job_slices": ("begin_ns", "storage", KEY)}


def order_of(name: str) -> tuple[str, ...]:
    return ORDER.get(name, FRAMES[name].keys)


def conform(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with exactly the columns that the list has, in their order and of their types."""
    return frame.select(pl.col(column).cast(about.dtype) for column, about in FRAMES[name].columns.items())
