"""Begins the command line: `python -I launch.py ARGUMENTS`; `run` without site-packages: `python -I -S launch.py run`.

Python's isolated mode keeps the job's environment (PYTHONPATH, PYTHONHOME, a typing.py in the current directory) away
from what stands before the job. What of `run` is not plain, as --help, the whole command line answers.
"""

from __future__ import annotations

import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__))
VALUES = {"--dir": "directory", "--job": "job", "--slice": "slice_seconds"}
FLAGS = {
    "--collector": ("has_collector", True), "--no-collector": ("has_collector", False),
    "--threads": ("has_threads", True), "--no-threads": ("has_threads", False),
    "--nvtx": ("has_nvtx", True), "--no-nvtx": ("has_nvtx", False),
    "--accelerators": ("has_accelerators", True), "--no-accelerators": ("has_accelerators", False),
}  # fmt: skip


def asked(arguments: list[str]) -> tuple[dict[str, object], list[str]] | None:
    """The options and the command of `run`; None where the whole command line has to look at them."""
    options: dict[str, object] = {
        "directory": None,
        "job": None,
        "slice_seconds": None,
        "has_collector": True,
        "has_threads": False,
        "has_nvtx": False,
        "has_accelerators": False,
    }
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name, is_joined, value = arguments[at].partition("=")
        at += 1
        if name == "--" and not is_joined:
            break
        if name in FLAGS and not is_joined:
            option, is_on = FLAGS[name]
            options[option] = is_on
            continue
        if name not in VALUES:
            return None
        if not is_joined:
            if at == len(arguments):
                return None
            value = arguments[at]
            at += 1
        options[VALUES[name]] = value
    if options["slice_seconds"] is not None:
        seconds = _seconds(str(options["slice_seconds"]))
        if seconds is None:
            return None
        options["slice_seconds"] = seconds
    return (options, arguments[at:]) if at < len(arguments) else None


def _seconds(text: str) -> float | None:
    from slicewise.contract import seconds_allowed

    least, most = seconds_allowed("SLICEWISE_SLICE")
    try:
        return float(text) if least <= float(text) <= most else None
    except ValueError:
        return None


def main() -> int:
    """Runs the command; or the whole command line, which says what is wrong."""
    sys.path.insert(0, os.path.dirname(PACKAGE))
    plain = asked(sys.argv[2:]) if sys.flags.no_site else None
    if plain is not None:
        options, command = plain
        try:
            from slicewise.errors import UserError
            from slicewise.running.run import run
        except Exception as error:  # a damaged installation is not the command's fault
            print(f"slicewise: {error}; the command runs without being profiled", file=sys.stderr)
            os.execvp(command[0], command)
        try:
            return run(command, **options)  # type: ignore[arg-type]
        except UserError as error:
            print(f"slicewise: {error}", file=sys.stderr)
            return 2
    if sys.flags.no_site:
        os.execv(sys.executable, [sys.executable, "-I", __file__, *sys.argv[1:]])
    from slicewise.cli import main as whole_command_line

    whole_command_line()
    return 0


if __name__ == "__main__":
    sys.exit(main())
