"""A blame without others' names: their programs, users, nodes and paths hidden, their numbers kept."""

import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from slicewise.analysis.blame.result import HAD_COMPANY, Baseline, Blame
from slicewise.analysis.runs.storage import Storage, describe
from slicewise.digest.digest import Digest

Thing = TypeVar("Thing")
HIDDEN_NAME = "another job"
HIDDEN_PATH, HIDDEN_PROGRAM, HIDDEN_NODE, HIDDEN_USER = "a path", "a program", "a node", "a user"
FEWEST_LETTERS = 2
# Texts that are one of a fixed few, which a job may be called like.
OUR_OWN_WORDS = {(Baseline, "source"), (Baseline, "confidence"), (Blame, "confidence"), (Blame, "waits")}


def anonymous(blame: Blame, own: Digest, others: Sequence[Digest], unread: Sequence[Path] = ()) -> Blame:
    """The blame with others' jobs called "another job (A)" and so on, in the order of what the job lost to them.

    own: the job's digest. others: the digests of all other jobs that its sentences can speak of; unread: profiles that
    they can speak of, though nobody could read them. What is the job's own
    too (its program, its nodes, the way to a storage that it sees) stays.
    """
    labels = labels_of([*(n.job for n in blame.neighbours if n.job is not None), *(other.job for other in others)])
    hidden = _secrets(others) | {str(path): HIDDEN_PATH for path in unread} | labels
    hidden |= {path.name: HIDDEN_NAME for path in unread}
    for name in _names(own):
        hidden.pop(name, None)
    told = _cleaned(blame, hidden, [blame.job.job, *_paths(own)])
    neighbours = [
        replace(
            clean,
            job=None if neighbour.job is None else labels[neighbour.job],
            program="",
            storage=_as_seen_by(own, neighbour.storage, clean.storage),
        )
        for neighbour, clean in zip(blame.neighbours, told.neighbours, strict=True)
    ]
    shares, regions = (
        frame.with_columns(pl.col("neighbour").replace(labels)) if "neighbour" in frame.columns else frame
        for frame in (blame.shares, blame.regions)
    )
    traffic = [
        replace(clean, storage=_as_seen_by(own, before.storage, clean.storage))
        for before, clean in zip(blame.traffic, told.traffic, strict=True)
    ]
    # Runs that nobody read may be anybody's.
    runs = [replace(run, job=HIDDEN_NAME) if run.why_not == HAD_COMPANY else run for run in told.runs]
    told = replace(told, runs=runs)
    return replace(
        told, job=blame.job, neighbours=neighbours, shares=shares, slices=blame.slices, regions=regions, traffic=traffic
    )


def labels_of(jobs: Iterable[str]) -> dict[str, str]:
    """Job -> "another job (A)", by the order of their names here; after Z come AA, AB and so on."""
    return {job: f"another job ({_letters(place)})" for place, job in enumerate(dict.fromkeys(jobs))}


def _letters(place: int) -> str:
    before, last = divmod(place, len(string.ascii_uppercase))
    return (_letters(before - 1) if before else "") + string.ascii_uppercase[last]


def _secrets(others: Iterable[Digest]) -> dict[str, str]:
    """What must not be told of others, and what is said instead."""
    hidden: dict[str, str] = {}
    for digest in others:
        hidden |= dict.fromkeys(_paths(digest), HIDDEN_PATH)
        hidden |= dict.fromkeys(digest.processes["program"].unique().to_list(), HIDDEN_PROGRAM)
        hidden |= dict.fromkeys(digest.processes["node"].unique().to_list(), HIDDEN_NODE)
        account = str(digest.jobs["account"].item() or "")
        hidden |= {account: HIDDEN_USER} if account else {}
    return {name: said for name, said in hidden.items() if len(name) >= FEWEST_LETTERS}


def _paths(digest: Digest) -> list[str]:
    """The paths by which a job can be known: its profile's, its programs', its mounts'."""
    places = [str(digest.path), str(digest.path.parent), *digest.processes["path"].unique().to_list()]
    return [path for path in [*places, *digest.mounts["point"].unique().to_list()] if len(path) > 1]


def _names(own: Digest) -> set[str]:
    """What is the job's own, whoever else has it too."""
    return {
        own.job,
        *_paths(own),
        *own.processes["program"].unique().to_list(),
        *own.processes["node"].unique().to_list(),
        str(own.jobs["account"].item() or ""),
    }


def _cleaned(thing: Thing, hidden: dict[str, str], kept: Sequence[str]) -> Thing:
    """`thing` with every hidden name in every text of it replaced, however deep."""
    if not hidden:
        return thing
    # The longest first: a path goes before the name in it. What is kept is matched too, and stays what it is.
    known = sorted({*hidden, *kept}, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])" for name in known))

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: hidden.get(found[0], found[0]), value)
        if isinstance(value, list):
            return [clean(item) for item in value]
        if is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in fields(value) if (type(value), field.name) not in OUR_OWN_WORDS]
            return replace(value, **{name: clean(getattr(value, name)) for name in names})
        return value

    cleaned: Thing = clean(thing)
    return cleaned


def _as_seen_by(own: Digest, storage: Storage, otherwise: Storage) -> Storage:
    """The storage as the job itself knows it: others may have mounted it at a place that names them."""
    known = own.storages.filter(pl.col("storage") == storage.number)
    return describe(storage.number, [own]) if known.height else otherwise
