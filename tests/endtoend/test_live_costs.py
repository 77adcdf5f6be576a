"""Looking at a job costs it nothing: the same instructions, system calls and page faults as when nobody looks. Counts,
no times: of batches of the same calls, for in one or the other a slice may turn, or a call be the slowest so far.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.programs import BUILD, Apps, Job, need

SLICEWISE = BUILD / "bin" / "slicewise"
BATCHES = 7
CALLS = 2000
LONGEST_WAIT_SECONDS = 240
# Slices as long as they may be, and no samples of call sites: what remains is what each call does.
SETTINGS = {"SLICEWISE_SLICE": "60", "SLICEWISE_SITE_MS": "0"}
BATCH_END = re.compile(r"^write\(2, \"\", 0\)")
BATCH_BEGIN = re.compile(r"^read\(0, ")


@dataclass
class Looker:
    """Runs `slicewise top --once --json`, one after the other, from the beginning of the block to its end."""

    job: Job
    looks: list[dict] = field(default_factory=list)

    def __enter__(self) -> Looker:
        self._over = threading.Event()
        self._looked = threading.Condition()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        command = [SLICEWISE, "top", "--once", "--json"]
        while not self._over.is_set():
            done = subprocess.run(
                command, env=self.job.environment({"LD_PRELOAD": ""}), capture_output=True, text=True, check=False
            )
            with self._looked:
                self.looks.append(json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr})
                self._looked.notify()

    def wait_for_another(self) -> None:
        """Until a look has ended that was under way, or began, since."""
        with self._looked:
            before = len(self.looks)
            assert self._looked.wait_for(lambda: len(self.looks) > before, LONGEST_WAIT_SECONDS)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def run_batches(job: Job, apps: Apps, tool: Sequence[str | Path], after_each: Callable[[], None]) -> list[int]:
    """All batches below a tool; gives the page faults of each. after_each: called while a batch is under way."""
    program = apps.build("batches")
    process = job.start([*tool, program, str(BATCHES), str(CALLS), job.data / "file"], **SETTINGS)
    try:
        for _ in range(BATCHES):
            process.stdin.write(b"x")
            process.stdin.flush()
            after_each()
        output, errors = process.communicate(timeout=LONGEST_WAIT_SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, errors.decode()
    return [int(line) for line in output.split()]


def most_common(counts: Sequence[object]) -> object:
    return Counter(counts).most_common(1)[0][0]


def calls_of_batches(trace: Path) -> list[tuple]:
    """What system calls each batch made, by name."""
    batches, calls = [], None
    for line in trace.read_text().splitlines():
        if BATCH_END.match(line):
            batches.append(tuple(sorted(calls.items())))
            calls = None
        elif calls is not None:
            calls[line.partition("(")[0]] += 1
        elif BATCH_BEGIN.match(line):
            calls = Counter()
    return batches


def instructions_of_batches(folder: Path) -> list[int]:
    """What callgrind dumped at the end of each batch."""
    dumps = [file.read_text() for file in folder.glob("callgrind.out*")]
    counts = [re.search(r"^summary: (\d+)$", dump, re.MULTILINE) for dump in dumps]
    return [int(count[1]) for count in counts if count and int(count[1])]


def assert_looked(looks: list[dict]) -> None:
    assert len(looks) >= BATCHES
    seen = [look for look in looks if look.get("jobs")]
    assert len(seen) >= BATCHES - 1, looks  # the last may have found it gone
    assert all(look["jobs"][0]["processes"] for look in seen)


@pytest.mark.parametrize("what", ["system calls and page faults", "instructions"])
def test_looking_costs_nothing(job: Job, apps: Apps, what: str) -> None:
    need("strace" if what != "instructions" else "valgrind")

    def measured(name: str, after_each: Callable[[], None]) -> tuple:
        folder = job.folder / name
        folder.mkdir()
        if what == "instructions":
            tool = [
                "valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'callgrind.out'}",
                "--toggle-collect=batch", "--dump-after=batch",
            ]  # fmt: skip
            run_batches(job, apps, tool, after_each)
            counts = instructions_of_batches(folder)
            print(name, "instructions:", sorted(counts))
            return len(counts), min(counts)
        trace = folder / "trace"
        faults = run_batches(job, apps, ["strace", "-o", trace], after_each)
        calls = calls_of_batches(trace)
        print(name, "page faults:", faults, "system calls:", Counter(calls))
        return len(calls), most_common(calls), most_common(faults)

    alone = measured("alone", lambda: None)
    with Looker(job) as looker:
        looked_at = measured("looked-at", looker.wait_for_another)
    assert_looked(looker.looks)
    assert alone[0] == BATCHES
    assert looked_at == alone
