"""Whether a Darshan log is whole, by its own checks: the package reads what it cannot unpack as zeros, without a word.

A log is a header, then regions of zlib (or bzip2) streams: the job, the names, a region a module. Each stream ends with
a checksum of what was packed.
"""

from __future__ import annotations

import bz2
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.files import unreadable

MAGIC = 6567223
ZLIB, BZIP2, NOTHING = 0, 1, 2
# Formats from the last of these on have 64 modules. What wrote the format CORRUPT wrote some counters wrong, as the
# package's own library warns.
FEW_MODULES, MANY_MODULES, FIRST_WITH_MANY = 16, 64, 41
CORRUPT = b"3.20"
KNOWN = (b"3.00", b"3.10", CORRUPT, b"3.21", b"3.41")
# A log that grows by more than this when it is unpacked is a crafted one.
MOST_BYTES = 1 << 36
AT_ONCE = 1 << 24
TAKE_ANOTHER = "take an undamaged copy"


@dataclass(frozen=True)
class _Region:
    begin: int
    end: int


def require_sound(place: Path) -> bytes:
    """The log's bytes. Raises UserError where it is none, or anything in it is damaged or missing."""
    try:
        log = place.read_bytes()
    except OSError as error:
        raise UserError(unreadable(place, error)) from error
    if not log:
        raise UserError(f"{place}: is empty; {TAKE_ANOTHER}")
    version = log[:8].rstrip(b"\0")
    if version not in KNOWN:
        raise UserError(f"{place}: is no Darshan log of a format from 3.00 to 3.41; give logs as Darshan 3 writes them")
    if version == CORRUPT:
        raise UserError(f"{place}: was written by Darshan 3.2.0, whose counters are wrong in part; nothing can be done")
    packing, regions = _header(place, log, int(version[2:]))
    for region in regions:
        if region.end > len(log):
            raise UserError(
                f"{place}: is cut short: {region.end - len(log):,} of {max(one.end for one in regions):,} bytes are "
                f"missing; {TAKE_ANOTHER}"
            )
        if (wrong := _wrong_with(log[region.begin : region.end], packing)) is not None:
            raise UserError(
                f"{place}: is damaged: bytes {region.begin:,} to {region.end - 1:,} {wrong}; {TAKE_ANOTHER}"
            )
    return log


def _header(place: Path, log: bytes, minor: int) -> tuple[int, list[_Region]]:
    modules = MANY_MODULES if minor >= FIRST_WITH_MANY else FEW_MODULES
    flag = "7xQ" if minor >= FIRST_WITH_MANY else "3xI"
    for order in "<>":
        form = struct.Struct(f"{order}8sqB{flag}{2 * (modules + 1)}Q{modules}I")
        if len(log) < form.size:
            raise UserError(f"{place}: is cut short within its header; {TAKE_ANOTHER}")
        _, magic, packing, _, *rest = form.unpack_from(log)
        if magic == MAGIC:
            break
    else:
        raise UserError(f"{place}: is damaged: its header is none of Darshan's; {TAKE_ANOTHER}")
    maps = [_Region(begin, begin + length) for begin, length in zip(rest[::2], rest[1::2], strict=False)]
    used = [region for region in maps[: modules + 1] if region.end > region.begin]
    # What follows the header up to the first region is the job; a job that did nothing has nothing else.
    header = form.size + -form.size % 8
    first = min((region.begin for region in used), default=len(log))
    return packing, [_Region(header, first), *used]


def _wrong_with(packed: bytes, packing: int) -> str | None:
    """What is wrong with a region, which is one packed stream after the other."""
    if packing == NOTHING:
        return None
    if not packed:
        return "hold nothing"
    unpacked = 0
    while packed:
        stream = zlib.decompressobj() if packing == ZLIB else bz2.BZ2Decompressor()
        try:
            for size in _unpacked(stream, packed):
                unpacked += size
                if unpacked > MOST_BYTES:
                    return "unpack to more than any log has"
        except (zlib.error, OSError, EOFError) as error:
            return f"do not unpack ({error})"
        if not stream.eof:
            return "end in the middle of a packed stream"
        packed = stream.unused_data
    return None


def _unpacked(stream: zlib._Decompress | bz2.BZ2Decompressor, packed: bytes) -> Iterator[int]:
    """The sizes of what comes out of a stream, piece by piece, so that little memory is taken."""
    while not stream.eof:
        piece = stream.decompress(packed, AT_ONCE)
        if not piece and not stream.eof:
            return
        yield len(piece)
        packed = stream.unconsumed_tail if not isinstance(stream, bz2.BZ2Decompressor) else b""
