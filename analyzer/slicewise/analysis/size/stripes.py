"""Stripe size and count of files on Lustre, read from the attribute that its client gives, where the file still is."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

ATTRIBUTE = "lustre.lov"
# lov_user_md: magic, pattern, object id (16 bytes), stripe size, stripe count. A composite layout has such ones within.
PLAIN = (0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0)
COMPOSITE = 0x0BD60BD0
HEAD = struct.Struct("<II16sIH")
# lov_comp_md_v1: entries begin at byte 32, each of 48 bytes with its layout's place in bytes 24 to 32.
ENTRY_COUNT, ENTRIES_AT, PLACE_AT = 14, 32, 24


@dataclass(frozen=True)
class Stripes:
    """How one file is laid out: of a composite layout, its first component. size in bytes; count: of objects."""

    path: str
    size: int
    count: int


def stripes_of(path: str) -> Stripes | None:
    """The layout of a file; None where it is not on Lustre, is gone, or has no layout."""
    try:
        layout = os.getxattr(path, ATTRIBUTE)
    except (OSError, ValueError):
        return None
    return parsed(path, layout)


def parsed(path: str, layout: bytes) -> Stripes | None:
    """The attribute's bytes as what they say; None for what is no layout."""
    try:
        (magic,) = struct.unpack_from("<I", layout)
        at = 0
        if magic == COMPOSITE:
            if struct.unpack_from("<H", layout, ENTRY_COUNT)[0] == 0:
                return None
            (at,) = struct.unpack_from("<I", layout, ENTRIES_AT + PLACE_AT)
        magic, _, _, size, count = HEAD.unpack_from(layout, at)
    except struct.error:
        return None
    return Stripes(path, size, count) if magic in PLAIN and size > 0 else None
