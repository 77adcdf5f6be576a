"""The screen of `slicewise top`: jobs of this node, or the processes of one of them."""

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType

from slicewise.live import Activity, JobNow, ProcessNow, ServedNow
from slicewise.report import columns
from slicewise.report.tables import Table, for_terminal, line_for_terminal
from slicewise.text import words

BARS = "▁▂▃▄▅▆▇█"
ORDERS: dict[str, tuple[str, Callable[[Activity], float]]] = {
    "t": ("throughput", lambda activity: activity.bytes_per_s),
    "o": ("operations", lambda activity: activity.ops_per_s),
    "l": ("latency", lambda activity: activity.latency_ms or 0.0),
}
KEYS = (
    "t o l: sort by throughput, operations, latency   ↑ ↓: choose   Enter: its processes   "
    "s: where they are now   Esc: back   q: quit"
)
KEYS_OF_STACKS = "↑ ↓: move   s: look again   Esc: back   q: quit"
SELECTED_STYLE = "reverse"
NAME_WIDTH = 24
MOST_SERVED = 10


@dataclass
class Screen:
    """What is shown, as keys change it. opened: the job whose processes are shown. asked: the job whose stacks are to
    be looked at next; whoever does that gives their lines to `show_stacks`."""

    order: str = "t"
    selected: int = 0
    opened: str | None = None
    is_over: bool = False
    asked: str | None = None
    stacks: list[str] | None = None
    stacks_of: str = ""

    def show_stacks(self, lines: list[str]) -> None:
        self.stacks, self.stacks_of, self.asked = lines, self.asked or "", None
        self.selected = 0

    def press(self, key: str, jobs: list[JobNow]) -> None:
        if key == "q":
            self.is_over = True
        elif key == "s" and self.stacks is not None:
            self.asked = self.stacks_of
        elif key == "s" and jobs:
            self.asked = self.opened or self.sorted_jobs(jobs)[self._row(len(jobs))].job
        elif key in ("escape", "b") and self.stacks is not None:
            self.stacks = None
            self.selected = 0
        elif key in ORDERS:
            self.order = key
        elif key in ("down", "j"):
            self.selected += 1
        elif key in ("up", "k"):
            self.selected = max(0, self.selected - 1)
        elif key == "enter" and self.stacks is None and self.opened is None and jobs:
            self.opened = self.sorted_jobs(jobs)[self._row(len(jobs))].job
            self.selected = 0
        elif key in ("escape", "b"):
            self.opened = None
            self.selected = 0

    def sorted_jobs(self, jobs: list[JobNow]) -> list[JobNow]:
        measure = ORDERS[self.order][1]
        return sorted(jobs, key=lambda job: (-measure(job.activity), job.job))

    def draw(self, jobs: list[JobNow], host: str, served: list[ServedNow]) -> RenderableType:
        if self.stacks is not None:
            self.selected = min(self.selected, max(0, len(self.stacks) - 1))
            shown_lines = [line_for_terminal(line) for line in self.stacks[self.selected :]]
            return Group(line_for_terminal((KEYS_OF_STACKS, "dim")), *shown_lines)
        opened = next((job for job in jobs if job.job == self.opened), None)
        if opened is None:
            self.opened = None
            self.selected = self._row(len(jobs))
            head = f"{host}: {words.count(len(jobs), 'job')}"
            table = jobs_table(self.sorted_jobs(jobs))
        else:
            self.selected = self._row(len(opened.processes))
            head = f"{host}: job {opened.job}, {words.count(len(opened.processes), 'process', 'processes')}"
            measure = ORDERS[self.order][1]
            table = processes_table(
                sorted(opened.processes, key=lambda one: (-measure(one.activity), one.rank, one.pid))
            )
        shown = for_terminal(table, says_what_is_left_out=False)
        if table.rows:
            shown.rows[self.selected].style = SELECTED_STYLE
        rest = [line_for_terminal("no profiled process runs here now")] if not jobs else []
        by_servers = served_lines(served) if opened is None else []
        head = f"{head}, by {ORDERS[self.order][0]}"
        return Group(line_for_terminal(head), shown, *rest, *by_servers, line_for_terminal((KEYS, "dim")))

    def _row(self, rows: int) -> int:
        return min(self.selected, max(0, rows - 1))


