"""Settings of whoever runs the command line: a file of one's own, below the environment and above the defaults.
`~/.config/slicewise/config.toml` (below XDG_CONFIG_HOME where that is set) has a line `slice = 2` for
SLICEWISE_SLICE=2. The library reads the environment alone: `apply` puts there what the file says and the environment
does not; the module file does so by `slicewise config --export`. A mistake in it stops the commands that it matters to,
by `require`.
"""

import difflib
import os
import stat
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.config_file import config_file
from slicewise.contract import settings_of_the_library
from slicewise.errors import UserError
from slicewise.kinds import POLICIES
from slicewise.text.safe_text import FORMS

# Share of letters that two names have in common, from which on one is taken for a slip of the other.
LEAST_ALIKE = 0.65
LEAST_PREFIX = 2
PREFIX = "SLICEWISE_"
CATALOG = "SLICEWISE_CATALOG"
SERVERS = "SLICEWISE_SERVERS"
# What the command line alone reads.
OWN_SETTINGS: dict[str, dict[str, Any]] = {
    CATALOG: {
        "type": "TEXT",
        "default": "",
        "meaning": "a site's catalog: commands take the names of jobs in it as profiles",
    },
    SERVERS: {
        "type": "TEXT",
        "default": "",
        "meaning": "what file servers counted by job: commands take it without --servers; several with : between them",
    },
}
# A name that is one job's: in a file it would put all jobs into one profile.
NOT_IN_A_FILE = ("SLICEWISE_JOB",)
CHOICES = {"FLAG": ("0", "1"), "POLICY": ("off", *POLICIES), "NAMES": FORMS}
UNITS = {"SECONDS": "seconds", "MILLISECONDS": "milliseconds", "MEBIBYTES": "MiB"}
DIRECTORIES = ("SLICEWISE_DIR", "SLICEWISE_SEGMENT_DIR", "SLICEWISE_COORDINATE_SECRET", CATALOG)
POLARS_THREADS = "POLARS_MAX_THREADS"
DEFAULT, ENVIRONMENT = "default", "environment"

# What `apply` took from which file, by variable.
_from_file: dict[str, Path] = {}
# What --servers names, while its command runs: places that may have a : in their names.
_servers_given: list[Path] = []
# What is wrong in the file, a line each, as `apply` found it.
_mistakes: list[str] = []


def nearest(typed: str, known: Iterable[str]) -> str:
    """The name that was probably meant, or nothing: the only one that begins so, else the most alike."""
    names = {name.lstrip("-"): name for name in known}
    own = typed.lstrip("-")
    longer = [name for name in names if name.startswith(own)] if len(own) >= LEAST_PREFIX else []
    found = longer if len(longer) == 1 else difflib.get_close_matches(own, names, 1, LEAST_ALIKE)
    return names[found[0]] if found else ""


@dataclass(frozen=True)
class Setting:
    """A setting: its variable, its key in the file, what it takes and means, what holds and where that is from."""

    variable: str
    key: str
    type: str
    default: str
    takes: str
    meaning: str
    value: str
    source: str


def apply(environment: MutableMapping[str, str] | None = None) -> None:
    """Put the file's settings into the environment, where that has none; mistakes wait for `require` and `mistakes`."""
    environment = os.environ if environment is None else environment
    _from_file.clear()
    file = config_file()
    given, _mistakes[:] = _read(file)
    for variable, value in given.items():
        if variable not in environment:
            environment[variable] = value
            _from_file[variable] = file


def require() -> None:
    """Raises UserError with the first mistake in the user's file, if there is one."""
    if _mistakes:
        more = f" (and {len(_mistakes) - 1} more; see: slicewise config)" if len(_mistakes) > 1 else ""
        raise UserError(f"{_mistakes[0]}{more}")


def mend_foreign() -> None:
    """Takes out of our own environment what makes a library of ours panic: polars does, with no threads."""
    threads = os.environ.get(POLARS_THREADS)
    if threads is not None and not (threads.isascii() and threads.isdecimal() and int(threads)):
        del os.environ[POLARS_THREADS]


