"""A profile in formats of others: a table as CSV or Parquet, with the columns that say whose rows they are; call sites
as folded stacks, as flamegraph.pl, inferno and speedscope read them (`main;checkpoint;pwrite 1234`); and FTIO's JSON,
in which `ftio FILE -m write_sync` (https://github.com/tuda-parallel/FTIO) finds periods of I/O.
"""

import io
import json

import polars as pl

from slicewise.analysis.job.io_time import own_slices
from slicewise.analysis.job.phases import moved_bytes
from slicewise.analysis.job.sites import Sites, folded
from slicewise.analysis.job.usage import hardware
from slicewise.digest.activity import DIRECTIONS, members
from slicewise.digest.digest import Digest
from slicewise.kinds import Cost
from slicewise.profile.reader import Profile
from slicewise.text.safe_text import csv_cell, folded_frame


def table(profile: Profile, name: str) -> pl.DataFrame:
    """The table, every row with its job, host, pid and rank; `slices` also with start_ns of the slice and its mount."""
    whose = profile.processes.select("process", "job", "host", "pid", "rank")
    if name == "processes":
        return profile.processes
    frame = hardware(Digest(profile)).per_process if name == "hardware" else getattr(profile, name)
    frame = whose.join(frame, on="process", how="inner")
    if name == "slices":
        mounts = profile.mounts.select("process", "mount", "object", "point", "type", "source")
        frame = frame.join(mounts, on=["process", "mount"], how="left")
    if "slice" in frame.columns:
        frame = frame.with_columns(start_ns=pl.col("slice").cast(pl.Int64) * profile.slice_ns)
    return frame


def csv(frame: pl.DataFrame) -> bytes:
    """As CSV with a line of names; lists of no table's columns are in it."""
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    changed = {name: {text: csv_cell(text) for text in frame[name].unique() if text is not None} for name in texts}
    unsafe = {name: {text: cell for text, cell in cells.items() if cell != text} for name, cells in changed.items()}
    frame = frame.with_columns(pl.col(name).replace(cells) for name, cells in unsafe.items() if cells)
    return frame.rename({name: csv_cell(name) for name in frame.columns}).write_csv().encode()


def parquet(frame: pl.DataFrame, profile: Profile, name: str) -> bytes:
    """As Parquet; the file's metadata `slicewise` says, as JSON, the length of a slice and each column's unit and
    meaning."""
    schema = profile.schema
    listed = {table.name: table for table in schema.tables}.get(name)
    columns = {
        column.name: {"unit": column.unit, "meaning": column.meaning}
        for column in (listed.columns if listed else ())
        if column.name in frame.columns
    }
    if name == "hardware":
        columns |= {event: {"unit": unit, "meaning": ""} for event, unit in hardware(Digest(profile)).units.items()}
    about = {"table": name, "job": profile.job, "slice_ns": profile.slice_ns, "columns": columns}
    file = io.BytesIO()
    frame.write_parquet(file, metadata={"slicewise": json.dumps(about)})
    return file.getvalue()


# Folded stacks are whole numbers: time is in microseconds.
SCALES: dict[Cost, float] = {"time": 1e6, "bytes": 1.0, "calls": 1.0}


def folded_text(found: Sites, cost: Cost) -> str:
    """A line a stack; what costs nothing is left out."""
    lines = []
    for names, value in folded(found, cost):
        amount = round(value * SCALES[cost])
        if amount:
            lines.append(f"{';'.join(map(folded_frame, names))} {amount}\n")
    return "".join(lines)


def ftio_json(digest: Digest) -> str:
    """`read_sync` and `write_sync`, each with total_bytes, number_of_ranks and bandwidth: bytes/s (b_overlap_avr) from
    each of the times (t_overlap: seconds since the job's first slice with I/O) on, the last one 0."""
    moved = moved_bytes(own_slices(digest))
    seconds = digest.slice_ns / 1e9
    times = [place * seconds for place in range(moved.height + 1)] if moved.height else []
    ranks = members(digest).height
    record = {}
    for direction in DIRECTIONS:
        amounts = moved[f"{direction}_bytes"].to_list()
        record[f"{direction}_sync"] = {
            "total_bytes": int(sum(amounts)),
            "number_of_ranks": ranks,
            "bandwidth": {
                "b_overlap_avr": [amount / seconds for amount in amounts] + [0.0] * bool(amounts),
                "t_overlap": times,
            },
        }
    return json.dumps(record)
