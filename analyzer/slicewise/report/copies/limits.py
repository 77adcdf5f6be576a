"""A number of copies as text for those who set limits: a Slurm licence, and a rule of Lustre's token bucket filter."""

from __future__ import annotations

import math
import re

from slicewise.analysis.copies.copies import Copies
from slicewise.text import words

# What a Lustre client sends in one request, if it has as much: osc.*.max_pages_per_rpc is 1024 pages of 4 KiB.
RPC_BYTES = 4 << 20
MOST_LETTERS = 40
# The names of Lustre's rules are as short as those of the kernel's processes, of which job ids are made.
MOST_LETTERS_OF_RULE = MOST_LETTERS_OF_PROCESS = 15


def licence(found: Copies) -> list[str]:
    """Lines for slurm.conf and for sbatch; nothing where not one copy may run."""
    if not found.most:
        return []
    place = found.storage.point.rstrip("/").rpartition("/")[2] or "root"
    name = _name(f"{found.demand.job.program}_{place}", MOST_LETTERS)
    return [
        "# slurm.conf, added to its line of licences if it has one; then: scontrol reconfigure",
        f"Licenses={name}:{found.most}",
        "# each job of this kind",
        f"sbatch -L {name}:1 ...",
    ]


def rate_per_copy(found: Copies) -> float | None:
    """bytes/s that each copy gets while all that may run are in I/O; None where not one may."""
    row = found.row(found.most)
    return row.rate if row else None


def requests_per_second(found: Copies) -> int | None:
    """The same in full requests of Lustre, one at least."""
    rate = rate_per_copy(found)
    return None if rate is None else max(1, math.floor(rate / RPC_BYTES))


def token_bucket_rule(found: Copies) -> list[str]:
    """Lines for each object server of a Lustre file system; nothing where not one copy may run.

    TBF counts requests of a class (here: of a job id) a second, on each server, and for each of its CPU partitions.
    Jobs that share a job id share its rate, so ids of a program and a user (procname_uid) would not do.
    """
    requests, rate = requests_per_second(found), rate_per_copy(found)
    if requests is None or rate is None:
        return []
    name = _name(found.demand.job.program, MOST_LETTERS_OF_RULE)
    return [
        "# A proposal that was not tried on this Lustre.",
        f"# {words.rate(rate)} for each job: {words.count(requests, 'request')} a second, if each moves "
        f"{words.size(RPC_BYTES)} (osc.*.max_pages_per_rpc=1024). A job with smaller requests gets less.",
        "# Divide the rate by the number of object servers that a job's files lie on, and by their CPU partitions.",
        "# On clients (Lustre 2.12 or later), so that each job has an id that begins with its program's name:",
        "lctl set_param jobid_var=SLURM_JOB_ID jobid_name=%e.%j",
        f'# On object servers; to end it: nrs_tbf_rule="stop {name}"',
        'lctl set_param ost.OSS.ost_io.nrs_policies="tbf jobid"',
        f'lctl set_param ost.OSS.ost_io.nrs_tbf_rule="start {name} jobid={{{_pattern(found)}}} rate={requests}"',
    ]


def _pattern(found: Copies) -> str:
    """The program as the kernel names its processes, without what a rule's text may not hold."""
    return re.sub(r"[^\w.+-]", "*", found.demand.job.program[:MOST_LETTERS_OF_PROCESS], flags=re.ASCII) + ".*"


def _name(text: str, most_letters: int) -> str:
    """A name of letters, digits and underscores."""
    return re.sub(r"[\W_]+", "_", text, flags=re.ASCII).strip("_")[:most_letters].rstrip("_") or "job"
