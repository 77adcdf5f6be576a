"""The one kind of failure that is the user's to mend."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """What a user sees as one line with exit status 2: it names the thing, the reason and the way out. Raised anywhere,
    caught in cli.py alone. Everything else that is raised is a defect and keeps its traceback.
    """


@contextmanager
def mended_by(what: str, way_out: str) -> Iterator[None]:
    """What the system refuses within is told as a user's error: WHAT: REASON; WAY_OUT."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{what}: {error.strerror}; {way_out}") from error
