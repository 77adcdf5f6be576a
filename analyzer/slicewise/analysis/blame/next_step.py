"""What to run next for an answer, or for a surer one, as a command that can be pasted."""

import re
from collections.abc import Collection
from itertools import chain, count
from pathlib import Path

from slicewise.analysis.runs.matching import Job
from slicewise.constants import INPUTS, SECOND_NS
from slicewise.digest.digest import Digest
from slicewise.digest.processes import has_rank, is_profiled
from slicewise.text.safe_text import as_named_from_here

# With fewer slices a job is told to be run with finer ones: a source by slices wants 4 to 8 beside others, and as many
# without them.
ENOUGH_SLICES = 16
# What stands in a command line for code, and for what is secret or cut off.
NOT_WHOLE = re.compile(r" -\w*[ce] [0-9a-f]{8}( |$)|\.\.\.( |$)")
YOURS = "YOUR COMMAND"
NARROWER = "{step}: another run alone makes the interval narrower"


def next_step(job: Job, digest: Digest, known: Collection[str]) -> str:
    """The one command that would tell, into the same directory. known: names of runs that were looked at."""
    is_coarse = job.end_ns - job.start_ns < ENOUGH_SLICES * digest.slice_ns and digest.slice_ns > SECOND_NS
    options = "--slice 1 " if is_coarse else ""
    folder = Path(str(digest.about["path"])).parent
    options += f"--dir {as_named_from_here(folder)} " if folder.name not in ("", "slicewise") else ""
    command = _command_as_run(job, digest)
    names = chain([f"{job.job}-alone"], (f"{job.job}-alone-{number}" for number in count(2)))
    name = next(name for name in names if name not in known and not (folder / name).exists())
    step = f"slicewise run {options}--job {name} -- {command}, while nobody else uses the file system"
    if digest.processes.filter(is_profiled()).is_empty():  # its calls will not be seen then, either
        return f"{step}; then, how much longer this one took: slicewise compare {name} {job.job}"
    return step


def _command_as_run(job: Job, digest: Digest) -> str:
    """The command line that the user gave, with its launcher. Profiles have no code, nothing that is secret, and no
    launcher that `slicewise run` did not begin.
    """
    asked, launches = job.command.partition(INPUTS)[0], digest.launches
    if not launches.is_empty():
        first = digest.processes.join(launches.select("node", "pid", path="program"), on=["node", "pid", "path"])
        asked = str(launches["command"][0] or "") or ("" if first.is_empty() else asked)
    elif digest.processes.select(has_rank().any()).item():
        asked = ""
    return YOURS if not asked or NOT_WHOLE.search(asked) or launches.height > 1 else asked
