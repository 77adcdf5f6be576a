"""Finish the profiles of processes that were killed; join a job's files."""

import subprocess
from pathlib import Path

from slicewise.errors import UserError
from slicewise.profile.files import SUFFIX, profile_files
from slicewise.profile.merge import merge as merge_files
from slicewise.running.installation import find_installation
from slicewise.terminal.output import wants_json, write_answer
from slicewise.text import words


def recover(job_dir: Path | None, into: Path | None, merge: bool, output: Path | None) -> None:
    if merge:
        if job_dir is None:
            raise UserError("recover: --merge needs a job's directory; give JOBDIR")
        _merge(job_dir, output)
        return
    if output is not None or wants_json():
        raise UserError(f"recover: {'--json' if wants_json() else '-o'} goes with --merge; add --merge")
    options = ["--into", str(into)] if into else []
    command = [str(find_installation().collector), "recover", *options, *([str(job_dir)] if job_dir else [])]
    raise SystemExit(subprocess.run(command, check=False).returncode)


def _merge(job_dir: Path, output: Path | None) -> None:
    merged = merge_files(profile_files(job_dir), output or job_dir.resolve().with_name(job_dir.resolve().name + SUFFIX))
    resumed = f", {words.size(merged.resumed_bytes)} of them by an earlier attempt" if merged.resumed_bytes else ""
    what = f"{words.count(merged.files, 'file')}, {words.size(merged.bytes)}{resumed}"
    write_answer(lambda: merged, [f"Merged {what}: {merged.file}"])
