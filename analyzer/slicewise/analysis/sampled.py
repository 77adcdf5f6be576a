"""The job's processes that no library profiled, as the nodes' collectors sampled them: when they moved how much."""

from dataclasses import dataclass

import polars as pl

from slicewise.digest.activity import DIRECTIONS, Direction
from slicewise.digest.digest import Digest


@dataclass(frozen=True)
class Sampled:
    """A process that could not be profiled, by the kernel's count: of descriptors of whatever kind, and at least so
    much, for what it did between the last look and its end is missing. process: what to call it. reason: why it could
    not be profiled. begin_ns, end_ns: from its beginning to the last look. is_refused: the kernel did not tell its
    counts. busiest_ns: when the slice began in which it moved most; None where it moved nothing.
    """

    process: str
    program: str
    reason: str
    begin_ns: int
    end_ns: int
    read_bytes: int
    write_bytes: int
    read_calls: int
    write_calls: int
    is_refused: bool
    busiest_ns: int | None


def sampled_processes(digest: Digest) -> list[Sampled]:
    found = digest.sampled_processes
    if found.is_empty():
        return []
    moved = digest.sampled_slices.with_columns(moved=_moved()).sort("moved", "slice", descending=[True, False])
    busiest = moved.unique(["process", "nth"], keep="first", maintain_order=True).select("process", "nth", "slice")
    rows = (
        found.join(busiest, on=["process", "nth"], how="left", maintain_order="left")
        .with_columns(moved=_moved())
        .sort("moved", "start_ns", "pid", descending=[True, False, False])
    )
    return [
        Sampled(
            row["label"],
            row["path"],
            row["reason"],
            row["start_ns"],
            row["end_ns"],
            row["read_bytes"],
            row["write_bytes"],
            row["read_ops"],
            row["write_ops"],
            row["is_refused"],
            None if row["slice"] is None else row["slice"] * digest.node_slice_ns,
        )
        for row in rows.iter_rows(named=True)
    ]


def sampled_bytes(found: list[Sampled]) -> dict[Direction, int | None]:
    """What they moved together, by direction; None where nobody was sampled whose counts the kernel tells."""
    told = [one for one in found if not one.is_refused]
    return {way: sum(getattr(one, f"{way}_bytes") for one in told) if told else None for way in DIRECTIONS}


def _moved() -> pl.Expr:
    return pl.sum_horizontal(f"{way}_bytes" for way in DIRECTIONS)
