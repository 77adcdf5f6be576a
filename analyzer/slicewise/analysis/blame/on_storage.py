"""What a job did on one storage and who was there with it, a value a slice: the arrays that prices are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from polars import selectors

from slicewise.analysis.calls import AMOUNTS, CACHED, CALLS, KINDS, SECONDS, WRITTEN, Kind
from slicewise.analysis.capacity.by_kind import Capacities, against
from slicewise.constants import FILLED

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SlicesOnStorage:
    """A value for each slice in which the job made calls there, in order of time.

    seconds: of the mean process in calls, by kind; amounts and calls: of all processes (no calls of metadata: they are
    the amount); cached: of the bytes written, those that a cache had taken; written: bytes that calls wrote; at_work:
    processes in calls. has_company: whether anybody else was active or in calls there. others: the storage's time that
    all others took, in s, as far as it counts against the kind of calls in which the job spent most time; company: a
    number for the set of those who did, 0 for nobody. others_metadata: the storage's time that metadata operations of
    others took. together: amounts of the job and of everybody else.
    """

    slice: npt.NDArray[np.int64]
    seconds: Mapping[Kind, Floats]
    amounts: Mapping[Kind, Floats]
    calls: Mapping[Kind, Floats]
    cached: Floats
    written: Floats
    at_work: Floats
    has_company: Mask
    others: Floats
    company: npt.NDArray[np.uint64]
    others_metadata: Floats
    together: Mapping[Kind, Floats]

    def __len__(self) -> int:
        return len(self.slice)

    @cached_property
    def in_calls(self) -> Floats:
        return np.asarray(sum(self.seconds.values()))

    @cached_property
    def is_at_work(self) -> Mask:
        return np.asarray(self.at_work >= FILLED * self.at_work.max())

    @cached_property
    def inner(self) -> Mask:
        """Without the first and the last slice, which the job need not have filled; with nearly all processes in
        calls.
        """
        return np.asarray((self.slice > self.slice[0]) & (self.slice < self.slice[-1]) & self.is_at_work)

    def of(self, chosen: Mask) -> SlicesOnStorage:
        def its(values: Any) -> Any:
            return {k: each[chosen] for k, each in values.items()} if isinstance(values, dict) else values[chosen]

        return SlicesOnStorage(*(its(getattr(self, one.name)) for one in fields(self)))


def main_kind(seconds: Mapping[Kind, float]) -> Kind:
    return max(KINDS, key=lambda kind: seconds[kind])


def on_storages(
    slices: pl.DataFrame,
    company: pl.DataFrame | None = None,
    together: pl.DataFrame | None = None,
    known: Mapping[int, Capacities] | None = None,
) -> dict[int, SlicesOnStorage]:
    """A job by storage.

    slices: `timeline.slice_rows`. company: storage, slice, neighbour, {kind}_taken (the storage's time that it took),
    of those that were active; together: storage, slice and AMOUNTS, of all jobs and of traffic without a profile; None:
    the job had the storage to itself.
    """
    found = {}
    for (number,), own in slices.group_by("storage", maintain_order=True):
        storage = int(str(number))
        rows = own
        there = None if company is None else company.filter(pl.col("storage") == storage)
        if there is not None and not there.is_empty():
            main = main_kind({kind: float(own[SECONDS[kind]].sum()) for kind in KINDS})
            counts = against(main, (known or {}).get(storage, Capacities({})))
            rows = rows.join(_others(there, counts), on="slice", how="left", maintain_order="left")
        if together is not None:
            every = together.filter(pl.col("storage") == storage).select(
                "slice", *(pl.col(name).alias(f"all_{name}") for name in AMOUNTS.values())
            )
            rows = rows.join(every, on="slice", how="left", maintain_order="left")
        found[storage] = _arrays(rows)
    return found


def _others(there: pl.DataFrame, counts: pl.Expr) -> pl.DataFrame:
    """slice, others, company, others_metadata, of those that were active on a storage."""
    return (
        there.with_columns(counts=counts)
        .sort("slice", "neighbour")
        .group_by("slice", maintain_order=True)
        .agg(
            who=pl.col("neighbour").filter(pl.col("counts") > 0).drop_nulls().str.join("+"),
            others=pl.col("counts").sum(),
            others_metadata=pl.col("meta_taken").sum(),
        )
        .select(
            "slice",
            "others",
            "others_metadata",
            company=pl.when(pl.col("who") != "").then(pl.col("who").rank("dense")).otherwise(0).cast(pl.UInt64),
        )
    )


def _arrays(rows: pl.DataFrame) -> SlicesOnStorage:
    known = rows.select(selectors.numeric().cast(pl.Float64).fill_null(0.0))

    def floats(name: str) -> Floats:
        return known[name].to_numpy() if name in known.columns else np.zeros(len(rows))

    has_company = rows["others"].is_not_null().to_numpy() if "others" in rows.columns else np.zeros(len(rows), bool)
    company = rows["company"].fill_null(0).to_numpy() if "company" in rows.columns else np.zeros(len(rows), np.uint64)
    return SlicesOnStorage(
        rows["slice"].to_numpy(),
        {kind: floats(SECONDS[kind]) for kind in KINDS},
        {kind: floats(AMOUNTS[kind]) for kind in KINDS},
        {kind: floats(CALLS[kind]) if kind in CALLS else np.zeros(len(rows)) for kind in KINDS},
        floats(CACHED),
        floats(WRITTEN),
        floats("at_work"),
        has_company,
        floats("others"),
        company,
        floats("others_metadata"),
        {kind: floats(f"all_{AMOUNTS[kind]}") for kind in KINDS},
    )
