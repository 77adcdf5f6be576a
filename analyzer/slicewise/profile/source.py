"""One job among those that are read together: which it is, and what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slicewise.profile.damage import Damage
from slicewise.profile.schema import Schema


@dataclass(frozen=True)
class Source:
    """One job that was read. number: the value of its rows' column `profile`; slice_ns: the length of its slices;
    schema: that of its first file; damage: what could not be read, empty where all is well. schemas: how many different
    ones its files hold.
    """

    number: int
    path: Path
    job: str
    slice_ns: int
    schema: Schema
    damage: tuple[Damage, ...]
    schemas: int
