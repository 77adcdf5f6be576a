"""`slicewise`, and `python -m slicewise`: what is asked most often is answered without loading the command line."""

import io
import os
import sys

from slicewise.overview import WELCOME, all_commands


def main() -> None:
    """Run this process's command line and exit."""
    asked = sys.argv[1:]
    if asked not in ([], ["--help"], ["-h"]):
        from slicewise.cli import main as command_line  # typer comes along

        command_line()
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(all_commands() if asked else WELCOME, flush=True)
    except BrokenPipeError:  # as in cli.py
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
