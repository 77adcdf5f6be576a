"""Make one file of a job's node files."""

from __future__ import annotations

from pathlib import Path

from slicewise.profile.files import SUFFIX, profile_files
from slicewise.profile.merge import merge as merge_files
from slicewise.terminal.output import write_json, write_text
from slicewise.text import words


def merge(job_dir: Path, output: Path | None, json: bool) -> None:
    merged = merge_files(profile_files(job_dir), output or job_dir.resolve().with_name(job_dir.resolve().name + SUFFIX))
    if json:
        write_json(merged, None)
    else:
        files = "1 file" if merged.files == 1 else f"{merged.files} files"
        resumed = f", {words.size(merged.resumed_bytes)} of them by an earlier attempt" if merged.resumed_bytes else ""
        write_text([f"Merged {files}, {words.size(merged.bytes)}{resumed}: {merged.file}"], None)
