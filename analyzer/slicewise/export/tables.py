"""A table of a profile as CSV or Parquet, with the columns that say whose rows they are."""

import io
import json

import polars as pl

from slicewise.analysis.job.usage import hardware
from slicewise.digest.digest import Digest
from slicewise.profile.reader import Profile
from slicewise.text.safe_text import csv_cell


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
