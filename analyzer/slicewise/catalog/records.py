"""The JSON files of a catalog: how they are written, and that whatever else is found in them is refused in one line.

Each has a checksum of itself in its last member; files of earlier builds have none.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

# Of catalogs, as this version writes and reads them.
FORMAT = 1
OWN_CRC32 = "own_crc32"
# No count and no time of a catalog needs more.
MOST = 1 << 63
FRAME_NAME = re.compile(r"[a-z][a-z0-9_]*")
HEXADECIMAL = re.compile(r"[0-9a-f]{8}")
INSTALLED, LAID_ASIDE = re.compile(r"day=[^/\0]+/batch=[^/\0]+"), re.compile(r"\.aside/batch=[^/\0]+")
Record = dict[str, Any]


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """What a file of it holds."""
    return json.dumps({**record, OWN_CRC32: crc32_text(_own_crc32(record))}).encode()


def crc32_text(crc32: int) -> str:
    """A checksum as files have it, and as tools print it."""
    return f"{crc32:08x}"


def read_record(file: Path, fault_of: Callable[[Record], str]) -> tuple[Record, str]:
    """The object in a file, and what is wrong with it. fault_of: says what is wrong with an object; nothing if it is
    sound. Raises FileNotFoundError.
    """
    try:
        found = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        return {}, f"cannot be read: {error.strerror}"
    except RecursionError:
        return {}, "is damaged: it is nested too deeply"
    except ValueError as error:
        return {}, f"is damaged: it is no JSON ({error})"
    if not isinstance(found, dict):
        return {}, "is damaged: it holds no JSON object"
    own = found.pop(OWN_CRC32, None)
    fault = fault_of(found)
    if not fault and own is not None and own != crc32_text(_own_crc32(found)):
        fault = "its checksum is not the one with which it was written"
    return found, f"is damaged: {fault}" if fault else ""


def _own_crc32(record: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(record).encode())


def fault_of_batch(about: Record) -> str:
    """What is wrong with what a batch says about itself."""
    for name in ("jobs", "start_ns", "end_ns", "written_ns"):
        if not _is_whole(about.get(name)):
            return f"{name} is no whole number"
    rows = about.get("rows")
    if not _is_counts(rows):
        return "rows is no list of tables and their rows"
    if rows.get("jobs") != about["jobs"]:
        return f"it has {about['jobs']:,} jobs, and its table of jobs other ones"
    if "bytes" in about and (not _is_counts(about["bytes"]) or set(about["bytes"]) != set(rows)):
        return "bytes is no list of its tables and their sizes"
    if "crc32" not in about:
        return ""
    sums = about["crc32"]
    if not isinstance(sums, dict) or not {f"{name}.parquet" for name in rows} <= set(sums):
        return "crc32 is no list of its files and their checksums"
    if not all(isinstance(text, str) and HEXADECIMAL.fullmatch(text) for text in sums.values()):
        return "crc32 has what is no checksum"
    return ""


def fault_of_journal(about: Record) -> str:
    """What is wrong with a journal."""
    if set(about) != {"installs", "removes"}:
        return "it is no list of batches that come and go"
    installs, removes = about["installs"], about["removes"]
    if not isinstance(installs, dict) or not isinstance(removes, list):
        return "it is no list of batches that come and go"
    places = [
        *((place, INSTALLED) for place in (*installs, *removes)),
        *((aside, LAID_ASIDE) for aside in installs.values()),
    ]
    if not all(isinstance(text, str) and pattern.fullmatch(text) for text, pattern in places):
        return "it names what is no batch"
    return ""


def fault_of_catalog(about: Record) -> str:
    """What is wrong with what a catalog says about itself. One of another format may say anything else."""
    if not isinstance(about.get("format"), int):
        return "format is no whole number"
    if about["format"] != FORMAT:
        return ""
    if about.get("names") not in ("plain", "hash"):
        return "names is neither plain nor hash"
    if not isinstance(about.get("shows_names", False), bool):
        return "shows_names is neither true nor false"
    salt = about.get("salt_crc32", "00000000")
    if not isinstance(salt, str) or not HEXADECIMAL.fullmatch(salt):
        return "salt_crc32 is no checksum"
    return ""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MOST <= value < MOST


def _is_counts(value: object) -> TypeGuard[dict[str, int]]:
    return isinstance(value, dict) and all(
        FRAME_NAME.fullmatch(name) and _is_whole(count) and count > 0 for name, count in value.items()
    )
