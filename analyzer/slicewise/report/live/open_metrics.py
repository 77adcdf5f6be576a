"""OpenMetrics text of what jobs of this node did, by job and mount and never by process.

Counters only grow: what a process had counted stays in its job's sum when the process is gone, as far as it was looked
at.
"""

from slicewise.kinds import KINDS
from slicewise.live import MOVING, Counts, Look, Mount
from slicewise.text.safe_text import metrics_label

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
Series = tuple[str, Mount]


class Metrics:
    """Sums by job and mount over all looks."""

    def __init__(self) -> None:
        self._sums: dict[Series, Counts] = {}
        self._processes: dict[str, int] = {}
        self._last: dict[tuple[str, Mount], Counts] = {}

    def take(self, look: Look) -> None:
        """Add what came since the last look. Of jobs without a process only the sums stay."""
        self._processes = dict.fromkeys(self._processes, 0)
        last, self._last = self._last, {}
        for process in look.processes.values():
            self._processes[process.job] = self._processes.get(process.job, 0) + 1
            for mount, counts in process.mounts.items():
                before = last.get((process.process, mount), Counts())
                self._last[process.process, mount] = counts
                self._sums.setdefault((process.job, mount), Counts()).update(counts.since(before))

    def text(self) -> str:
        lines = ["# TYPE slicewise_processes gauge", "# HELP slicewise_processes Processes that run on this node."]
        for job, processes in sorted(self._processes.items()):
            lines.append(f'slicewise_processes{{job="{metrics_label(job)}"}} {processes}')
        for family, unit, help_text, kinds, count in (
            ("slicewise_moved_bytes", "bytes", "Bytes moved to and from files", MOVING, "bytes"),
            ("slicewise_calls", "", "Calls on files", KINDS, "ops"),
            ("slicewise_call_seconds", "seconds", "Time in calls on files", KINDS, "ns"),
        ):
            lines.append(f"# TYPE {family} counter")
            if unit:
                lines.append(f"# UNIT {family} {unit}")
            lines.append(f"# HELP {family} {help_text}, as they were when last looked at.")
            for (job, (point, kind_of_mount, source)), counts in sorted(self._sums.items()):
                labels = (
                    f'job="{metrics_label(job)}",mount="{metrics_label(point)}",type="{metrics_label(kind_of_mount)}",'
                    f'source="{metrics_label(source)}"'
                )
                for kind in kinds:
                    value = counts[f"{kind}_{count}"]
                    said = f"{value / 1e9:.9f}" if unit == "seconds" else value
                    lines.append(f'{family}_total{{{labels},kind="{kind}"}} {said}')
        return "\n".join([*lines, "# EOF", ""])
