"""Finish the profiles of processes that were killed; join a job's files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from slicewise.errors import UserError
from slicewise.running.installation import find_installation


def recover(job_dir: Path | None, into: Path | None, merge: bool, output: Path | None, json: bool) -> None:
    if merge:
        from slicewise.commands.merge import merge as join

        if job_dir is None:
            raise UserError("recover: --merge needs a job's directory; give JOBDIR")
        join(job_dir, output, json)
        return
    if output is not None or json:
        raise UserError(f"recover: {'--json' if json else '-o'} goes with --merge; add --merge")
    options = ["--into", str(into)] if into else []
    command = [str(find_installation().collector), "recover", *options, *([str(job_dir)] if job_dir else [])]
    raise SystemExit(subprocess.run(command, check=False).returncode)
