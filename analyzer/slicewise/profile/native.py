"""The native decoder (`reader/` of the source tree) by ctypes: structs, functions, and its arrays as polars frames.
Mirrors reader/reader.h (INTERFACE says which one). While C works, other Python threads run.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from pathlib import Path
from typing import Any

import polars as pl

from slicewise.errors import UserError

INTERFACE = 6
# Of a schema: each table's columns, whether its rows are kept, and what of them is left out; flags of all columns one
# after the other.
Layout = tuple[tuple[tuple[int, bool, int], ...], bytes]
LIBRARY = "libslicewise-reader.so"

STRING, WANTED, SIGNED, SPANNED, REDUCED_KEY, REDUCED_SUM, REDUCED_MAX, SIEVE = (1 << bit for bit in range(8))
# The number of a table's sums is so much greater than the table's.
SUMS = 256
# Values that a sieve can leave out are below this.
SIEVED_VALUES = 64
U64, I64, NAME, TEXT = range(4)
KEY, SUM, MAX, LAST, GREATEST = range(5)
# From so many rows on a table's columns are worth freeing one by one.
LONG_ROWS = 1 << 16


class File(Structure):
    """A file of a source: what it is asked for, and what was found."""

    _fields_ = (
        ("path", c_char_p),
        ("source", c_uint32),
        ("error", c_int32),
        ("bytes", c_uint64),
        ("sound_frames", c_uint64),
        ("marker", c_uint32),
        ("is_foreign", c_uint32),
    )


class Hole(Structure):
    """Bytes of a file that are no frame."""

    _fields_ = (
        ("begin", c_uint64),
        ("end", c_uint64),
        ("process", c_uint64),
        ("number", c_uint32),
        ("file", c_uint32),
        ("has_process", c_uint32),
        ("is_elsewhere", c_uint32),
    )


class NativeLoss(Structure):
    """A process with frames that nobody has."""

    _fields_ = (
        ("process", c_uint64),
        ("frames", c_uint64),
        ("slices", c_uint64),
        ("arrival", c_uint64),
        ("source", c_uint32),
        ("file", c_uint32),
    )


class Unfinished(Structure):
    """A process without its last frame."""

    _fields_ = (("process", c_uint64), ("arrival", c_uint64), ("source", c_uint32), ("unused", c_uint32))


class NativeSource(Structure):
    """What was found of a source: frames that count, processes that are known of, schemas."""

    _fields_ = (("frames", c_uint64), ("processes", c_uint64), ("schemas", c_uint64))


class TableLayout(Structure):
    """A table of a schema: which rows with what values of the sieve's column are left out, and whether it is kept."""

    _fields_ = (("left_out", c_uint64), ("columns", c_uint32), ("is_wanted", c_uint32))


class NativeColumn(Structure):
    """A column of a table to be made."""

    _fields_ = (
        ("name", c_char_p),
        ("type", c_uint32),
        ("merge", c_uint32),
        ("places", POINTER(c_int32)),
        ("codes", POINTER(POINTER(c_uint32))),
        ("code_counts", POINTER(c_uint32)),
        ("names", POINTER(c_char_p)),
        ("name_bytes", POINTER(c_uint32)),
        ("name_count", c_uint32),
        ("is_summed_over", c_uint32),
        ("is_kept", POINTER(c_uint8)),
    )


class Plan(Structure):
    """A table to be made."""

    _fields_ = (
        ("tables", POINTER(c_int32)),
        ("columns", POINTER(NativeColumn)),
        ("source_name", c_char_p),
        ("column_count", c_uint32),
        ("adds_up", c_uint32),
    )


class Bound(Structure):
    """Bounds of a column: no value has a bit that `bits` lacks; the sum is below (high_sum + rows) << 32."""

    _fields_ = (("bits", c_uint64), ("high_sum", c_uint64))


class ArrowSchema(Structure):
    """Arrow's C data interface: what an array is of."""


class ArrowArray(Structure):
    """Arrow's C data interface: an array."""


_RELEASE_SCHEMA, _RELEASE_ARRAY = CFUNCTYPE(None, POINTER(ArrowSchema)), CFUNCTYPE(None, POINTER(ArrowArray))
ArrowSchema._fields_ = (
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_char_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", c_void_p),
    ("dictionary", c_void_p),
    ("release", _RELEASE_SCHEMA),
    ("private_data", c_void_p),
)
ArrowArray._fields_ = (
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", c_void_p),
    ("children", c_void_p),
    ("dictionary", c_void_p),
    ("release", _RELEASE_ARRAY),
    ("private_data", c_void_p),
)

MeetSchema = CFUNCTYPE(c_int, c_void_p, c_uint32, c_uint32, c_void_p, c_size_t)

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = py_object, (c_void_p, c_char_p, c_void_p)