def jobs_table(jobs: list[JobNow]) -> Table:
    def mounts(job: JobNow) -> str:
        shared = [mount for mount in job.mounts if mount.share is not None]
        return ", ".join(f"{mount.point or mount.type} {words.percent(mount.share)}" for mount in shared)

    def next_burst(job: JobNow) -> str:
        return words.estimate_of_seconds(job.next_burst) if job.next_burst else ""

    def beside(job: JobNow) -> str:
        if job.beside is None:
            return ""
        return (
            f"{words.beginning(job.beside.job, NAME_WIDTH)} ({words.percent(job.beside.share)} of {job.beside.point})"
        )

    return columns.table(
        jobs,
        columns.text("job", lambda job: words.beginning(job.job, NAME_WIDTH)),
        columns.figure("processes", lambda job: str(len(job.processes)), spare=2),
        *_activity(spare=1),
        *([columns.text("next burst in", next_burst, spare=1)] if any(job.next_burst for job in jobs) else []),
        *([columns.text("waits beside", beside, spare=1)] if any(job.beside for job in jobs) else []),
        columns.text("mounts (share of this node's)", mounts, spare=3),
        columns.text("", lambda job: sparkline(job.history), spare=4),
    )


def processes_table(processes: list[ProcessNow]) -> Table:
    return columns.table(
        processes,
        columns.figure("pid", lambda process: str(process.pid)),
        columns.figure("rank", lambda process: str(process.rank) if process.rank >= 0 else ""),
        *_activity(),
        columns.text("program", lambda process: words.beginning(process.program.rpartition("/")[2], NAME_WIDTH)),
    )


def served_lines(served: list[ServedNow]) -> list[RenderableType]:
    """What file servers counted, a row a job or client: those who moved most."""
    if not served:
        return []
    table = columns.table(
        served[:MOST_SERVED],
        columns.text("job", lambda one: words.beginning(f"client {one.job}" if one.is_client else one.job, NAME_WIDTH)),
        columns.text("on", lambda one: one.storage),
        columns.figure("read", lambda one: words.rate(one.read_bytes_per_s)),
        columns.figure("written", lambda one: words.rate(one.write_bytes_per_s)),
        columns.figure("requests/s", lambda one: words.number(one.requests_per_s) if one.requests_per_s else "-"),
    )
    when = words.clock(max(one.until_ns for one in served))
    more = f", {len(served) - MOST_SERVED} more" if len(served) > MOST_SERVED else ""
    return ["", line_for_terminal(f"As file servers counted until {when}, on all nodes{more}:"), for_terminal(table)]


def _activity(spare: int = 0) -> list[columns.Made[JobNow | ProcessNow]]:
    def latency(row: JobNow | ProcessNow) -> str:
        return "" if row.activity.latency_ms is None else words.number(row.activity.latency_ms)

    def seen(row: JobNow | ProcessNow) -> str:
        return "" if row.activity.seen_share is None else words.percent(row.activity.seen_share)

    return [
        columns.figure("read", lambda row: words.rate(row.activity.read_bytes_per_s)),
        columns.figure("written", lambda row: words.rate(row.activity.write_bytes_per_s)),
        columns.figure("calls/s", lambda row: words.number(row.activity.ops_per_s)),
        columns.figure("ms a call", latency, spare=spare),
        columns.figure("seen", seen, spare=spare),
    ]


def sparkline(values: list[float]) -> str:
    greatest = max(values, default=0.0)
    if greatest <= 0:
        return BARS[0] * len(values)
    return "".join(BARS[min(len(BARS) - 1, int(value / greatest * len(BARS)))] for value in values)
