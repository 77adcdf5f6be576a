"""Regions of a Python program (epochs, checkpoints, batches), for its profile. This file needs nothing but Python:

    from slicewise_region import region

    with region("checkpoint"):
        write_checkpoint()

Where the program is not profiled, this does nothing. Regions nest, each in its thread; a forked child has none of its
parent's. `@region("checkpoint")` in front of a function makes each of its calls one.
"""

import ctypes
import inspect
from contextlib import contextmanager
from functools import wraps
from threading import get_ident

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


def follow_dftracer(dft_fn):
    """From now on what DFTracer's Python annotations mark is a region, too: `follow_dftracer(dft_fn)`, with the class that
    the program imports from dftracer.python (dftracer.logger in version 1), before it decorates anything.
    """
    under_way = {}  # of each object and thread
    enter, leave, iterate = dft_fn.__enter__, dft_fn.__exit__, dft_fn.iter

    def entered(self):
        tokens = under_way.setdefault((id(self), get_ident()), [])
        tokens.append(_begin(str(self._name).encode("utf-8", "replace")))
        return enter(self)

    def left(self, *exception):
        tokens = under_way.pop((id(self), get_ident()), [])
        if tokens:
            _end(tokens.pop())
        if tokens:
            under_way[id(self), get_ident()] = tokens
        return leave(self, *exception)

    def iterated(self, items, name="loop", *arguments, **named):
        for item in iterate(self, items, name, *arguments, **named):
            with region(f"{name}.yield"):
                yield item

    def decorating(original):
        @wraps(original)
        def decorate(self, function=None, name=None):
            if function is None:
                return lambda function: decorate(self, function, name)
            plain = getattr(function, "__func__", function)
            marked = region(name or plain.__qualname__)(plain)
            marked.__signature__ = inspect.signature(plain)
            return original(self, marked, name) if name else original(self, marked)

        return decorate

    dft_fn.__enter__, dft_fn.__exit__, dft_fn.iter = entered, left, iterated
    for decorator in ("log", "log_init", "log_static"):
        setattr(dft_fn, decorator, decorating(getattr(dft_fn, decorator)))
