"""How large files are now. A server that does not answer keeps whoever asks: so another process asks, for a while."""

import subprocess
from collections.abc import Mapping, Sequence

# Seconds; nothing is known of files whose sizes are not there until then.
PATIENCE = 1.0


def sizes_now(paths: Sequence[str]) -> Mapping[str, int]:
    """Bytes, by path, of those that are regular files here and now."""
    if not paths:
        return {}
    nothing = subprocess.DEVNULL
    command = ["stat", "-L", "--printf", r"%s %F\t%n\0", "--", *paths]
    asking = subprocess.Popen(command, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, errors="surrogateescape")
    try:
        told, _ = asking.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        asking.kill()  # and is not waited for: it may be held up in the kernel
        return {}
    rows = (row.split("\t", 1) for row in told.split("\0") if row)
    return {path: int(about.split(" ", 1)[0]) for about, path in rows if " regular" in about}
