"""What a control group's limit, and not the disk behind it, cost a job that it held up.

Digests' frames in, dataclasses out.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from slicewise.analysis.blame.requests import Served
from slicewise.analysis.blame.result import LowerLimit
from slicewise.analysis.calls import Kind
from slicewise.analysis.runs.limits import ROOT_GROUP, Limit, held_by, limit_of, limits_of, of_group
from slicewise.analysis.runs.storage import Storage
from slicewise.constants import MAINLY, NEARLY_ALL
from slicewise.digest.digest import Digest
from slicewise.digest.slices import BYTES, with_mapped
from slicewise.digest.storages import LIMIT_REQUESTS, LIMITS
from slicewise.scalars import real
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
    held = [(run, limit_of(storage, run)) for run in runs]
    alone = [
        _speed(storage, run, digest) if its is None else _of_kinds(of_group(storage, its, run)) for run, its in held
    ]
    found = [
        (min(one[signal] for one in alone) / rate, signal)
        for signal, rate in own.items()
        if alone and all(signal in one for one in alone)
    ]
    if not found or min(found)[0] <= HIGHER:
        return None
    ratio, signal = min(found)
    return LowerLimit(storage, limit.group, signal in LIMIT_REQUESTS.values(), own[signal], ratio * own[signal])


def _speed(storage: Storage, run: Digest, digest: Digest) -> dict[str, float]:
    """What a run that no limit held up moved in a second in calls, by the signals of limits: a limit below that is
    lower than what it had. Only in directions in which it moved about as much as the job (digest): few bytes may take
    no time at any limit.
    """
    own, its = (_moved_by(storage, one) for one in (digest, run))
    did = its.group_by("process").agg(
        pl.col(*BYTES).sum(), read_ns=pl.col("read_ns").sum(), write_ns=(pl.col("write_ns") + pl.col("sync_ns")).sum()
    )
    seconds = {signal: real(did[f"{way}_ns"].max() or 0) / 1e9 for way, signal in LIMITS.items()}
    moved = {way: real(did[f"{way}_bytes"].sum()) for way in LIMITS}
    return {
        signal: moved[way] / seconds[signal]
        for way, signal in LIMITS.items()
        if seconds[signal] and moved[way] >= MAINLY * max(1.0, real(own[f"{way}_bytes"].sum()))
    }


def _moved_by(storage: Storage, digest: Digest) -> pl.DataFrame:
    return with_mapped(digest.process_slices, digest.fetched).filter(pl.col("storage") == storage.number)


def held_alike(where: Sequence[Storage], digest: Digest, run: Digest) -> bool:
    """Whether the same limits held two runs up, as high, or none."""
    own, its = limits_of(where, digest), limits_of(where, run)
    is_same = {number: one.group for number, one in own.items()} == {number: one.group for number, one in its.items()}
    return is_same and not lowered(where, own, digest, [run]) and not lowered(where, its, run, [digest])


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
        rate = next((one.told(one.rate) for one in lower if one.storage == storage), limit.told())
        who = "" if limit.group == ROOT_GROUP else ": jobs of other groups do not share it, and are no neighbours"
        told.append(
            f"On {storage.point} the limit of control group {limit.group} ({rate}{was}) held it up "
            f"{words.percent(limit.share, 2)} of its time in calls{who}"
        )
    return told


def request_words(
    storages: Sequence[Storage], limits: Mapping[int, Limit], of_requests: Mapping[int, Mapping[Kind, Served]]
) -> list[str]:
    """A sentence for each disk that serves so many requests and no more. of_requests: of `limits_of_requests`."""
    return [
        f"The disk of {storage.point} served {words.rate(served.most)}, and no more, with what the file system writes "
        "for each sync: its time goes by that"
        if served.is_bytes
        else f"The disk of {storage.point} served {words.count(round(served.most), kind)} a second, and no more, "
        "however many bytes these were: its time goes by requests"
        for storage in storages
        if storage.number not in limits
        for kind, served in of_requests.get(storage.number, {}).items()
    ]
