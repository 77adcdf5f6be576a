"""Taking turns at I/O with other jobs, for programs in Python: the calls of `slicewise/coordinate.h`."""

import ctypes
import os

from slicewise.errors import UserError
from slicewise.running.installation import find_installation

GO, STAY, OFF = 0, 1, 2


class _Io(ctypes.Structure):
    _fields_ = (
        ("bytes", ctypes.c_uint64),
        ("seconds", ctypes.c_double),
        ("demand", ctypes.c_double),
        ("processes", ctypes.c_uint32),
    )


class Turns:
    """A process's turns. The settings are those of the environment when the first call is made: SLICEWISE_COORDINATE_AT
    says where the coordinator is, and without it nothing happens. No call fails where there is no coordinator: then
    there is nothing to wait for.
    """

    def __init__(self) -> None:
        path = find_installation().library.with_name("libslicewise-coordinate.so")
        try:
            self._library = ctypes.CDLL(os.fspath(path))
        except OSError as error:
            raise UserError(f"{path}: cannot be loaded ({error}); build it with `make`") from error
        self._library.slicewise_coordinate_release.argtypes = [ctypes.c_uint64]
        self._library.slicewise_coordinate_waited.restype = ctypes.c_double

    def prepare(self, volume: int, *, seconds: float = 0.0, demand: float = 0.0, processes: int = 1) -> None:
        """What the next phase will do. volume: bytes. seconds: that it takes alone; 0: not known. demand: the share of
        the file system's capacity that the job fills alone; 0: not known."""
        io = _Io(volume, seconds, demand, processes)
        self._library.slicewise_coordinate_prepare(ctypes.byref(io))

    def prepare_values(self, **values: object) -> None:
        """The same by names (`slicewise/coordinate.h`), laid upon those that are there until `complete`; targets may be
        a list.
        """
        each = {name: value if isinstance(value, list | tuple) else [value] for name, value in values.items()}
        told = " ".join(f"{name}={','.join(map(str, some))}" for name, some in each.items())
        self._library.slicewise_coordinate_prepare_values(told.encode())

    def inform(self) -> None:
        """Tell the coordinator that the phase begins."""
        self._library.slicewise_coordinate_inform()

    def check(self) -> bool:
        """Whether the job may go, without waiting."""
        return int(self._library.slicewise_coordinate_check()) != STAY

    def wait(self) -> bool:
        """Wait for the job's turn. False: it goes on without one."""
        return int(self._library.slicewise_coordinate_wait()) == GO

    def release(self, remaining: int) -> None:
        """A step is over, and so many bytes of the phase are left."""
        self._library.slicewise_coordinate_release(remaining)

    def complete(self) -> None:
        """The phase, or the part of it that the last values by names spoke of, is over."""
        self._library.slicewise_coordinate_complete()

    @property
    def waited(self) -> float:
        """How long this process has waited so far (s)."""
        return float(self._library.slicewise_coordinate_waited())
