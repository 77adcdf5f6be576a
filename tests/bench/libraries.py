"""What stands in front of a program when its cost is measured: nothing, Slicewise, the floor library, Darshan."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

BARE, OURS, FLOOR, DARSHAN = "bare", "slicewise", "floor", "darshan"


@dataclass(frozen=True)
class Library:
    """A library to preload (None: nothing), with the settings that it is measured under."""

    name: str
    path: Path | None
    settings: dict[str, str]

    def environment(self, **settings: str) -> dict[str, str]:
        """What a program runs under; settings of Slicewise reach none but Slicewise."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "DARSHAN_"))}
        preload = {"LD_PRELOAD": str(self.path)} if self.path else {}
        clean.pop("LD_PRELOAD", None)
        return clean | preload | self.settings | (settings if self.name == OURS else {})


def libraries(build: Path, directory: Path) -> dict[str, Library]:
    """All that can be measured here: bare, floor and slicewise, and Darshan where DARSHAN_LIB names its library."""
    profiles = directory / "profiles"
    ours = {"SLICEWISE_DIR": str(profiles), "SLICEWISE_JOB": "bench", "SLICEWISE_QUIET": "1"}
    found = [
        Library(BARE, None, {}),
        Library(OURS, (build / "lib" / "libslicewise.so").resolve(), ours),
        Library(FLOOR, (build / "bench" / "floor.so").resolve(), {}),
    ]
    darshan = os.environ.get("DARSHAN_LIB")
    if darshan:
        logs = directory / "darshan"
        logs.mkdir(exist_ok=True)
        # /dev, and so /dev/shm, is left out by default; without MPI it must be told to work. DARSHAN_LOGPATH is heard
        # by a build with --with-log-path-by-env=DARSHAN_LOGPATH.
        settings = {"DARSHAN_ENABLE_NONMPI": "1", "DARSHAN_LOGPATH": str(logs), "DARSHAN_EXCLUDE_DIRS": "none"}
        found.append(Library(DARSHAN, Path(darshan).resolve(), settings))
    return {library.name: library for library in found}


def with_threads(found: dict[str, Library]) -> list[Library]:
    """The bare one, and Slicewise that times what threads wait for each other."""
    ours = found[OURS]
    both = Path(f"{ours.path}:{ours.path.with_name('libslicewise-threads.so')}")
    return [found[BARE], replace(ours, path=both)]


def with_sites(found: dict[str, Library], milliseconds: str) -> list[Library]:
    """Slicewise without call sites, which is the bare one here, and with a sample in so many milliseconds of I/O."""
    ours = found[OURS]
    return [
        replace(ours, name=name, settings=ours.settings | {"SLICEWISE_SITE_MS": setting})
        for name, setting in ((BARE, "0"), (OURS, milliseconds))
    ]
