"""What `slicewise run` costs a command that does next to nothing, in processor time of all processes, on a node where a
thousand users have run jobs.
"""

import os
import resource
import subprocess
from pathlib import Path

from figures import ROWS, Row
from libraries import BARE, OURS
from support.many_users import used_by_many

ROUNDS = 15
USERS = 1000
COMMAND = ("cat", "/dev/null")


def rows(build: Path, directory: Path) -> list[Row]:
    """Milliseconds of a command by itself and by `slicewise run`."""
    run = _run(build, directory)
    with used_by_many(USERS) as segments:
        rounds = [(cpu_ms(COMMAND), cpu_ms(run, SLICEWISE_SEGMENT_DIR=segments)) for _ in range(ROUNDS)]
    values = {BARE: [bare for bare, _ in rounds], OURS: [ours for _, ours in rounds]}
    return [Row("launcher", ROWS["launcher"]["what"], "ms", values)]


def in_pythons(build: Path, directory: Path) -> float:
    """What it adds, in multiples of what a Python takes that does nothing: the least of each, in turns."""
    python = (build / "venv" / "bin" / "python", "-I", "-S", "-c", "pass")
    ways = [COMMAND, _run(build, directory), python]
    with used_by_many(USERS) as segments:
        rounds = [[cpu_ms(way, SLICEWISE_SEGMENT_DIR=segments) for way in ways] for _ in range(ROUNDS)]
    least = [min(times) for times in zip(*rounds, strict=True)]
    return (least[1] - least[0]) / least[2]


def _run(build: Path, directory: Path) -> tuple[str | Path, ...]:
    return (build / "bin" / "slicewise", "run", "--dir", directory / "launched", "--", *COMMAND)


def cpu_ms(command: tuple[str | Path, ...], **settings: str) -> float:
    """Processor time of a command and its descendants."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=os.environ | settings)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
