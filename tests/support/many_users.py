"""A directory of segments as on a node where many users have run jobs."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FIRST_USER = 3_000_000


@contextmanager
def used_by_many(users: int) -> Iterator[str]:
    """Each has an empty directory, which was left an hour ago. Where this process is not root's, there are none: nobody
    else can make them.
    """
    with tempfile.TemporaryDirectory(prefix="slicewise-test-", dir="/dev/shm") as place:
        Path(place).chmod(0o1777)
        an_hour_ago = (time.time() - 3600,) * 2
        for user in range(FIRST_USER, FIRST_USER + users if os.geteuid() == 0 else FIRST_USER):
            directory = Path(place) / f"slicewise-{user}"
            directory.mkdir(mode=0o700)
            os.chown(directory, user, user)
            os.utime(directory, times=an_hour_ago)
        os.utime(place, times=an_hour_ago)
        yield place
