"""Job logs in the Standard Workload Format of the Parallel Workloads Archive, version 2.

Lines of text in, dataclasses out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from slicewise.errors import UserError

# Fields, counted from 0; -1 in any of them is "not known".
SUBMITTED, WAITED, RAN, ALLOCATED, REQUESTED = 1, 2, 3, 4, 7
FEWEST_FIELDS = 5


@dataclass(frozen=True)
class LoggedJob:
    """start: s on the log's own axis."""

    start: float
    seconds: float
    processes: int


@dataclass(frozen=True)
class JobLog:
    """skipped: jobs that never ran, or of which the log does not know when, for how long, or on how many processors.
    at_submission: so many were taken to begin when they were submitted, for want of how long they waited.
    """

    jobs: list[LoggedJob]
    skipped: int
    at_submission: int


def read_job_log(lines: Iterable[str], name: str) -> JobLog:
    """The jobs of a log. name: what to call it in complaints.

    Raises UserError for a line that is no job, and for a log without jobs.
    """
    jobs = []
    skipped = at_submission = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        fields = _numbers(line.split(), f"{name}: line {number}")
        job = _job(fields)
        if job is None:
            skipped += 1
        else:
            jobs.append(job)
            at_submission += fields[WAITED] < 0
    if not jobs:
        raise UserError(f"{name}: holds no job that ran; give a log in the Standard Workload Format")
    return JobLog(jobs, skipped, at_submission)


def _numbers(fields: list[str], where: str) -> list[float]:
    try:
        numbers = [float(field) for field in fields]
    except ValueError:
        numbers = []
    if len(numbers) < FEWEST_FIELDS or not all(map(math.isfinite, numbers)):
        raise UserError(f"{where}: is no job of the Standard Workload Format, which has 18 numbers a line")
    return numbers


def _job(fields: list[float]) -> LoggedJob | None:
    requested = fields[REQUESTED] if len(fields) > REQUESTED else -1
    processes = int(fields[ALLOCATED] if fields[ALLOCATED] > 0 else requested)
    if fields[RAN] <= 0 or processes <= 0 or fields[SUBMITTED] < 0:
        return None
    return LoggedJob(fields[SUBMITTED] + max(fields[WAITED], 0.0), fields[RAN], processes)
