"""Times and users as options on the command line."""

import pwd
from datetime import datetime

from slicewise.constants import SECOND_NS
from slicewise.errors import UserError


def time_ns(text: str | None, option: str) -> int | None:
    """An instant, in ISO 8601: in the reader's time zone where it names none. Raises UserError."""
    if text is None:
        return None
    # Python 3.10 takes no Z for UTC.
    iso = f"{text[:-1]}+00:00" if text.endswith("Z") else text
    try:
        return round(datetime.fromisoformat(iso).astimezone().timestamp()) * SECOND_NS
    except (ValueError, OverflowError) as error:
        raise UserError(f"{option} {text}: is no time; give one such as 2026-11-22 or 2026-11-22T10:30") from error


def user_number(text: str | None) -> int | None:
    """A user's number, from a name or a number. Raises UserError for a name that this machine does not know."""
    if text is None or text.isdecimal():
        return None if text is None else int(text)
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError as error:
        raise UserError(f"--user {text}: this machine knows no such user; give the number") from error
