"""What jobs and processes on this node do now."""

import os
import sys
import threading
from pathlib import Path

from rich.console import Console
from rich.live import Live

from slicewise.errors import UserError
from slicewise.live import JobNow, Watch, looks
from slicewise.report.live.live_screen import Screen, jobs_table
from slicewise.report.live.stack_words import stack_lines
from slicewise.report.tables import for_terminal
from slicewise.running.installation import find_installation
from slicewise.stacks import job_processes, stacks_now, tree
from slicewise.terminal.keyboard import keys_one_by_one, wait_for_key
from slicewise.terminal.output import wants_json, write_json, write_text

STACKS_SECONDS = 5.0


def top(once: bool, every: float, all_users: bool) -> None:
    if wants_json() and not once:
        raise UserError("--json goes with --once: a script asks, and gets one answer")
    if not once and not sys.stdout.isatty():
        raise UserError("standard output is no terminal; use --once, or --once --json")
    collector = find_installation().collector
    if once:
        _print_once(_jobs_after_one_interval(collector, every, all_users))
    else:
        _show(collector, every, all_users)


def _jobs_after_one_interval(collector: Path, every: float, all_users: bool) -> list[JobNow]:
    watch = Watch()
    for number, look in enumerate(looks(collector, every, all_users)):
        jobs = watch.jobs(look)
        if number == 1:
            return jobs
    return []


def _print_once(jobs: list[JobNow]) -> None:
    if wants_json():
        write_json({"host": os.uname().nodename, "jobs": jobs})
    elif jobs:
        write_text([for_terminal(jobs_table(jobs))])
    else:
        write_text(["No profiled process runs here now."])


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
    wake, woken = os.pipe()
    failed: list[UserError] = []

    def look_on() -> None:
        watch = Watch()
        try:
            for look in looks(collector, every, all_users):
                jobs[:] = watch.jobs(look)
                os.write(woken, b".")
        except UserError as error:
            failed.append(error)

    threading.Thread(target=look_on, daemon=True).start()
    host = os.uname().nodename
    with keys_one_by_one(), Live(screen.draw(jobs, host), console=Console(), screen=True, auto_refresh=False) as live:
        while not screen.is_over and not failed:
            key = wait_for_key(wake, seconds=60)
            if key is None:
                os.read(wake, 1)
            else:
                screen.press(key, jobs)
                if screen.asked is not None:
                    screen.show_stacks(_stacks(collector, screen.asked, all_users))
            live.update(screen.draw(list(jobs), host), refresh=True)
    if failed:
        raise failed[0]
