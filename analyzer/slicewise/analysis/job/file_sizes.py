"""How large files are. A server that does not answer keeps whoever asks: so another process asks, for a while."""

import subprocess
from collections.abc import Mapping, Sequence

# Seconds; nothing is known of files whose sizes are not there until then.
TIMEOUT_SECONDS = 1.0


def sizes_since(paths: Sequence[str], end_ns: int) -> Mapping[str, int]:
    """Bytes, by path, of those that are regular files here, and were not written after a time (ns since 1970)."""
    if not paths:
        return {}
    nothing = subprocess.DEVNULL
    command = ["stat", "-L", "--printf", r"%s %Y %F\t%n\0", "--", *paths]
    try:
        asking = subprocess.Popen(
            command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, errors="surrogateescape"
        )
    except OSError:  # there is no such program here, or no room for another process
        return {}
    try:
        told, _ = asking.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        asking.kill()  # and is not waited for: it may be held up in the kernel
        return {}
    rows = [(*about.split(" ", 2), path) for about, _, path in (row.partition("\t") for row in told.split("\0") if row)]
    return {
        path: int(size)
        for size, written, kind, path in rows
        if kind.startswith("regular") and int(written) <= end_ns // 10**9
    }
