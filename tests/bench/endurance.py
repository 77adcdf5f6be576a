"""Whether memory stays bounded and calls stay as cheap in a long, hard life: many threads, files, mounts at full speed.

Runs the program bare, under Slicewise, and under Slicewise with hardly any memory to be had. Prints resident memory and
CPU time a call over time, and what the profile holds of the calls; exit status 1 if memory grew, or
calls are missing that the profile does not own up to.

    python -m endurance BUILD [--seconds N] [--threads N] [--files N] [--mounts N]
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from libraries import BARE, OURS, Library, libraries
from measures import may_mount, on_new_mounts
from slicewise.profile.reader import read_profile

LINES = 10
ADDRESS_ROOM = 4 << 20  # bytes that may still be mapped where memory is short
SEGMENT_ROOM = "2m"  # of shared memory then
MOST_GROWTH_KIB = 1024  # what a first packing takes, and a good deal more
TIMEOUT_SECONDS = 600  # over those that the program is told
MOST_KIB, MOST_KIB_A_THREAD = 1600, 10  # over the bare program: with the pages of the library's own file


@dataclass(frozen=True)
class Look:
    """What the program told of itself after a second."""

    seconds: float
    writes: int
    cpu_ns_a_write: float
    rss_kib: int
    written_kib: int


@dataclass(frozen=True)
class Life:
    """One run: looks in the order of time, the calls it made, and those that the profile has."""

    looks: list[Look]
    made: int
    profiled: int | None = None
    mishaps: dict[str, int] | None = None

    @property
    def growth_kib(self) -> int:
        """What the memory that the process wrote grew by from the first look to the last."""
        return self.looks[-1].written_kib - self.looks[0].written_kib

    def lines(self) -> list[str]:
        """About LINES looks, from first to last."""
        step = max(1, len(self.looks) // LINES)
        shown = [*self.looks[:-1:step], self.looks[-1]]
        return [
            f"{look.seconds:>9.1f} s {look.cpu_ns_a_write:>9.1f} ns a write {look.rss_kib:>9} KiB resident"
            f" {look.written_kib:>9} KiB of it written"
            for look in shown
        ]


@dataclass(frozen=True)
class Load:
    """How long and how hard."""

    seconds: int = 60
    threads: int = 1000
    files: int = 100_000
    mounts: int = 10


def live(program: Path, library: Library, load: Load, directory: Path, *, is_short: bool = False) -> Life:
    """One run, on `load.mounts` file systems of its own if it may mount any; `is_short` of memory."""
    profiles = directory / "profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    settings = {"SLICEWISE_SLICE": "1", "SLICEWISE_JOB": "endure", "SLICEWISE_DIR": str(profiles)}
    places = [directory / f"mount{number}" for number in range(load.mounts)]
    segments = directory / "segments"
    for place in [*places, segments]:
        place.mkdir(exist_ok=True)
    if is_short:
        settings |= {"SLICEWISE_SEGMENT_DIR": str(segments), "TMPDIR": str(segments)}
    room = ADDRESS_ROOM if is_short else 0
    command = [program, *map(str, (load.seconds, load.threads, load.files, room))]
    environment = library.environment(**settings)
    if may_mount():
        small = {segments: f"size={SEGMENT_ROOM}"} if is_short else {}
        command = on_new_mounts(command, environment, places, small)
        environment = None
    else:
        command += map(str, places)
    timeout = load.seconds + TIMEOUT_SECONDS
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise RuntimeError(f"{program} under {library.name} ended with {done.returncode}: {done.stderr[-2000:]}")
    *looks, total = (line.split() for line in done.stdout.splitlines())
    seen = [Look(float(of[1]), int(of[3]), float(of[5]), int(of[7]), int(of[9])) for of in looks]
    if library.name != OURS:
        return Life(seen, int(total[1]))
    profile = read_profile(profiles / "endure")
    if profile.damage:
        raise RuntimeError(f"the profile is damaged: {profile.damage}")
    counted = profile.slices.filter(pl.col("layer") == "posix")["write_ops"].sum()
    return Life(seen, int(total[1]), counted, dict(profile.mishaps.select("mishap", "count").iter_rows()))


def faults(life: Life, bare: Life, load: Load) -> list[str]:
    """What is wrong with a run: memory without bound, calls that are gone without a word. No times."""
    found = []
    if life.growth_kib > MOST_GROWTH_KIB:
        found.append(f"memory grew by {life.growth_kib} KiB, over {MOST_GROWTH_KIB}")
    extra = life.looks[-1].written_kib - bare.looks[-1].written_kib
    if extra > (most := MOST_KIB + MOST_KIB_A_THREAD * load.threads):
        found.append(f"it wrote {extra} KiB more of memory than bare, over {most}")
    missing, dropped = life.made - life.profiled, life.mishaps.get("calls_dropped", 0)
    if not 0 <= missing <= dropped:
        found.append(f"{life.made} calls were made, {life.profiled} are in the profile, {dropped} were dropped")
    return found


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    for name, default in vars(Load()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = vars(parser.parse_args())
    build = arguments.pop("build")
    load = Load(**arguments)
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    is_sound = True
    with tempfile.TemporaryDirectory(prefix="slicewise-bench-", dir=place) as directory:
        under = libraries(build, Path(directory))
        program = build.resolve() / "bench" / "endure"
        bare = live(program, under[BARE], load, Path(directory))
        print("\n".join(["the bare program", *bare.lines()]))
        for what, is_short in (("slicewise", False), ("slicewise, short of memory", True)):
            life = live(program, under[OURS], load, Path(directory), is_short=is_short)
            wrong = faults(life, bare, load)
            print(
                "\n".join(
                    [
                        what,
                        *life.lines(),
                        f"  {life.made} calls, {life.profiled} in the profile; mishaps: {life.mishaps}",
                    ]
                )
            )
            print("\n".join(f"  WRONG: {fault}" for fault in wrong) or "  sound")
            is_sound &= not wrong
    return int(not is_sound)


if __name__ == "__main__":
    sys.exit(main())
