"""Runs a command and prints its wall seconds, CPU seconds and peak memory (MiB): `python -I -S peak.py COMMAND...`.

A process of its own and a small one: Linux counts the memory of whoever forked a process as that process's own peak.
"""

import json
import os
import sys
import time

before = time.monotonic()
child = os.posix_spawn(
    sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
)
_, status, used = os.wait4(child, 0)
wall = time.monotonic() - before
print(json.dumps({"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}))
sys.exit(os.waitstatus_to_exitcode(status) and 1)
