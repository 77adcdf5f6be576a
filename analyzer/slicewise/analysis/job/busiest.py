"""What some processes spend on something, as a part of the job's runtime.

Numbers in, numbers out.
"""

import heapq
from collections.abc import Sequence


def busiest_ns(spent: Sequence[tuple[int, int, float]]) -> float:
    """Nanoseconds of the runtime, of (start, end, ns) of processes in the order of their starts: at each time those of
    the process that spends most of its life so.
    """
    total, alive = 0.0, list[tuple[float, int]]()
    at = 0
    for n, (start, end, ns) in enumerate(spent):
        at = max(at, start)
        heapq.heappush(alive, (-ns / max(1, end - start), max(end, start + 1)))
        until = spent[n + 1][0] if n + 1 < len(spent) else None
        while alive and (until is None or at < until):
            share, stop = alive[0]
            if stop <= at:
                heapq.heappop(alive)
                continue
            to = stop if until is None else min(stop, until)
            total -= share * (to - at)
            at = to
    return total
