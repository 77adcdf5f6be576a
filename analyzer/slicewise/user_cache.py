"""What the user's programs can find again: files of the user's own cache directory, each whole or not there. Whoever
keeps something names by a key what it was made of. What is damaged, of another user or version counts as not there.
"""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from slicewise import __version__

# Of all files of a kind together; the oldest go. A directory of 2,000 jobs takes 1 MiB, a job of 4,096 processes 2 MiB.
MOST_BYTES = 128 << 20
SUM_BYTES = 16


def directory() -> Path | None:
    """Where the user's programs keep what they can find again; None without a home."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return Path(named) / "slicewise"
    with contextlib.suppress(RuntimeError):
        return Path.home() / ".cache" / "slicewise"
    return None


def write(name: Path, content: bytes) -> None:
    """Put a file below the directory, where that is allowed and there is room. Raises OSError."""
    top = directory()
    if top is None:
        return
    where = top / name
    where.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if where.parent.lstat().st_uid != os.geteuid():  # a root that has a user's HOME
        return
    descriptor, aside = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name}-")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
        os.replace(aside, where)
    except OSError:
        os.unlink(aside)


def read(name: Path) -> bytes:
    """The content of a file that is the user's own; nothing where there is none."""
    top = directory()
    if top is not None:
        with contextlib.suppress(OSError), (top / name).open("rb") as file:
            if os.fstat(file.fileno()).st_uid == os.geteuid():
                return file.read()
    return b""


def keep(kind: str, key: str, content: bytes) -> None:
    name = Path(kind) / _hashed(key.encode()).hex()
    with contextlib.suppress(OSError):
        write(name, _hashed(_head(key) + content) + content)
        _make_room(kind)


def kept(kind: str, key: str) -> bytes | None:
    found = read(Path(kind) / _hashed(key.encode()).hex())
    content = found[SUM_BYTES:]
    return content if found and _hashed(_head(key) + content) == found[:SUM_BYTES] else None


def _head(key: str) -> bytes:
    return f"{__version__}\n{key}\n".encode()


def _hashed(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=SUM_BYTES).digest()


def _make_room(kind: str) -> None:
    top = directory()
    if top is None:
        return
    with os.scandir(top / kind) as entries:
        files = sorted(((one.stat().st_mtime_ns, one.stat().st_size, one.path) for one in entries), reverse=True)
    together = 0
    for _, size, path in files:
        together += size
        if together > MOST_BYTES:
            os.unlink(path)
