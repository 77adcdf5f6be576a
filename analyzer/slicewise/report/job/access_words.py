"""How a job went through its files, in words: onwards, or to and fro."""

from __future__ import annotations

from slicewise.analysis.job.totals import JobTotals
from slicewise.digest.layers import OWN_LAYERS
from slicewise.text import words


def access_lines(summary: JobTotals) -> list[str]:
    """What share of the job's writes and reads was consecutive and sequential, in one sentence; none without any that
    had one to follow."""
    if not all("write_sequential" in summary.totals.get(layer, {}) for layer in OWN_LAYERS):
        return []
    said = []
    for way in ("write", "read"):
        calls, first, consecutive, sequential = (
            sum(summary.totals[layer].get(f"{way}_{what}", 0) for layer in OWN_LAYERS)
            for what in ("ops", "first", "consecutive", "sequential")
        )
        calls -= first
        if calls > 0:
            said.append(
                f"{words.percent(consecutive / calls)} of {way}s began where the thread's last access to the file "
                f"ended, {words.percent(sequential / calls)} there or further on"
            )
    return [f"Access pattern: {'; '.join(said)}."] if said else []
