"""Regions of a Python program (epochs, checkpoints, batches), for its profile. This file needs nothing but Python:

    from slicewise_region import region

    with region("checkpoint"):
        write_checkpoint()

Where the program is not profiled, this does nothing. Regions nest, each in its thread; a forked child has none of its
parent's. `@region("checkpoint")` in front of a function makes each of its calls one.
"""

import ctypes
from contextlib import contextmanager

try:
    _program = ctypes.CDLL(None)
    _begin, _end = _program.slicewise_region_begin, _program.slicewise_region_end
    _begin.argtypes, _begin.restype = [ctypes.c_char_p], ctypes.c_uint64
    _end.argtypes, _end.restype = [ctypes.c_uint64], None
except (OSError, AttributeError):  # not profiled
    _begin, _end = (lambda name: 0), (lambda token: None)


@contextmanager
def region(name):
    """The code within it is an occurrence of the region of this name."""
    token = _begin(str(name).encode("utf-8", "replace"))
    try:
        yield
    finally:
        _end(token)
