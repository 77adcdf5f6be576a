"""Random sequences of calls, by threads and children too, against an oracle that knows what each does to a file."""

import random
from collections import Counter
from dataclasses import dataclass, field

import polars as pl
import pytest
from support.programs import Apps, Job, calls, total

EDGES = (0, 101, 1025, 10241, 102401, 1048577)
SIZES = (0, 1, 99, 100, 101, 1024, 1025, 4096, 10240, 10241, 102400, 102401, 1048576, 1048577)
SLOTS = 3  # a script's descriptors: few, for a lane follows sixteen at a time
READS, WRITES = ("read", "pread", "readv"), ("write", "pwrite", "writev")


@dataclass
class Descriptor:
    """As its one thread knows it. `last_end` is None where there is nothing to follow on: before the first access, and
    after the first seek, for until then positions count from where the thread met the descriptor."""

    path: str
    position: int = 0
    last_end: int | None = None
    is_met: bool = False
    is_absolute: bool = False


@dataclass
class Oracle:
    """Draws scripts, and adds up what the profile of their execution must hold."""

    random: random.Random
    lengths: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    counters: Counter[tuple[str, str]] = field(default_factory=Counter)  # by object and counter
    by_file: Counter[tuple[str, str]] = field(default_factory=Counter)  # by path and counter

    def draw(self, name: str, lines: int, beside: list[str]) -> str:
        """A script of its own files: `lines` calls, among which others are started."""
        slots: dict[int, Descriptor] = {}
        script = [self._line(name, slots) for _ in range(lines)]
        for start in beside:
            script.insert(self.random.randrange(len(script) + 1), start)
            self.calls["fork"] += start.startswith("fork")
        return "\n".join(script) + "\n"

    def _line(self, name: str, slots: dict[int, Descriptor]) -> str:
        slot = self.random.randrange(SLOTS)
        verb = self.random.choices(
            ("open", "close", "seek", "fsync", "stat", *READS, *WRITES), (4, 1, 3, 1, 1, 4, 4, 2, 6, 4, 2)
        )[0]
        if verb == "open" and slot in slots:
            verb = "write"
        if verb == "stat":
            return self._stat()
        if verb == "open":
            slots[slot] = Descriptor(f"{name}-{slot}")
            self._count("file", "open", "meta")
            return f"open {slot} {slots[slot].path}"
        if verb in ("close", "fsync", "seek"):
            return self._touch(verb, slot, slots)
        return self._transfer(verb, slot, slots.get(slot))

    def _stat(self) -> str:
        is_there = self.random.random() < 0.5
        self._count("file", "stat", "meta", is_error=not is_there)
        return f"stat {'.' if is_there else 'nothing'}"

    def _touch(self, verb: str, slot: int, slots: dict[int, Descriptor]) -> str:
        descriptor = slots.get(slot)
        if verb == "seek" and descriptor is not None and not descriptor.is_met:
            verb = "fsync"  # where it leads is not known to the library, which meets a descriptor with its first access
        obj = "other" if descriptor is None else "file"
        kind = "sync" if verb == "fsync" else "meta"
        self._count(obj, {"seek": "lseek"}.get(verb, verb), kind, is_error=descriptor is None)
        if verb == "close":
            slots.pop(slot, None)
        if verb != "seek":
            return f"{verb} {slot}"
        offset = self.random.randrange(300_000)
        if descriptor is not None:
            descriptor.position = offset
            if descriptor.is_met and not descriptor.is_absolute:
                descriptor.last_end = None
                descriptor.is_absolute = True
        return f"seek {slot} {offset}"

    def _transfer(self, verb: str, slot: int, descriptor: Descriptor | None) -> str:
        first, second = self.random.choice(SIZES), self.random.choice(SIZES[:9])
        offset = self.random.randrange(300_000)
        if descriptor is not None and descriptor.last_end is not None and self.random.random() < 0.5:
            offset = descriptor.last_end
        is_read, at_offset, is_vector = verb in READS, verb[0] == "p", verb[-1] == "v"
        direction = "read" if is_read else "write"
        arguments = f"{first} {offset}" if at_offset else f"{first} {second}" if is_vector else f"{first}"
        line = f"{verb} {slot} {arguments}"
        if descriptor is None:
            self._count("other", verb, direction, is_error=True)
            self.counters["other", f"{direction}_size_0"] += 1
            return line
        begin = offset if at_offset else descriptor.position
        asked = first + (second if is_vector else 0)
        moved = max(0, min(asked, self.lengths[descriptor.path] - begin)) if is_read else asked
        if not is_read and moved > 0:
            self.lengths[descriptor.path] = max(self.lengths[descriptor.path], begin + moved)
        self._count_transfer(descriptor, verb, direction, begin, moved)
        if not at_offset:
            descriptor.position = begin + moved
        return line

    def _count_transfer(self, descriptor: Descriptor, verb: str, direction: str, begin: int, moved: int) -> None:
        self._count("file", verb, direction)
        counters = self.counters
        counters["file", f"{direction}_bytes"] += moved
        counters["file", f"{direction}_size_{sum(moved >= edge for edge in EDGES) - 1}"] += 1
        counters["file", f"{direction}_first"] += descriptor.last_end is None
        if descriptor.last_end is not None:
            counters["file", f"{direction}_sequential"] += begin >= descriptor.last_end
            counters["file", f"{direction}_consecutive"] += begin == descriptor.last_end
        descriptor.last_end = begin + moved
        descriptor.is_met = True
        self.by_file[descriptor.path, f"{direction}_bytes"] += moved
        self.by_file[descriptor.path, f"{direction}_ops"] += 1

    def _count(self, obj: str, operation: str, kind: str, *, is_error: bool = False) -> None:
        self.calls[operation] += 1
        self.counters[obj, f"{kind}_ops"] += 1
        self.counters[obj, "errors"] += is_error


