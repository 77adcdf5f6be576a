"""What jobs and processes on this node do now."""

import os
import sys
import threading
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from slicewise.errors import UserError
from slicewise.estimate import Estimate
from slicewise.live import STILL_NOW_NS, JobNow, ServedNow, Watch, looks, served_now
from slicewise.profile.servers import read_ends
from slicewise.report.live.live_screen import Screen, jobs_table, served_lines
from slicewise.report.live.stack_words import stack_lines
from slicewise.report.tables import for_terminal
from slicewise.running.installation import find_installation
from slicewise.settings import servers_of_site
from slicewise.stacks import job_processes, stacks_now, tree
from slicewise.terminal.keyboard import keys_one_by_one, wait_for_key
from slicewise.terminal.output import wants_json, write_answer

STACKS_SECONDS = 5.0
# Servers are sampled once a slice, of four seconds mostly: there is nothing new oftener.
SERVERS_SECONDS = 4.0


def top(once: bool, every: float, all_users: bool) -> None:
    if wants_json() and not once:
        raise UserError("--json goes with --once: a script asks, and gets one answer")
    if not once and not sys.stdout.isatty():
        raise UserError("standard output is no terminal; use --once, or --once --json")
    collector = find_installation().collector
    if once:
        _print_once(_jobs_after_one_interval(collector, every, all_users), _served())
    else:
        _show(collector, every, all_users)


def _next_burst(series: list[float], apart: float) -> Estimate | None:
    import numpy as np

    from slicewise.analysis.job.period import next_burst

    return next_burst(np.array(series), apart)


def _served() -> list[ServedNow]:
    """What the site's file servers count now; nothing where that cannot be read: the jobs are shown nevertheless."""
    now_ns = time.time_ns()
    try:
        found = read_ends([place for place in servers_of_site() if place.exists()], now_ns - STILL_NOW_NS)
    except (OSError, UserError):
        return []
    return served_now(found.rows, found.runs, now_ns) if found is not None else []


def _jobs_after_one_interval(collector: Path, every: float, all_users: bool) -> list[JobNow]:
    watch = Watch()
    for number, look in enumerate(looks(collector, every, all_users)):
        jobs = watch.jobs(look)
        if number == 1:
            return jobs
    return []


def _print_once(jobs: list[JobNow], served: list[ServedNow]) -> None:
    table = [for_terminal(jobs_table(jobs))] if jobs else ["No profiled process runs here now."]
    write_answer(lambda: {"host": os.uname().nodename, "jobs": jobs, "served": served}, [*table, *served_lines(served)])


def _stacks(collector: Path, job: str, all_users: bool) -> list[str]:
    """Where a job's processes are now, in lines; or why that cannot be said."""
    try:
        name, processes = job_processes(collector, job, all_users)
        found = stacks_now(collector, name, processes, STACKS_SECONDS)
    except UserError as error:
        return [str(error)]
    return stack_lines(name, os.uname().nodename, found, tree(found))


def _show(collector: Path, every: float, all_users: bool) -> None:
    screen = Screen()
    jobs: list[JobNow] = []
    served: list[ServedNow] = []
    wake, woken = os.pipe()
    failed: list[UserError] = []

    def look_on() -> None:
        watch, read_at = Watch(_next_burst), -SERVERS_SECONDS
        try:
            for look in looks(collector, every, all_users):
                jobs[:] = watch.jobs(look)
                if time.monotonic() >= read_at + SERVERS_SECONDS:
                    served[:], read_at = _served(), time.monotonic()
                os.write(woken, b".")
        except UserError as error:
            failed.append(error)

    threading.Thread(target=look_on, daemon=True).start()
    host = os.uname().nodename
    with (
        keys_one_by_one(),
        Live(screen.draw(jobs, host, served), console=Console(), screen=True, auto_refresh=False) as live,
    ):
        while not screen.is_over and not failed:
            key = wait_for_key(wake, seconds=60)
            if key is None:
                os.read(wake, 1)
            else:
                screen.press(key, jobs)
                if screen.asked is not None:
                    screen.show_stacks(_stacks(collector, screen.asked, all_users))
            live.update(screen.draw(list(jobs), host, list(served)), refresh=True)
    if failed:
        raise failed[0]
