"""Instructions that a library adds to a call, counted by callgrind: the same on a busy machine as on a quiet one."""

import re
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

from libraries import BARE, OURS, Library, with_sites, with_threads

# A slice's turn falls into few of the chunks: the median has none.
CHUNKS = 9
PLAIN_DUMPS = ["--compress-strings=no", "--compress-pos=no"]
TRIGGER = re.compile(r"^desc: Trigger: Client Request: (\w+) (\d+)$", re.MULTILINE)
LONGEST_SLICE = {"SLICEWISE_SLICE": "60"}


def count(program: Path, library: Library, directory: Path, kind: str = "all") -> dict[str, float]:
    """Instructions a call in user space, the program's own included, of each kind of tests/bench/calls.c."""
    chunks = defaultdict(list)
    for dump in dumps(program, library, directory, kind):
        if trigger := TRIGGER.search(dump):
            summary = re.search(r"^summary: (\d+)$", dump, re.MULTILINE)
            chunks[trigger[1]].append(int(summary[1]) / int(trigger[2]))
    if not chunks:
        raise RuntimeError(f"callgrind dumped nothing for {program}: was it compiled without valgrind/callgrind.h?")
    return {name: statistics.median(values) for name, values in chunks.items()}


def dumps(program: Path, library: Library, directory: Path, kind: str) -> list[str]:
    """The text of callgrind's dumps, in no order."""
    out = directory / f"callgrind-{library.name}"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *PLAIN_DUMPS]
    command = [*valgrind, program, "count", kind, str(CHUNKS), "1", directory]
    environment = library.environment(**LONGEST_SLICE)
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{program} under {library.name} failed in valgrind: {done.stderr[-2000:]}")
    texts = [file.read_text() for file in directory.glob(f"{out.name}*")]
    for file in directory.glob(f"{out.name}*"):
        file.unlink()
    return texts


def added(programs: Path, under: dict[str, Library], directory: Path) -> dict[str, dict[str, float]]:
    """For each library but the bare program, instructions that it adds to a call of each kind; for Slicewise also those
    of one sample of a call site, and those of a lock where waits of threads are timed."""
    counts = {name: count(programs / "calls", library, directory) for name, library in under.items()}
    bare = counts.pop(BARE)
    more = {name: {kind: round(of[kind] - bare[kind], 1) for kind in bare} for name, of in counts.items()}
    kind = "site_sample"
    without, one = (
        count(programs / "sites", library, directory, kind)[kind] for library in with_sites(under, milliseconds="1")
    )
    more[OURS][kind] = round(one - without, 1)
    timed = count(programs / "calls", with_threads(under)[1], directory, "lock")
    more[OURS]["lock_timed"] = round(timed["lock"] - bare["lock"], 1)
    return more
