"""The command line `slicewise` in the tests' own process: hundreds of runs in the time of ten of its own processes."""

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import slicewise.cli


@dataclass(frozen=True)
class Done:
    """A command's exit status and what it wrote, as bytes and as text."""

    status: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        return self.output.decode()


def run_slicewise(*arguments: object, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run `slicewise ARGUMENTS` in a directory, in a process of its own."""
    command = [sys.executable, "-m", "slicewise", *map(str, arguments)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def slicewise_command(*arguments: object) -> Done:
    """Run `slicewise ARGUMENTS`. What is neither an exit nor a user's error is raised: it is a defect."""
    output, errors = io.BytesIO(), io.BytesIO()
    streams = [io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in (output, errors)]
    with (
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        mock.patch.object(sys, "argv", ["slicewise", *map(str, arguments)]),
    ):
        try:
            slicewise.cli.main()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
    return Done(status, output.getvalue(), errors.getvalue().decode())


def completed(*arguments: object, directory: Path = Path()) -> subprocess.CompletedProcess[str]:
    """Run `slicewise ARGUMENTS` as slicewise_command() does, and tell what came of it as run_slicewise() does."""
    with contextlib.chdir(directory):
        done = slicewise_command(*arguments)
    return subprocess.CompletedProcess(["slicewise", *map(str, arguments)], done.status, done.text, done.errors)


def answer_of(*arguments: object, directory: Path = Path()) -> str:
    """What `slicewise ARGUMENTS` prints, which must succeed."""
    done = completed(*arguments, directory=directory)
    assert done.returncode == 0, done.stderr
    return done.stdout


def json_of(*arguments: object, directory: Path = Path()) -> Any:
    """The same with --json, as Python has it."""
    return json.loads(answer_of(*arguments, "--json", directory=directory))


def refusal_of(*arguments: object, directory: Path = Path()) -> str:
    """The one line with which `slicewise ARGUMENTS` refuses what cannot be."""
    done = completed(*arguments, directory=directory)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr
