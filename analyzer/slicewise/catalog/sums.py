"""Checksums of a catalog's files: taken when a batch is written, and compared before its files are read.

polars compares none of its own, so a bit that changed on a disk could be read as another value. A checksum needs the
whole file, and a question often needs little of it. So each user's cache remembers for a day which files were sound.
What is copied into another batch is compared each time.
"""

import contextlib
import json
import os
import re
import threading
import time
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from slicewise import user_cache
from slicewise.errors import UserError
from slicewise.scalars import number_of

# What is read at once: it stays in the processor's cache until it is summed.
PIECE_BYTES = 1 << 18
# From so many bytes on several threads are worth their start.
BYTES_FOR_THREADS = 8 << 20
SECONDS_A_DAY = 86_400
CACHE_FILE = Path("checked")
MISSING = "is missing"
# Of catalogs, as this version writes and reads them.
FORMAT = 1
OWN_CRC32 = "own_crc32"
# No count and no time of a catalog needs more.
MOST = 1 << 63
FRAME_NAME = re.compile(r"[a-z][a-z0-9_]*")
HEXADECIMAL = re.compile(r"[0-9a-f]{8}")
INSTALLED, LAID_ASIDE = re.compile(r"day=[^/\0]+/batch=[^/\0]+"), re.compile(r"\.aside/batch=[^/\0]+")
Record = dict[str, Any]


class Damaged(UserError):
    """A file of a catalog is not as it was written. reason: what is wrong with it, without its name."""

    def __init__(self, line: str, file: Path | None = None, reason: str = "") -> None:
        super().__init__(line)
        self.file, self.reason = file, reason


def damaged(file: Path, reason: str, catalog: Path) -> Damaged:
    return Damaged(f"{file}: {reason}; see: slicewise catalog verify {catalog}", file, reason)


@dataclass(frozen=True)
class WrittenFile:
    """A file as it was written. size, crc32: None in catalogs of builds that did not write them down."""

    path: Path
    size: int | None
    crc32: int | None


def crc32_of(file: Path) -> int:
    """The CRC-32 of a file, as zlib has it. Raises OSError."""
    buffer = memoryview(bytearray(PIECE_BYTES))
    found = 0
    with file.open("rb", buffering=0) as content:
        while count := content.readinto(buffer):
            found = zlib.crc32(buffer[:count], found)
    return found


def unsound(file: WrittenFile) -> str:
    """How a file differs from what was written; nothing if it does not. All of it is read, if it has a checksum. Raises
    FileNotFoundError."""
    try:
        size = file.path.stat().st_size
        if file.size not in (None, size):
            return f"is damaged: it has {size:,} bytes, and was written with {file.size:,}"
        if file.crc32 is not None and crc32_of(file.path) != file.crc32:
            return "is damaged: its checksum is not the one with which it was written"
    except FileNotFoundError:
        raise
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return ""


def first_unsound(files: Sequence[WrittenFile]) -> tuple[Path, str] | None:
    """The first of some files that is not as it was written, and how it differs. Files that this user's commands found
    sound today, and that have not changed since, are not read again. Raises FileNotFoundError."""
    known = _remembered()
    fresh = {}
    for file in files:
        if file.size is None and file.crc32 is None:
            continue
        number = _number(file, file.path.stat())
        if number not in known:
            fresh[number] = file
    if not fresh:
        return None
    for file, reason in zip(fresh.values(), _reasons(list(fresh.values())), strict=True):
        if reason:
            return file.path, reason
    _remember(set(fresh))
    return None


def _reasons(files: Sequence[WrittenFile]) -> list[str]:
    if len(files) > 1 and sum(file.size or 0 for file in files) >= BYTES_FOR_THREADS:
        with ThreadPoolExecutor(min(len(files), len(os.sched_getaffinity(0)))) as pool:
            return list(pool.map(unsound, files))
    return [unsound(file) for file in files]


def _number(file: WrittenFile, stat: os.stat_result) -> int:
    """A number that is another one as soon as the file is."""
    parts = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, file.size, file.crc32)
    text = os.fsencode(file.path) + repr(parts).encode()
    return number_of(text)


# Files that were sound: the day, and their numbers.
_sound: tuple[int, set[int]] = (0, set())
_lock = threading.Lock()


def _remembered() -> set[int]:
    """The numbers of files that were sound today, from this process and from the user's cache."""
    global _sound
    day = int(time.time()) // SECONDS_A_DAY
    if _sound[0] != day:
        _sound = (day, _read_cache(day))
    return _sound[1]


def _remember(numbers: set[int]) -> None:
    """Keep what was sound, where that is allowed and there is room. Another process may keep its own at the same time;
    then one of the two is forgotten, and checked once more."""
    day, known = _sound
    with _lock, contextlib.suppress(OSError):
        known |= numbers
        known |= _read_cache(day)
        user_cache.write(CACHE_FILE, array("Q", [day, *known]).tobytes())


def _read_cache(day: int) -> set[int]:
    content = user_cache.read(CACHE_FILE)
    numbers = array("Q", content[: len(content) // 8 * 8])
    return set(numbers[1:]) if numbers and numbers[0] == day else set()


def record_bytes(record: Mapping[str, Any]) -> bytes:
    return json.dumps({**record, OWN_CRC32: crc32_text(_own_crc32(record))}).encode()


def crc32_text(crc32: int) -> str:
    return f"{crc32:08x}"


def read_record(file: Path, fault_of: Callable[[Record], str]) -> tuple[Record, str]:
    """The object in a file, and what is wrong with it. fault_of: says what is wrong with an object; nothing if it is
    sound. Raises FileNotFoundError."""
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
