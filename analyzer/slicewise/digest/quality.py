"""How well a job's slices are known: counted where they are by ourselves, or taken from another profiler's log."""

from dataclasses import dataclass

from slicewise.digest.digest import Digest
from slicewise.digest.processes import COUNTED, SERVED


@dataclass(frozen=True)
class Imported:
    """What is less sure of a job that was imported. source: from what. spread: over how many slices bytes of it were
    spread at most; 1: none were. clock_error_seconds: by so much its times may lie off the clock.
    """

    source: str
    spread: int
    clock_error_seconds: float

    @property
    def is_served(self) -> bool:
        """Whether file servers counted the job: they know neither its processes nor its calls."""
        return self.source == SERVED

    def is_blurred(self, slice_seconds: float) -> bool:
        """Whether its bytes may be in other slices of that length than those in which they were moved."""
        return self.spread > 1 or self.clock_error_seconds > SHARE_OF_SLICE * slice_seconds


# A clock that is off by less of a slice than this moves next to nothing into another one.
SHARE_OF_SLICE = 0.05


def imported(digest: Digest) -> Imported | None:
    """None for a job that we profiled ourselves."""
    job = digest.about
    if job["source"] == COUNTED:
        return None
    return Imported(job["source"], job["spread"], job["clock_error_ns"] / 1e9)
