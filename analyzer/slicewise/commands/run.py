"""Profile a command, and say where the profile is. bin/slicewise comes here only for what is not plain (launch.py)."""

from slicewise.errors import UserError
from slicewise.running import run as profiled


def run(
    command: list[str], directory: str | None, job: str | None, slice_seconds: float | None, collector: bool,
    attach: int | None, threads: bool, nvtx: bool, accelerators: bool,
) -> None:  # fmt: skip
    if attach is not None and not command:
        from slicewise.running.attach import attach as sampled

        raise SystemExit(sampled(attach, directory, job, slice_seconds))
    if attach is not None or not command:
        raise UserError("run: name the command that is to be profiled, or --attach PID for a process that runs already")
    raise SystemExit(profiled.run(command, directory, job, slice_seconds, collector, threads, nvtx, accelerators))
