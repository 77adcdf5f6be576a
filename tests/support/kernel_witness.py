"""What the kernel counts of a running program, read beside whoever samples it."""

import bisect
import contextlib
import itertools
import time
from pathlib import Path


class Witness:
    """What the kernel counted of a program, as it was read often."""

    def __init__(self, program: Path) -> None:
        self.name = program.name
        self._io: Path | None = None
        self._readings: list[tuple[int, int]] = []  # when, and bytes written

    def look(self) -> None:
        self._io = self._io or self._of_program()
        with contextlib.suppress(OSError):
            if self._io:
                before, text, after = time.time_ns(), self._io.read_text(), time.time_ns()
                self._readings.append(((before + after) // 2, int(text.split()[3])))

    def by_slice(self, slice_ns: int) -> dict[int, int]:
        """Bytes written in each slice that lies between two readings as a whole."""
        first, last = self._readings[0][0] // slice_ns + 1, self._readings[-1][0] // slice_ns
        turns = [self.until(number * slice_ns) for number in range(first, last + 1)]
        return {first + place: after - before for place, (before, after) in enumerate(itertools.pairwise(turns))}

    def until(self, time_ns: int) -> int:
        """Bytes written until then."""
        after = min(max(1, bisect.bisect_left(self._readings, (time_ns,))), len(self._readings) - 1)
        (begin, before), (end, count) = self._readings[after - 1 : after + 1]
        return before + (count - before) * (time_ns - begin) // (end - begin)

    def most_in(self, span_ns: int, begin_ns: int, end_ns: int) -> int:
        """The most bytes that were written in so long a time between then and then."""
        steps = range(begin_ns, end_ns, max(1, min(span_ns, 20_000_000)))
        return max((self.until(step + span_ns) - self.until(step) for step in steps), default=0)

    @property
    def last_ns(self) -> int:
        """When it was there for the last time."""
        return self._readings[-1][0]

    @property
    def last(self) -> int:
        return self._readings[-1][1]

    def _of_program(self) -> Path | None:
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (process / "exe").readlink().name == self.name:
                    return process / "io"
        return None
