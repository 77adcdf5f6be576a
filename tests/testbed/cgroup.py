"""Control groups that limit what their members write to a disk together: v1 (blkio) and v2 (io.max). Needs root.

Each maker is a context manager over the group's directory; a process joins by writing its id to `cgroup.procs`. At
the end members that are still alive are killed and the group is removed. Raises OSError where the kernel, the
container or the user's rights do not allow it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


@contextlib.contextmanager
def blkio(device: tuple[int, int], bytes_per_second: int) -> Iterator[Path]:
    """A version 1 group under a limit for writing to `device`."""
    with blkio_group() as group:
        limit_blkio(group, device, bytes_per_second, ("write",))
        yield group


@contextlib.contextmanager
def blkio_group() -> Iterator[Path]:
    """A version 1 group without limits."""
    with _group(_hierarchy("cgroup", "blkio")) as group:
        yield group


def blkio_root() -> Path:
    """The version 1 group of all that is in no other."""
    return _hierarchy("cgroup", "blkio")


@contextlib.contextmanager
def made_group(controller: str | None) -> Iterator[Path]:
    """A group without limits: of a version 1 controller, or (None) of version 2. Groups within it go with it."""
    root = _hierarchy("cgroup2" if controller is None else "cgroup", controller)
    group = root / f"slicewise-testbed-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        for inner in [*(path for path in group.iterdir() if path.is_dir()), group]:
            _remove(inner)


def limit_blkio(group: Path, device: tuple[int, int], bytes_per_second: int, directions: Sequence[str]) -> None:
    """Limits what a version 1 group moves to and from `device`, in each of the directions (read, write) apart."""
    for direction in directions:
        limit = group / f"blkio.throttle.{direction}_bps_device"
        limit.write_text(f"{device[0]}:{device[1]} {bytes_per_second}")


@contextlib.contextmanager
def io_max(device: tuple[int, int], bytes_per_second: int) -> Iterator[Path]:
    """A version 2 group under a limit for writing to `device`."""
    root = _hierarchy("cgroup2", None)
    if "io" not in (root / "cgroup.controllers").read_text().split():
        raise FileNotFoundError("the version 2 hierarchy has no io controller")
    control = root / "cgroup.subtree_control"
    is_enabled = "io" in control.read_text().split()
    with contextlib.ExitStack() as undo:
        if not is_enabled:
            control.write_text("+io")
            undo.callback(control.write_text, "-io")
        group = undo.enter_context(_group(root))
        (group / "io.max").write_text(f"{device[0]}:{device[1]} wbps={bytes_per_second}")
        yield group


def _hierarchy(file_system: str, controller: str | None) -> Path:
    """Where a hierarchy is mounted: of v2 the only one, of v1 that of `controller`."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split()[:3]
        if kind == file_system and (controller is None or controller in options.split(",")):
            return Path(fields.split()[4])
    raise FileNotFoundError(f"no {controller or file_system} hierarchy is mounted")


@contextlib.contextmanager
def _group(root: Path) -> Iterator[Path]:
    group = root / f"slicewise-testbed-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    for _ in range(100):
        for member in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(member), signal.SIGKILL)
        try:
            group.rmdir()
            return
        except OSError:
            time.sleep(0.05)
    group.rmdir()