def servers_of_site() -> list[Path]:
    """Where the site keeps what its file servers counted by job."""
    of_site = (Path(os.path.expanduser(part)) for part in os.environ.get(SERVERS, "").split(":") if part)
    return list(_servers_given or of_site)


@contextmanager
def with_servers(paths: Sequence[Path]) -> Iterator[None]:
    """Takes these places for those of the site's servers, for a while."""
    _servers_given[:] = paths
    try:
        yield
    finally:
        _servers_given.clear()


def mistakes() -> list[str]:
    return list(_mistakes)


def settings() -> Iterator[Setting]:
    """All settings, and what holds now."""
    for variable, row in _known().items():
        given = os.environ.get(variable)
        source = str(_from_file[variable]) if variable in _from_file else DEFAULT if given is None else ENVIRONMENT
        yield Setting(
            variable, _key(variable), row["type"], row["default"], _takes(row), row["meaning"],
            row["default"] if given is None else given, source,
        )  # fmt: skip


def from_file() -> dict[str, str]:
    """What the user's file says and the environment does not: by variable, as `apply` found it."""
    return {variable: os.environ[variable] for variable in _from_file}


def _known() -> dict[str, dict[str, Any]]:
    return settings_of_the_library() | OWN_SETTINGS


def _key(variable: str) -> str:
    return variable.removeprefix(PREFIX).lower()


def _takes(row: dict[str, Any]) -> str:
    if row["type"] in UNITS:
        zero = "0, or " if row["type"] == "MILLISECONDS" else ""
        return f"{zero}{row['least']:g} to {row['most']:g} {UNITS[row['type']]}"
    return "0 or 1" if row["type"] == "FLAG" else ", ".join(CHOICES.get(row["type"], ()))


def _read(file: Path) -> tuple[dict[str, str], list[str]]:
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # a pipe would be waited for
            return {}, [f"{file}: cannot be read: is no ordinary file"]
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}, []
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'is no text'}"]
    from slicewise.toml import tomllib  # most users have no file

    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, [f"{file}: is no TOML: {error}; a line is, for instance: slice = 2"]
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        return {}, [f"{file}: is no TOML: too long or too deep; a line is, for instance: slice = 2"]
    right, wrong = {}, []
    for key, value in given.items():
        try:
            variable, held = _checked(file, key, value)
        except UserError as error:
            wrong.append(str(error))
        else:
            right[variable] = held
    return right, wrong


def _checked(file: Path, key: str, value: Any) -> tuple[str, str]:
    """A variable and its text, of a key and its value in the file."""
    known = {_key(variable): variable for variable in _known() if variable not in NOT_IN_A_FILE}
    if key not in known:
        meant = nearest(key, known)
        hint = f"did you mean {meant}?" if meant else "see: slicewise help settings"
        why = "is a name of one job alone; give --job NAME" if f"{PREFIX}{key.upper()}" in NOT_IN_A_FILE else ""
        raise UserError(f"{file}: {key}: {why or f'no such setting; {hint}'}")
    row = _known()[known[key]]
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, str | int | float):
        raise UserError(f"{file}: {key}: takes one value, such as {key} = {_shown_default(row)}")
    if not _is_right(row, value):
        raise UserError(f"{file}: {key} = {value}: give {_takes(row)}")
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if "\0" in text or "\n" in text:
        what = "zero byte" if "\0" in text else "line break"
        raise UserError(f"{file}: {key}: holds a {what}, which no setting can")
    if known[key] in DIRECTORIES:
        text = os.path.expanduser(text)
    return known[key], text


def _is_right(row: dict[str, Any], value: str | int | float) -> bool:
    if row["type"] in CHOICES:
        return str(value) in CHOICES[row["type"]]
    if row["type"] not in UNITS:
        return True
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return False
    return bool(row["least"] <= number <= row["most"]) or (row["type"] == "MILLISECONDS" and number == 0)


def _shown_default(row: dict[str, Any]) -> str:
    default = str(row["default"])
    return default if default.replace(".", "").isdecimal() else f'"{default}"'
