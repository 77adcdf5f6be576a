"""Profile a command, and say where the profile is. bin/slicewise comes here only for what is not plain (launch.py)."""

from slicewise.running import run as profiled


def run(
    command: list[str], directory: str | None, job: str | None, slice_seconds: float | None, collector: bool
) -> None:
    raise SystemExit(profiled.run(command, directory, job, slice_seconds, collector))
