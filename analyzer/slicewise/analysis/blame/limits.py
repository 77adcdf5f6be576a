"""What a control group's limit, and not the disk behind it, cost a job that it held up.

Digests' frames in, dataclasses out.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.analysis.blame.result import LowerLimit
from slicewise.analysis.runs.limits import Limit, held_by, limit_of, of_group
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import NEARLY_ALL
from slicewise.digest.digest import Digest
from slicewise.digest.storages import LIMIT_REQUESTS
from slicewise.text import words

# Of a job's limit: that of runs alone was another one, and not the same in other lumps.
HIGHER = 1.15


def lowered(
    storages: Sequence[Storage], limits: Mapping[int, Limit], digest: Digest, runs: Sequence[Digest]
) -> list[LowerLimit]:
    """The limits that held a job up and were lower than in runs alone, of the same kind."""
    found = [_lowered(one, limits[one.number], digest, runs) for one in storages if one.number in limits]
    return [one for one in found if one is not None]


def _lowered(storage: Storage, limit: Limit, digest: Digest, runs: Sequence[Digest]) -> LowerLimit | None:
    """Where several limits were used up for as long, the least difference counts."""
    own = _of_kinds(of_group(storage, limit, digest))
    alone = [_of_kinds(of_group(storage, its, run)) for run in runs if (its := limit_of(storage, run)) is not None]
    found = [
        (min(one[signal] for one in alone) / rate, signal)
        for signal, rate in own.items()
        if alone and all(signal in one for one in alone)
    ]
    if not found or min(found)[0] <= HIGHER:
        return None
    ratio, signal = min(found)
    return LowerLimit(storage, limit.group, signal in LIMIT_REQUESTS.values(), own[signal], ratio * own[signal])


def _of_kinds(its: pl.DataFrame) -> dict[str, float]:
    """The signals that were held to a limit for longest, or as long, and what the limit was. its: of `of_group`."""
    most, held = held_by(its)
    return {signal: most[signal] for signal in most if held[signal] >= NEARLY_ALL * max(held.values()) > 0}


def limit_words(storages: Sequence[Storage], limits: Mapping[int, Limit], lower: Sequence[LowerLimit]) -> list[str]:
    told = []
    then = {one.storage.number: f"; in runs alone it was {one.told(one.alone)}" for one in lower}
    for storage in storages:
        limit = limits.get(storage.number)
        if limit is None:
            continue
        was = then.get(storage.number, "")
        rate = next((one.told(one.rate) for one in lower if one.storage == storage), words.rate(limit.rate))
        told.append(
            f"On {storage.point} the limit of control group {limit.group} ({rate}{was}) held it up "
            f"{words.percent(limit.share, 2)} of its time in calls: jobs of other groups do not share it, and are no "
            "neighbours"
        )
    return told
