"""Where the processes of a job on this node are now, function by function."""

import os
from pathlib import Path

from slicewise.report.live.stack_words import stack_lines, stacks_record
from slicewise.running.installation import find_installation
from slicewise.stacks import job_processes, stacks_now, tree
from slicewise.terminal.output import write_answer


def stacks(job: str | None, symbols: list[Path], seconds: float, all_users: bool) -> None:
    collector = find_installation().collector
    name, processes = job_processes(collector, job, all_users)
    found = stacks_now(collector, name, processes, seconds, symbols)
    root = tree(found)
    host = os.uname().nodename
    write_answer(lambda: stacks_record(name, host, found, root), [*stack_lines(name, host, found, root)])