COUNTERS = [
    "read_ops", "write_ops", "meta_ops", "sync_ops", "read_bytes", "write_bytes", "errors",
    "read_sequential", "write_sequential", "read_consecutive", "write_consecutive",
    "read_first", "write_first",
    *(f"{direction}_size_{number}" for direction in ("read", "write") for number in range(10)),
]  # fmt: skip


def run_and_compare(job: Job, apps: Apps, seed: int, lines: int, beside: list[str], slice_seconds: str) -> None:
    oracle = Oracle(random.Random(seed))
    for start in ["main", *beside]:
        name = start.split()[-1]
        (job.data / name).write_text(oracle.draw(name, lines, beside if start == "main" else []))
    oracle.calls["pthread_create"] = sum(start.startswith("thread") for start in beside)
    job.must_run([apps.build("script", "-pthread"), "main"], SLICEWISE_SLICE=slice_seconds)
    profile = job.profile(bins=True)
    assert calls(profile) == {name: count for name, count in oracle.calls.items() if count > 0}
    for obj in ("file", "other"):
        expected = {name: oracle.counters[obj, name] for name in COUNTERS}
        assert {name: total(profile, name, obj=obj) for name in COUNTERS} == expected
    for column in ("read_bytes", "write_bytes", "read_ops", "write_ops"):
        counted = dict(profile.files.group_by("path").agg(pl.col(column).sum()).iter_rows())
        expected = {str(job.data / path): count for (path, name), count in oracle.by_file.items() if name == column}
        assert {path: count for path, count in counted.items() if count} == {p: n for p, n in expected.items() if n}


@pytest.mark.parametrize("seed", range(25))
def test_one_thread(job: Job, apps: Apps, seed: int) -> None:
    run_and_compare(job, apps, seed, 200, [], "4")


@pytest.mark.parametrize("seed", range(10))
def test_threads(job: Job, apps: Apps, seed: int) -> None:
    run_and_compare(job, apps, seed, 300, ["thread one", "thread two", "thread three"], "0.1")


@pytest.mark.parametrize("seed", range(10))
def test_threads_and_children(job: Job, apps: Apps, seed: int) -> None:
    run_and_compare(job, apps, seed, 150, ["fork one", "thread two", "fork three"], "0.1")