@functools.cache
def library() -> ctypes.CDLL:
    """The decoder. Raises UserError if it is not there, or of another version."""
    own = Path(__file__).resolve()
    places = [own.with_name(LIBRARY), own.parents[3] / "build" / "lib" / LIBRARY]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        raise UserError(f"{places[0]}: is not there; install Slicewise again (in its source tree: make)")
    loaded = ctypes.CDLL(os.fspath(found))
    if loaded.slicewise_reader_interface() != INTERFACE:
        raise UserError(f"{found}: is of another version than {own.parent}; install Slicewise again (make)")
    reader, count = c_void_p, POINTER(c_uint64)
    signatures = {
        "new": (c_void_p, c_uint, MeetSchema, c_void_p),
        "free": (None, reader),
        "add_schema": (c_int, reader, c_uint32, c_uint32, POINTER(TableLayout), POINTER(c_uint8)),
        "load": (c_int, reader, POINTER(File), c_uint32, c_uint32, c_uint64),
        "holes": (POINTER(Hole), reader, count),
        "losses": (POINTER(NativeLoss), reader, count),
        "unfinished": (POINTER(Unfinished), reader, count),
        "sources": (POINTER(NativeSource), reader),
        "first_schema": (c_int32, reader, c_uint32),
        "pack_bound": (c_uint64, c_uint64),
        "pack": (c_uint64, c_void_p, c_uint64, c_char_p, c_uint64, c_int),
        "table": (c_int, reader, POINTER(Plan), POINTER(Bound), POINTER(ArrowSchema), POINTER(ArrowArray)),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(loaded, f"slicewise_reader_{name}")
        function.restype, function.argtypes = result, arguments
    return loaded


def packed(content: bytes, level: int = 3) -> bytes:
    room = library().slicewise_reader_pack_bound(len(content))
    frame = ctypes.create_string_buffer(room)
    size = library().slicewise_reader_pack(frame, room, content, len(content), level)
    if size == 0:
        raise MemoryError
    return frame.raw[:size]


class _Arrow:
    """An array on its way into polars, which takes it over: a struct, or one column of it."""

    def __init__(self, schema: ArrowSchema, array: ArrowArray) -> None:
        self.schema, self.array = schema, array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        # Without destructors: the structs are ours, and what nobody took out of them is released below.
        return (
            _new_capsule(ctypes.addressof(self.schema), b"arrow_schema", None),
            _new_capsule(ctypes.addressof(self.array), b"arrow_array", None),
        )

    def frame(self) -> pl.DataFrame:
        """The array as a frame. A long one hands over its columns one by one, so that each can be freed by itself."""
        if self.array.length < LONG_ROWS:
            return pl.DataFrame(self)
        schemas = ctypes.cast(self.schema.children, POINTER(POINTER(ArrowSchema)))
        arrays = ctypes.cast(self.array.children, POINTER(POINTER(ArrowArray)))
        columns = self.schema.n_children
        names = [schemas[place].contents.name.decode() for place in range(columns)]
        return pl.DataFrame(
            [
                pl.Series(name, _Arrow(schemas[place].contents, arrays[place].contents))
                for place, name in enumerate(names)
            ]
        )

    def release(self) -> None:
        for struct in (self.schema, self.array):
            if struct.release:
                struct.release(byref(struct))


class Decoder:
    """One reading: files are loaded once, then tables are made of it. Use it as a context."""

    def __init__(self, threads: int = 0) -> None:
        """threads: 0 for as many as there are processors."""
        self._threads = threads
        self._reader: int | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._reader is not None:
            library().slicewise_reader_free(self._reader)
            self._reader = None

    def load(
        self, files: list[tuple[bytes, int]], meet_schema: Callable[[int, bytes], Layout | None], most_bytes: int = 0
    ) -> list[File]:
        """Read all files, given as (path, source) in the order of their sources, of each at most so many bytes.
        meet_schema: called with (number of the file, text of a new schema); gives its layout, or None if it is none.
        Raises MemoryError.
        """

        def meet(_: object, file: int, schema_id: int, text: int, size: int) -> int:
            layout = meet_schema(file, ctypes.string_at(text, size))
            if layout is None:
                return 0
            tables, flags = layout
            layouts = (TableLayout(left_out, columns, is_wanted) for columns, is_wanted, left_out in tables)
            return int(
                native.slicewise_reader_add_schema(
                    self._reader,
                    schema_id,
                    len(tables),
                    (TableLayout * len(tables))(*layouts),
                    (c_uint8 * len(flags)).from_buffer_copy(flags),
                )
                == 0
            )

        native = library()
        callback = MeetSchema(meet)
        self._reader = native.slicewise_reader_new(self._threads, callback, None)
        if not self._reader:
            raise MemoryError
        sources = files[-1][1] + 1 if files else 0
        states = (File * len(files))(*(File(path=path, source=source) for path, source in files))
        _check(native.slicewise_reader_load(self._reader, states, len(files), sources, most_bytes))
        self._source_count = sources
        return list(states)

    def holes(self) -> list[Hole]:
        return list(self._list("holes"))

    def losses(self) -> list[NativeLoss]:
        return self._list("losses")

    def unfinished(self) -> list[Unfinished]:
        return self._list("unfinished")

    def sources(self) -> list[NativeSource]:
        return list(library().slicewise_reader_sources(self._reader)[: self._source_count])

    def first_schema(self, source: int) -> int:
        """The source's schema by its place in the order in which schemas were met; -1 if it has none."""
        return int(library().slicewise_reader_first_schema(self._reader, source))

    def table(self, plan: Plan) -> tuple[pl.DataFrame, ctypes.Array[Bound]] | None:
        """The table, and the bound of each of the plan's columns; None without rows. Raises MemoryError."""
        arrow = _Arrow(ArrowSchema(), ArrowArray())
        bounds = (Bound * max(1, plan.column_count))()
        schema, array = byref(arrow.schema), byref(arrow.array)
        _check(library().slicewise_reader_table(self._reader, byref(plan), bounds, schema, array))
        try:
            return (arrow.frame(), bounds) if arrow.array.length else None
        finally:
            arrow.release()

    def _list(self, what: str) -> list[Any]:
        count = c_uint64()
        items = getattr(library(), f"slicewise_reader_{what}")(self._reader, byref(count))
        return list(items[: count.value])


def _check(result: int) -> None:
    if result < 0:
        raise MemoryError(os.strerror(-result))
